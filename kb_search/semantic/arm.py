"""The vector arm of a search: what lies near the question in meaning, or why that is not known."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import asyncpg

from kb_search.database import fetch
from kb_search.errors import DatabaseError, EmbedderFailed, KbError
from kb_search.semantic.calibration import Levels
from kb_search.semantic.numbers import unit_vectors

if TYPE_CHECKING:
    from kb_search.database import Connection, Database
    from kb_search.semantic.breaker import Breaker
    from kb_search.semantic.embedders import Embedder

logger = logging.getLogger(__name__)

# Entries that the arm brings to the fusion, with those of the words about twice as many.
CANDIDATES = 40
# Missing vectors are counted up to here: a count must not cost more than a search.
_COUNTED = 10_000

# section, tags, metadata as JSON, documents; None is no condition
_NO_LEVELS = Levels(0.0, 1.0)

Filters = tuple[str | None, Sequence[str] | None, str | None, Sequence[int] | None]


@dataclass(frozen=True)
class Near:
    """What the arm found: cosines (-1..1) by entry, and how the answer is degraded.

    `question` is the question's vector, None where there is none, and then no cosines either.
    """

    model: str = ""
    question: list[float] | None = None
    levels: Levels = _NO_LEVELS
    cosines: Mapping[int, float] = field(default_factory=dict)
    degraded: tuple[str, ...] = ()

    @property
    def any(self) -> bool:
        return bool(self.cosines)


async def near(
    database: Database,
    embedder: Embedder,
    breaker: Breaker,
    text: str,
    *,
    collection: str,
    filters: Filters,
    asked_for: bool,
) -> Near:
    """The entries nearest to a text. Whatever fails here is a reason, never an error.

    `asked_for` says that the caller wants vectors, so that a collection without any is told of.
    """
    try:
        return await _near(
            database,
            embedder,
            breaker,
            text,
            collection=collection,
            filters=filters,
            asked_for=asked_for,
        )
    except DatabaseError as error:
        logger.warning("no vectors for a question: %s", error)
        return Near(degraded=("vectors: unavailable",))


async def _near(
    database: Database,
    embedder: Embedder,
    breaker: Breaker,
    text: str,
    *,
    collection: str,
    filters: Filters,
    asked_for: bool,
) -> Near:
    timeout_s = database.settings.timeout_s
    (state,) = await database.read("vector_state", collection, embedder.model, _COUNTED)
    missing = _missing(state, asked_for=asked_for)
    if state["dimension"] is None:
        return Near(degraded=missing)
    try:
        question = await _question(
            embedder,
            breaker,
            text,
            dimension=state["dimension"],
            timeout_ms=database.settings.embedder_timeout_ms,
        )
    except EmbedderFailed as error:
        return Near(degraded=(f"embedder: {error.reason}", *missing))
    async with database.connection() as connection:
        records = await fetch(
            connection,
            "nearest_entries",
            collection,
            embedder.model,
            len(question),
            question,
            state["alias_excess"],
            *filters,
            CANDIDATES,
            timeout_s=timeout_s,
        )
        if not records and not state["pgvector"] and not any(filters):
            missing = ("pgvector: missing", *missing)
    return Near(
        embedder.model,
        question,
        Levels(state["apart"], state["near"], state["alias_excess"]),
        {row["entry_id"]: row["cosine"] for row in records},
        missing,
    )


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
    embedder: Embedder, breaker: Breaker, text: str, *, dimension: int, timeout_ms: int
) -> list[float]:
    """The question's vector, within the deadline.

    Raises:
        EmbedderFailed: there is none; the reason is `timeout` or `unavailable`.
    """
    if not breaker.allows():
        raise EmbedderFailed(reason=breaker.reason)
    try:
        async with asyncio.timeout(timeout_ms / 1000):
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
        cause = f"none in {timeout_ms} ms" if isinstance(error, TimeoutError) else error
        logger.warning("no vector for a question: %s", cause)
        raise EmbedderFailed(str(error), reason=reason) from error
    breaker.succeeded()
    return question


async def cosines(
    connection: Connection, near: Near, entries: Sequence[int], *, timeout_s: float
) -> dict[int, float]:
    """The cosines of entries that the arm did not bring; none for those without vectors."""
    if near.question is None or not entries:
        return {}
    records = await fetch(
        connection,
        "cosines",
        entries,
        near.model,
        len(near.question),
        near.question,
        near.levels.alias_excess,
        timeout_s=timeout_s,
    )
    return {row["entry_id"]: row["cosine"] for row in records}


async def ended(arm: asyncio.Task[Near]) -> None:
    """Ends an arm that nobody waits for any more."""
    arm.cancel()
    try:
        await arm
    except (asyncio.CancelledError, KbError):
        return
