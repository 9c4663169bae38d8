"""One search: question → words → terms → layers → result."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kb_search.confidence import evidence, probability
from kb_search.database import Database
from kb_search.hits import explanation, plain_hit, ranked_hit
from kb_search.layers import fallback, fts, typo
from kb_search.layers.descriptions import api_descriptions, is_operation, names_one
from kb_search.models import DocumentInfo, Hit, SearchResult
from kb_search.reading import Reading, read_question
from kb_search.request import SearchRequest
from kb_search.semantic.answer import answer_with_meaning
from kb_search.semantic.arm import CANDIDATES, ended

if TYPE_CHECKING:
    import asyncio

    from kb_search.database import Connection
    from kb_search.semantic.arm import Asked
    from kb_search.semantic.meaning import Meaning

# The next hits tell how clear the first is, so that at least four are always ranked.
_LEAST_ROWS = 4
# An entry with less than this share of a whole match holds nothing but the commonest words.
_LEAST_SCORE = 0.002
# What word_similarity alone may say for an entry: never enough to be sure.
_SIMILAR_CONFIDENCE = 0.3
# An API whose best operation has this share of the best one's score answers as well.
_AS_WELL = 0.5
_SEVERAL = 2
_MOST_APIS = 100


@dataclass(frozen=True)
class _Found:
    """The hits of the layers that look for words, and how sure the first is (0..1)."""

    hits: tuple[Hit, ...] = ()
    confidence: float = 0.0
    first: fts.Ranked | None = None
    ranked: tuple[fts.Ranked, ...] = ()
    apis: tuple[DocumentInfo, ...] = ()


async def run_search(
    database: Database, request: SearchRequest, meaning: Meaning | None = None
) -> SearchResult:
    """The answer to a request: two statements, a third for the fixed rows.

    With `meaning` a vector arm runs beside them, on its own connection, where vectors are there.
    """
    started = time.perf_counter()
    arm = None
    if meaning is not None:
        arm = meaning.ask(request.question.text, mode=request.mode, collection=request.collection)
    degraded: tuple[str, ...] = ()
    try:
        async with database.connection() as connection:
            reading, found = await _lexical(connection, request, arm is not None)
            if arm is None:
                hits = await _completed(connection, request, found)
        if arm is not None:
            found, degraded = await _with_meaning(database, request, arm, reading, found)
            hits = found.hits
            if not _confident(request, found):
                async with database.connection() as connection:
                    hits = await _completed(connection, request, found)
    finally:
        if arm is not None:
            await ended(arm)
    return SearchResult(
        query=request.query,
        layer=hits[0].layer if hits else "fallback",
        hits=hits,
        confident=_confident(request, found),
        confidence=found.confidence,
        corrections=reading.corrections,
        degraded=degraded,
        truncated=reading.question.truncated,
        took_ms=(time.perf_counter() - started) * 1000,
        explanation=explanation(reading, found.first) if request.explain else (),
        documents=found.apis,
    )


async def _lexical(
    connection: Connection, request: SearchRequest, beside_meaning: bool
) -> tuple[Reading, _Found]:
    reading = await read_question(
        connection,
        request.question,
        collection=request.collection,
        most_words=request.settings.max_question_words,
        timeout_s=request.settings.timeout_s,
    )
    found = await _by_words(connection, request, reading, CANDIDATES if beside_meaning else 0)
    if found.hits and request.filters.documents is None and is_operation(found.hits[0]):
        found = await _of_each_api(connection, request, reading, found)
    return reading, found


async def _with_meaning(
    database: Database,
    request: SearchRequest,
    arm: asyncio.Task[Asked],
    reading: Reading,
    found: _Found,
) -> tuple[_Found, tuple[str, ...]]:
    """What both arms find, and how that is degraded; what the words found stands otherwise."""
    if found.apis:
        return found, ()
    answer = await answer_with_meaning(
        database,
        arm,
        reading,
        found.ranked,
        collection=request.collection,
        mode=request.mode,
        filters=request.filters,
        limit=request.limit,
    )
    if not answer.hits:
        return found, answer.degraded
    return _Found(answer.hits, answer.confidence, answer.first), answer.degraded


async def _completed(
    connection: Connection, request: SearchRequest, found: _Found
) -> tuple[Hit, ...]:
    if _confident(request, found):
        return found.hits
    return found.hits + await _fixed(connection, request, found.hits)


def _confident(request: SearchRequest, found: _Found) -> bool:
    return bool(found.hits) and found.confidence >= request.settings.min_confidence


async def _of_each_api(
    connection: Connection, request: SearchRequest, reading: Reading, found: _Found
) -> _Found:
    """The best operation of each API that answers about as well, where the question names none."""
    apis = await api_descriptions(
        connection, collection=request.collection, timeout_s=request.settings.timeout_s
    )
    if len(apis) < _SEVERAL or names_one(request.question.typed, apis):
        return found
    of_each = replace(
        request,
        filters=replace(
            request.filters, documents=tuple(api.id for api in apis), one_per_document=True
        ),
        limit=_MOST_APIS,
    )
    best = await _by_words(connection, of_each, reading)
    hits = tuple(
        hit
        for hit in best.hits
        if is_operation(hit) and (hit.score or 0.0) >= _AS_WELL * (best.hits[0].score or 0.0)
    )
    if len(hits) < _SEVERAL:
        return found
    by_id = {api.id: api for api in apis}
    return replace(
        best,
        hits=hits[: request.limit],
        apis=tuple(by_id[hit.document_id] for hit in hits if hit.document_id in by_id),
    )


async def _by_words(
    connection: Connection, request: SearchRequest, reading: Reading, least_rows: int = _LEAST_ROWS
) -> _Found:
    settings = request.settings
    ranked = await fts.ranked(
        connection,
        reading.needles,
        reading.size,
        collection=request.collection,
        filters=request.filters,
        rows=max(_LEAST_ROWS, least_rows, request.limit),
        timeout_s=settings.timeout_s,
    )
    least = _LEAST_SCORE * fts.WHOLE_MATCH * reading.mass
    ranked = [entry for entry in ranked if entry.total >= least]
    if ranked:
        return _Found(
            hits=tuple(
                ranked_hit(reading, entry, snippet_chars=settings.snippet_chars)
                for entry in ranked[: request.limit]
            ),
            confidence=probability(evidence(reading, ranked)),
            first=ranked[0],
            ranked=tuple(ranked),
        )
    if not reading.terms or request.filters.demands is not None:
        return _Found()
    rows = await typo.similar(
        connection,
        [term.word for term in reading.terms],
        collection=request.collection,
        filters=(request.filters.section, request.filters.tags, request.filters.metadata),
        documents=request.filters.documents,
        one_per_document=request.filters.one_per_document,
        rows=request.limit,
        timeout_s=settings.timeout_s,
    )
    return _Found(
        hits=tuple(
            plain_hit(
                row,
                layer="typo",
                score=row["total"],
                matched=f"title or alias: like the question ({row['total']:.2f})",
                snippet_chars=settings.snippet_chars,
            )
            for row in rows
        ),
        confidence=_SIMILAR_CONFIDENCE * rows[0]["total"] if rows else 0.0,
    )


async def _fixed(
    connection: Connection, request: SearchRequest, hits: Sequence[Hit]
) -> tuple[Hit, ...]:
    settings = request.settings
    rows = await fallback.fixed_rows(
        connection,
        collection=request.collection,
        sections=settings.fallback_sections,
        without=[hit.id for hit in hits],
        rows=settings.fallback_limit,
        timeout_s=settings.timeout_s,
    )
    return tuple(
        plain_hit(row, layer="fallback", score=None, snippet_chars=settings.snippet_chars)
        for row in rows
    )
