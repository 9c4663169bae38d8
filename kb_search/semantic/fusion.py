"""Words and meaning together: each candidate of either arm gets both scores, then one relevance."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kb_search.hits import ranked_hit, score
from kb_search.layers import fts
from kb_search.models import as_tuple
from kb_search.semantic.arm import Asked, nearest
from kb_search.words import fold

if TYPE_CHECKING:
    from kb_search.database import Database
    from kb_search.models import Hit
    from kb_search.reading import Reading

_WORD = re.compile(r"[^\W_]+")
# What a whole match by words adds to the nearness in meaning, and to which power a lesser one
# counts: a few words in common say less than their share (benchmarks/semantic_quality.py).
_WORDS = 2.25
_POWER = 1.5


@dataclass(frozen=True)
class Candidate:
    """An entry with what both arms say of it.

    `words` (0..1): its score by words over that of a whole match; `nearness`: 0 for a text about
    something else, 1 for a usual answer, None without a vector; `relevance` orders them, no unit.
    """

    ranked: fts.Ranked
    words: float
    nearness: float | None
    relevance: float


async def fused(
    database: Database,
    reading: Reading,
    asked: Asked,
    ranked: Sequence[fts.Ranked],
    *,
    collection: str,
    filters: fts.Filters,
    by_meaning_alone: bool,
) -> list[Candidate]:
    """The candidates of both arms, best first; none where no vectors can be compared.

    Source: scores summed on a common scale beat ranks fused (Bruch et al., 2023).
    """
    by_words = [entry.row["id"] for entry in ranked]
    async with database.connection() as connection:
        cosines = await nearest(
            connection,
            asked,
            collection=collection,
            filters=(filters.section, filters.tags, filters.metadata, filters.documents),
            also=by_words,
            timeout_s=database.settings.timeout_s,
        )
        brought = await fts.scored(
            connection,
            reading.needles,
            reading.size,
            entries=[entry for entry in cosines if entry not in set(by_words)],
            demands=filters.demands,
            timeout_s=database.settings.timeout_s,
        )
    nearness = {entry: asked.levels.nearness(cosine) for entry, cosine in cosines.items()}
    found = [*ranked, *brought]
    if by_meaning_alone:
        found = [entry for entry in found if entry.row["id"] in nearness]
    if not nearness:
        return []
    candidates = _candidates(reading, found, nearness, words=0.0 if by_meaning_alone else _WORDS)
    candidates.sort(key=lambda candidate: -candidate.relevance)
    return _one_of_each_document(candidates) if filters.one_per_document else candidates


def _candidates(
    reading: Reading, found: Sequence[fts.Ranked], nearness: Mapping[int, float], *, words: float
) -> list[Candidate]:
    by_words = {entry.row["id"]: score(reading, entry) for entry in found}
    best = max(by_words.values(), default=0.0)
    highest, lowest = max(nearness.values()), min(nearness.values())
    candidates = []
    for entry in found:
        said = by_words[entry.row["id"]]
        own = nearness.get(entry.row["id"])
        # an entry without a vector is taken for as near as its words make it likely
        taken = lowest + (highest - lowest) * (said / best if best else 0.0) if own is None else own
        candidates.append(Candidate(entry, said, own, taken + words * said**_POWER))
    return candidates


def _one_of_each_document(candidates: Sequence[Candidate]) -> list[Candidate]:
    seen: set[int] = set()
    kept = []
    for candidate in candidates:
        document = candidate.ranked.row["document_id"]
        if document is None or document not in seen:
            kept.append(candidate)
            seen.add(document)
    return kept


def fused_hit(
    reading: Reading, candidate: Candidate, *, by_meaning_alone: bool, snippet_chars: int
) -> Hit:
    """The hit of a candidate; its score (0..1) grows with the relevance."""
    hit = ranked_hit(reading, candidate.ranked, snippet_chars=snippet_chars)
    meaning = "" if candidate.nearness is None else f"meaning: {candidate.nearness:.2f}"
    return replace(
        hit,
        layer="semantic" if by_meaning_alone else "hybrid",
        score=1 / (1 + math.exp(2.0 - candidate.relevance)),
        matched_on="; ".join(part for part in (hit.matched_on, meaning) if part),
    )


def word_for_word(reading: Reading, first: fts.Ranked | None) -> bool:
    """Whether the question is, word for word, the title or an alias of the entry."""
    if first is None:
        return False
    asked = _words(reading.question.text)
    ways = (first.row["title"], *as_tuple(first.row["aliases"]))
    return any(_words(text) == asked for text in ways)


def _words(text: str) -> list[str]:
    return _WORD.findall(fold(text))
