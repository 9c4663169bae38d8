"""The answer of a search that has both arms."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kb_search.semantic.arm import Asked, ended
from kb_search.semantic.confidence import evidence, probability
from kb_search.semantic.fusion import fused, fused_hit, word_for_word

if TYPE_CHECKING:
    from kb_search.database import Database
    from kb_search.layers import fts
    from kb_search.models import Hit, Mode
    from kb_search.reading import Reading


@dataclass(frozen=True)
class Answer:
    """The hits, how sure the first is, and how the answer is degraded; no hits where the words
    have to answer alone.
    """

    hits: tuple[Hit, ...] = ()
    confidence: float = 0.0
    first: fts.Ranked | None = None
    degraded: tuple[str, ...] = ()


async def answer_with_meaning(
    database: Database,
    arm: asyncio.Task[Asked],
    reading: Reading,
    ranked: Sequence[fts.Ranked],
    *,
    collection: str,
    mode: Mode,
    filters: fts.Filters,
    limit: int,
) -> Answer:
    """What both arms find together, at most `limit` hits, best first.

    A question that is an alias word for word is answered by that: it waits for no vector.
    """
    alone = mode == "semantic"
    if not reading.terms or (not alone and word_for_word(reading, ranked[0] if ranked else None)):
        await ended(arm)
        return Answer()
    asked = await arm
    if asked.question is None:
        return Answer(degraded=asked.degraded)
    candidates = await fused(
        database,
        reading,
        asked,
        ranked,
        collection=collection,
        filters=filters,
        by_meaning_alone=alone,
    )
    if not candidates:
        lost = () if asked.pgvector or filters.any else ("pgvector: missing",)
        return Answer(degraded=(*lost, *asked.degraded))
    hits = tuple(
        fused_hit(
            reading,
            candidate,
            by_meaning_alone=alone,
            snippet_chars=database.settings.snippet_chars,
        )
        for candidate in candidates[:limit]
    )
    confidence = probability(evidence(reading, candidates))
    return Answer(hits, confidence, candidates[0].ranked, asked.degraded)
