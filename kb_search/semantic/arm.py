"""The vector arm of a search: what lies near the question in meaning, or why that is not known."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import asyncpg

from kb_search.database import fetch
from kb_search.errors import DatabaseError, EmbedderFailed
from kb_search.semantic.calibration import Levels
from kb_search.semantic.numbers import unit_vectors

if TYPE_CHECKING:
    from kb_search.database import Connection, Database
    from kb_search.semantic.breaker import Breaker
    from kb_search.semantic.embedders import Embedder
    from kb_search.settings import Settings

logger = logging.getLogger(__name__)

# Entries that the arm brings to the fusion, with those of the words about twice as many.
CANDIDATES = 40
# Missing vectors are counted up to here: a count must not cost more than a search.
_COUNTED = 10_000

# section, tags, metadata as JSON, documents; None is no condition
_NO_LEVELS = Levels(0.0, 1.0)

Filters = tuple[str | None, Sequence[str] | None, str | None, Sequence[int] | None]


@dataclass(frozen=True)
class Asked:
    """The question's vector (length 1) and what belongs to it, None where there is none; `degraded`
    says why, or what is missing all the same.
    """

    model: str = ""
    question: list[float] | None = None
    levels: Levels = _NO_LEVELS
    pgvector: bool = False
    degraded: tuple[str, ...] = ()


async def asked(
    database: Database,
    embedder: Embedder,
    breaker: Breaker,
    text: str,
    *,
    collection: str,
    dimensions: dict[str, int],
    asked_for: bool,
) -> Asked:
    """The vector of a question. Whatever fails here is a reason, never an error.

    `dimensions` remembers collections that had vectors: their questions are embedded while that is
    looked up again. `asked_for` says that the caller wants vectors, so that a collection without
    any is told of.
    """
    early = None
    if collection in dimensions:
        early = asyncio.create_task(
            _question(embedder, breaker, text, dimensions[collection], database.settings)
        )
    try:
        (state,) = await database.read("vector_state", collection, embedder.model, _COUNTED)
        missing = _missing(state, asked_for=asked_for)
        if state["dimension"] is None:
            dimensions.pop(collection, None)
            return Asked(degraded=missing)
        dimensions[collection] = state["dimension"]
        try:
            question = await (
                early or _question(embedder, breaker, text, state["dimension"], database.settings)
            )
        except EmbedderFailed as error:
            return Asked(degraded=(f"embedder: {error.reason}", *missing))
        levels = Levels(state["apart"], state["near"], state["alias_excess"])
        return Asked(embedder.model, question, levels, state["pgvector"], missing)
    except DatabaseError as error:
        logger.warning("no vectors for a question: %s", error)
        return Asked(degraded=("vectors: unavailable",))
    finally:
        if early is not None:
            await ended(early)


def _missing(state: asyncpg.Record, *, asked_for: bool) -> tuple[str, ...]:
    entries: int = state["entries"]
    if state["dimension"] is None:
        wanted = state["waiting"] or state["others"] or asked_for
        return (f"vectors: 0 of {entries}",) if wanted and entries else ()
    if not state["waiting"]:
        return ()
    at_most = "at most " if state["waiting"] == _COUNTED else ""
    return (f"vectors: {at_most}{max(0, entries - state['waiting'])} of {entries}",)


async def _question(
    embedder: Embedder, breaker: Breaker, text: str, dimension: int, settings: Settings
) -> list[float]:
    """The question's vector, within the deadline.

    Raises:
        EmbedderFailed: there is none; the reason is `timeout` or `unavailable`.
    """
    if not breaker.allows():
        raise EmbedderFailed(reason=breaker.reason)
    try:
        async with asyncio.timeout(settings.embedder_timeout_ms / 1000):
            answer = await embedder.embed([text], kind="query")
        (question,) = unit_vectors(answer, count=1, dimension=dimension)
    except asyncio.CancelledError:
        breaker.gave_up()
        raise
    except Exception as error:  # whatever a model's own code may raise
        late = isinstance(error, TimeoutError) or (
            isinstance(error, EmbedderFailed) and error.reason == "timeout"
        )
        reason = "timeout" if late else "unavailable"
        breaker.failed(reason)
        cause = error
        if isinstance(error, TimeoutError):
            cause = EmbedderFailed(f"none in {settings.embedder_timeout_ms} ms")
        logger.warning("no vector for a question: %s", cause)
        raise EmbedderFailed(str(error), reason=reason) from error
    breaker.succeeded()
    return question


async def nearest(
    connection: Connection,
    asked: Asked,
    *,
    collection: str,
    filters: Filters,
    also: Sequence[int],
    timeout_s: float,
) -> dict[int, float]:
    """The cosines (-1..1) of the nearest entries, and of others, those without vectors left out."""
    if asked.question is None:
        return {}
    vector = (asked.model, len(asked.question), asked.question, asked.levels.alias_excess)
    found = await fetch(
        connection,
        "nearest_entries",
        collection,
        *vector,
        *filters,
        CANDIDATES,
        timeout_s=timeout_s,
    )
    cosines = {row["entry_id"]: row["cosine"] for row in found}
    lacking = [entry for entry in also if entry not in cosines]
    if lacking:
        others = await fetch(connection, "cosines", lacking, *vector, timeout_s=timeout_s)
        cosines.update((row["entry_id"], row["cosine"]) for row in others)
    return cosines


async def ended(arm: asyncio.Task[Any]) -> None:
    """Ends a task that nobody waits for any more, whatever it comes to."""
    arm.cancel()
    await asyncio.gather(arm, return_exceptions=True)
