"""The worker: makes what is queued, then waits to be woken or for the next look at the queue."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kb_search.database import Database, error_boundary
from kb_search.errors import EmbedderFailed, KbError

if TYPE_CHECKING:
    from kb_search.semantic.making import Maker

Progress = Callable[[int, int], None]

logger = logging.getLogger(__name__)

CHANNEL = "kb_search_vectors"
# How often to look whether another worker has finished what it holds.
_OTHERS_S = 0.2
# How many vectors are made between two looks whether an index is due.
_INDEX_EVERY = 2_000


@dataclass(frozen=True, kw_only=True)
class EmbedReport:
    """What making vectors came to: entries done and vectors made here; entries that still wait, of
    them those that failed, and why the last did.
    """

    model: str
    entries: int
    vectors: int
    waiting: int
    failed: int
    last_error: str | None


@dataclass(frozen=True, kw_only=True)
class Progressed:
    """How far the vectors of a collection are: its entries, those waiting for vectors, of them
    those that failed before and why, and the vectors there are.
    """

    collection: str
    entries: int
    waiting: int
    failed: int
    vectors: int
    last_error: str | None


async def make_all(maker: Maker, *, on_progress: Progress | None = None) -> EmbedReport:
    """Makes every vector that is wanted and may be tried now, and waits for other workers' share.

    Raises:
        EmbedderFailed: the embedder gives none at all.
    """
    await maker.prepare()
    entries = vectors = since_index = 0
    last_error: EmbedderFailed | None = None
    model, collection = maker.embedder.model, maker.collection
    (state,) = await maker.database.read("waiting_vectors", model, collection)
    total: int = state["waiting"]
    while state["due"]:
        made = await maker.make_batch()
        entries += made.entries
        vectors += made.vectors
        since_index += made.vectors
        last_error = made.error or last_error
        if on_progress is not None:
            on_progress(min(entries, total), total)
        if since_index >= _INDEX_EVERY:
            await maker.make_index()
            since_index = 0
        if made.claimed and not made.entries and made.error is not None:
            break
        if not made.entries:  # others hold what is left
            await asyncio.sleep(_OTHERS_S)
            (state,) = await maker.database.read("waiting_vectors", model, collection)
    await maker.make_index()
    (state,) = await maker.database.read("waiting_vectors", model, collection)
    return EmbedReport(
        model=model,
        entries=entries,
        vectors=vectors,
        waiting=state["waiting"],
        failed=state["failed"],
        last_error=None if last_error is None else str(last_error),
    )


async def keep_making(maker: Maker, *, poll_s: float) -> None:
    """Makes vectors until it is cancelled; whatever goes wrong is logged and tried again."""
    woken = asyncio.Event()
    # a pool of one connection has none to spare for listening
    listening = maker.database.settings.pool_max_size > 1
    listener = asyncio.create_task(_listen(maker.database, woken, poll_s)) if listening else None
    try:
        while True:
            woken.clear()
            try:
                await _make_due(maker)
            except KbError as error:
                logger.warning("making vectors waits: %s", error)
            await _wait(woken, poll_s)
    finally:
        if listener is not None:
            listener.cancel()
            await asyncio.gather(listener, return_exceptions=True)


async def _make_due(maker: Maker) -> None:
    since_index = 0
    while (made := await maker.make_batch()).claimed:
        since_index += made.vectors
        if made.error is not None:
            logger.warning("%d entries have no vectors yet: %s", made.failed, made.error)
        if since_index >= _INDEX_EVERY:
            await maker.make_index()
            since_index = 0
        if not made.entries:  # the embedder is out of reach, or writers hold these
            return
    await maker.make_index()


async def _listen(database: Database, woken: asyncio.Event, poll_s: float) -> None:
    """Wakes the event at each notice; behind a transaction pooler none may come."""
    ended = asyncio.Event()

    def wake(*_: object) -> None:
        woken.set()

    def lost(*_: object) -> None:
        ended.set()

    while True:
        ended.clear()
        try:
            async with database.connection() as connection:
                with error_boundary():
                    await connection.add_listener(CHANNEL, wake)
                connection.add_termination_listener(lost)
                try:
                    await ended.wait()
                finally:
                    if not connection.is_closed():
                        with error_boundary():
                            await connection.remove_listener(CHANNEL, wake)
        except KbError as error:
            logger.info("no notices of new entries for now, only polling: %s", error)
        await asyncio.sleep(poll_s)


async def _wait(woken: asyncio.Event, poll_s: float) -> None:
    try:
        async with asyncio.timeout(poll_s):
            await woken.wait()
    except TimeoutError:
        return
