"""One search: question → words → terms → layers → result."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, get_args

from kb_search.confidence import evidence, probability
from kb_search.database import Database, fetch
from kb_search.errors import QueryError
from kb_search.layers import fallback, fts, typo
from kb_search.models import Hit, Layer, Mode, SearchResult, Syntax, TermTrace, as_tuple
from kb_search.passages import matched_on, snippet
from kb_search.terms import Collection, Needle, Term, read_terms, typed_needle
from kb_search.words import Question, clean, storable, typed_forms

if TYPE_CHECKING:
    from kb_search.database import Connection
    from kb_search.settings import Settings

# The second hit tells how clear the first is, so that at least two are always ranked.
_LEAST_ROWS = 2
# An entry with less than this share of a whole match holds nothing but the commonest words.
_LEAST_SCORE = 0.02
# What word_similarity alone may say for an entry: never enough to be sure.
_SIMILAR_CONFIDENCE = 0.3


@dataclass(frozen=True)
class SearchRequest:
    """A search with every argument checked."""

    question: Question
    query: str
    collection: str
    filters: fts.Filters
    limit: int
    mode: Mode
    syntax: Syntax
    explain: bool
    settings: Settings

    @classmethod
    def checked(
        cls,
        text: str,
        *,
        settings: Settings,
        collection: str | None,
        section: str | None,
        tags: Sequence[str] | None,
        metadata: Mapping[str, Any] | None,
        limit: int | None,
        mode: Mode,
        syntax: Syntax,
        explain: bool,
    ) -> SearchRequest:
        """The request, or QueryError for an argument that cannot be used."""
        if not isinstance(text, str):
            raise QueryError(f"the question must be a text, not {type(text).__name__}")
        name = settings.collection if collection is None else collection
        if not isinstance(name, str) or not 1 <= len(name) <= 200:
            raise QueryError("a collection's name has 1 to 200 characters")
        rows = settings.limit if limit is None else limit
        if isinstance(rows, bool) or not isinstance(rows, int) or not 1 <= rows <= 100:
            raise QueryError("limit must be a whole number from 1 to 100")
        if mode not in get_args(Mode):
            raise QueryError(f"mode must be one of {', '.join(get_args(Mode))}")
        if syntax not in get_args(Syntax):
            raise QueryError(f"syntax must be one of {', '.join(get_args(Syntax))}")
        if mode in ("semantic", "hybrid"):
            raise QueryError(f"mode {mode!r} needs the semantic part, which is not installed")
        return cls(
            question=clean(text, max_chars=settings.max_question_chars),
            query=text,
            collection=storable(name),
            filters=_filters(section, tags, metadata),
            limit=rows,
            mode=mode,
            syntax=syntax,
            explain=explain,
            settings=settings,
        )


def _filters(
    section: str | None, tags: Sequence[str] | None, metadata: Mapping[str, Any] | None
) -> fts.Filters:
    if section is not None and not isinstance(section, str):
        raise QueryError("section must be a text")
    if isinstance(tags, str) or not all(isinstance(tag, str) for tag in tags or ()):
        raise QueryError("tags must be a list of texts")
    if metadata is not None and not isinstance(metadata, Mapping):
        raise QueryError("metadata must be an object")
    try:
        as_json = None if metadata is None else json.dumps(dict(metadata), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise QueryError(f"metadata is not JSON: {error}") from None
    return fts.Filters(
        section=None if section is None else storable(section),
        tags=tuple(storable(tag) for tag in tags) if tags else None,
        metadata=None if as_json is None else as_json.replace("\\u0000", ""),
    )


@dataclass(frozen=True)
class Reading:
    """A question as the collection understands it."""

    terms: tuple[Term, ...]
    size: Collection
    needles: tuple[Needle, ...]

    @property
    def mass(self) -> float:
        """What the question would weigh if every word were found as typed."""
        typed = [0.0] * len(self.terms)
        for needle in self.needles:
            if not needle.corrects:
                typed[needle.term] = max(typed[needle.term], needle.weight)
        return sum(typed)

    @property
    def all_common(self) -> bool:
        return all(term.common for term in self.terms)


_NOTHING = Reading((), Collection(0, 0), ())


async def run_search(database: Database, request: SearchRequest) -> SearchResult:
    """The answer to a request: two statements, a third for the fixed rows."""
    started = time.perf_counter()
    async with database.connection() as connection:
        reading = await _read_question(connection, request)
        hits, confidence = await _hits(connection, request, reading)
        confident = confidence >= request.settings.min_confidence and bool(hits)
        if not confident:
            hits = [*hits, *await _fixed(connection, request, hits)]
    return SearchResult(
        query=request.query,
        layer=hits[0].layer if hits else "fallback",
        hits=tuple(hits),
        confident=confident,
        confidence=confidence,
        corrections=_reported(request, reading),
        degraded=(),
        truncated=request.question.truncated
        or len(reading.terms) >= request.settings.max_question_words,
        took_ms=(time.perf_counter() - started) * 1000,
        explanation=(),
    )


async def _read_question(connection: Connection, request: SearchRequest) -> Reading:
    records = await fetch(
        connection,
        "question_terms",
        request.collection,
        request.question.text,
        request.settings.max_question_words,
        timeout_s=request.settings.timeout_s,
    )
    if not records:
        return _NOTHING
    terms, size = read_terms(records)
    needles: list[Needle] = []
    for place, term in enumerate(terms):
        needles.append(typed_needle(place, term, size))
        next_found = place + 1 < len(terms) and terms[place + 1].found
        needles += typo.corrected(place, term, size, next_found=next_found)
    return Reading(terms, size, tuple(needles))


async def _hits(
    connection: Connection, request: SearchRequest, reading: Reading
) -> tuple[list[Hit], float]:
    found = await fts.ranked(
        connection,
        reading.needles,
        reading.size,
        collection=request.collection,
        filters=request.filters,
        rows=max(_LEAST_ROWS, request.limit),
        timeout_s=request.settings.timeout_s,
    )
    mass = reading.mass
    least = _LEAST_SCORE * fts.WHOLE_MATCH * mass
    found = [ranked for ranked in found if ranked.total >= least]
    if found:
        sure = probability(evidence(reading.terms, reading.needles, mass, found))
        hits = [_hit(request, reading, ranked, mass) for ranked in found[: request.limit]]
        return hits, sure
    if not reading.terms:
        return [], 0.0
    rows = await typo.similar(
        connection,
        [term.word for term in reading.terms],
        collection=request.collection,
        filters=(request.filters.section, request.filters.tags, request.filters.metadata),
        rows=request.limit,
        timeout_s=request.settings.timeout_s,
    )
    hits = [
        _as_hit(row, request, layer="typo", score=float(row["total"]), on="", needle_of={}, weights=())
        for row in rows
    ]
    return hits, _SIMILAR_CONFIDENCE * float(rows[0]["total"]) if rows else 0.0


async def _fixed(
    connection: Connection, request: SearchRequest, hits: Sequence[Hit]
) -> list[Hit]:
    rows = await fallback.fixed_rows(
        connection,
        collection=request.collection,
        sections=request.settings.fallback_sections,
        without=[hit.id for hit in hits],
        rows=request.settings.fallback_limit,
        timeout_s=request.settings.timeout_s,
    )
    return [
        _as_hit(row, request, layer="fallback", score=None, on="", needle_of={}, weights=())
        for row in rows
    ]


def _hit(request: SearchRequest, reading: Reading, ranked: fts.Ranked, mass: float) -> Hit:
    needles = reading.needles
    needle_of: dict[str, int] = {}
    for place in sorted(ranked.parts, key=lambda place: needles[place].corrects):
        for word in needles[place].family:
            needle_of.setdefault(word, place)
    forms = typed_forms(request.question.typed)
    corrected = {
        place: forms.get(reading.terms[needles[place].term].word, reading.terms[needles[place].term].word)
        for place in ranked.parts
        if needles[place].corrects
    }
    row = ranked.row
    fields = (
        ("title", [row["title"], *as_tuple(row["heading_path"])]),
        ("alias", as_tuple(row["aliases"])),
        ("tag", as_tuple(row["tags"])),
        ("content", [row["content"]]),
    )
    return _as_hit(
        row,
        request,
        layer=_layer(reading, ranked),
        score=min(1.0, ranked.total / (fts.WHOLE_MATCH * mass)) if mass else 0.0,
        on=matched_on(fields, needle_of, corrected),
        needle_of=needle_of,
        weights=[needle.weight for needle in needles],
    )


def _layer(reading: Reading, ranked: fts.Ranked) -> Layer:
    """`typo` where the entry holds none of the question's own words but their corrections."""
    needles = [reading.needles[place] for place in ranked.parts]
    as_typed = any(
        not needle.corrects and (reading.all_common or not reading.terms[needle.term].common)
        for needle in needles
    )
    return "fts" if as_typed or not any(needle.corrects for needle in needles) else "typo"


def _as_hit(
    row: Mapping[str, Any],
    request: SearchRequest,
    *,
    layer: Layer,
    score: float | None,
    on: str,
    needle_of: Mapping[str, int],
    weights: Sequence[float],
) -> Hit:
    passage = snippet(row["content"], needle_of, weights, chars=request.settings.snippet_chars)
    return Hit(
        id=row["id"],
        collection=row["collection"],
        section=row["section"],
        title=row["title"],
        content=row["content"],
        tags=as_tuple(row["tags"]),
        metadata=json.loads(row["metadata"]),
        score=score,
        matched_on=on,
        snippet=passage.text,
        highlights=passage.highlights,
        layer=layer,
        source=row["source"],
        document_id=row["document_id"],
        heading_path=as_tuple(row["heading_path"]),
        position=row["position"],
    )


def _reported(request: SearchRequest, reading: Reading) -> dict[str, str]:
    """{word as typed: words used instead}."""
    forms = typed_forms(request.question.typed)
    used: dict[str, list[str]] = {}
    for needle in reading.needles:
        if needle.corrects:
            word = reading.terms[needle.term].word
            used.setdefault(forms.get(word, word), []).append(needle.word)
    return {typed: " ".join(words) for typed, words in used.items()}
