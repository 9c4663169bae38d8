"""The log of questions: what was asked, whether it was answered, what nothing answered.

Off the path of a search: `QuestionLog.note` puts a value into a bounded queue and returns; a task
writes what waits, as many rows at once as there are. What does not fit is dropped, what cannot be
written is dropped too, and both are counted; no search waits for it or fails by it.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import asyncpg

from kb_search.database import Database, fetch
from kb_search.entries import get_entry
from kb_search.errors import KbError, NotFound, QueryError
from kb_search.ids import is_storable_id
from kb_search.models import SearchResult, StoredEntry, UnansweredGroup
from kb_search.settings import Settings
from kb_search.words import clean, storable

_LOG = logging.getLogger(__name__)

_BATCH = 500
_CLOSE_TIMEOUT_S = 5.0
_FORGET_EVERY_S = 3600.0
# Of the questions that were not answered this many different ones, the most asked, are compared.
_MOST_COMPARED = 500
_MAX_ALIAS_CHARS = 500


class QuestionLog:
    """Writes questions behind the searches; `dropped` counts those that were lost."""

    def __init__(self, database: Database, settings: Settings) -> None:
        self.dropped = 0
        self._database = database
        self._settings = settings
        self._waiting: asyncio.Queue[dict[str, Any]] = asyncio.Queue(settings.question_log_queue)
        self._task: asyncio.Task[None] | None = None
        self._forgot_at: float | None = None
        self._warned = False

    def note(self, result: SearchResult, *, collection: str) -> None:
        """Have a question written soon; never waits."""
        text = clean(result.query, max_chars=self._settings.max_question_chars).text
        row = {
            "collection": collection,
            "question": text,
            "layer": result.layer,
            "confident": result.confident,
            "confidence": result.confidence,
        }
        try:
            self._waiting.put_nowait(row)
        except asyncio.QueueFull:
            self.dropped += 1
            return
        if self._task is None:
            self._task = asyncio.create_task(self._write_on(), name="kb_search question log")

    async def flush(self) -> None:
        """Returns when everything noted so far is written, or dropped."""
        await self._waiting.join()

    async def close(self) -> None:
        """Writes what waits, for a few seconds at most."""
        if self._task is None:
            return
        with suppress(TimeoutError):
            await asyncio.wait_for(self._waiting.join(), _CLOSE_TIMEOUT_S)
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task
        self._task = None

    async def _write_on(self) -> None:
        while True:
            rows = [await self._waiting.get()]
            while len(rows) < _BATCH and not self._waiting.empty():
                rows.append(self._waiting.get_nowait())
            try:
                await self._write(rows)
            except KbError as error:
                self.dropped += len(rows)
                if not self._warned:
                    self._warned = True
                    _LOG.warning("the questions asked cannot be logged: %s", error)
            finally:
                for _ in rows:
                    self._waiting.task_done()

    async def _write(self, rows: Sequence[dict[str, Any]]) -> None:
        settings = self._settings
        payload = json.dumps(rows, ensure_ascii=False)
        await self._database.write("log_questions", payload, settings.question_log == "text")
        now = time.monotonic()
        if self._forgot_at is None or now - self._forgot_at >= _FORGET_EVERY_S:
            self._forgot_at = now
            await self._database.write("forget_questions", settings.question_log_days)


async def unanswered(
    database: Database, *, collection: str, days: int, limit: int
) -> list[UnansweredGroup]:
    """The questions that were not answered confidently, near-equal ones as one.

    Shape: the most asked group first, at most `limit`.

    Raises:
        QueryError: `days` or `limit` is out of bounds.
    """
    if not (is_storable_id(days, name="days") and 1 <= days <= 3650):
        raise QueryError("days must be a whole number from 1 to 3650")
    if not (is_storable_id(limit, name="limit") and 1 <= limit < 2**31):
        raise QueryError("limit must be a whole number from 1 on")
    records = await database.read("unanswered_questions", collection, days, _MOST_COMPARED)
    words = [record["words"] or "" for record in records]
    pairs = await database.read("alike_questions", words) if any(words) else []
    groups = [_group([records[place] for place in places]) for places in _together(words, pairs)]
    groups.sort(key=lambda group: (-group.times, group.questions or group.digests))
    return groups[:limit]


def _together(words: Sequence[str], pairs: Sequence[asyncpg.Record]) -> list[list[int]]:
    """Places that belong together: each question joins the first, most asked one it is like."""
    alike: dict[int, set[int]] = {}
    for pair in pairs:
        alike.setdefault(pair["one"] - 1, set()).add(pair["other"] - 1)
    taken: set[int] = set()
    groups = []
    for place in range(len(words)):
        if place in taken:
            continue
        group = [place, *sorted(alike.get(place, set()) - taken)] if words[place] else [place]
        taken.update(group)
        groups.append(group)
    return groups


def _group(records: Sequence[asyncpg.Record]) -> UnansweredGroup:
    return UnansweredGroup(
        questions=tuple(record["question"] for record in records if record["question"]),
        digests=tuple(record["digest"] for record in records),
        times=sum(record["times"] for record in records),
        confidence=max(record["confidence"] for record in records),
        last_asked=max(record["last_asked"] for record in records).isoformat(),
    )


async def add_alias(
    database: Database, entry: int | str, alias: str, *, collection: str | None, default: str
) -> StoredEntry:
    """Gives an entry another way to ask for it, and settles the logged questions of these words.

    `entry` is an id, or "section/title" of a curated entry.

    Raises:
        NotFound: there is no such entry in the collection.
        QueryError: the alias has no word, or is too long.
    """
    question = " ".join(storable(alias).split())
    if not any(char.isalnum() for char in question) or len(question) > _MAX_ALIAS_CHARS:
        raise QueryError(
            f"an alias is a text of at most {_MAX_ALIAS_CHARS} characters, with a word"
        )
    found = await _entry(database, entry, collection=collection, default=default)
    async with database.transaction() as connection:
        await fetch(connection, "add_alias", found.id, question)
        await fetch(connection, "settle_questions", found.collection, question, found.id)
    return await get_entry(database, found.id)


async def _entry(
    database: Database, entry: int | str, *, collection: str | None, default: str
) -> StoredEntry:
    if not isinstance(entry, str):
        found = await get_entry(database, entry)
        if collection is not None and found.collection != collection:
            raise NotFound(f"no entry has the id {entry} in the collection {collection!r}")
        return found
    name = collection or default
    for place, char in enumerate(entry):
        if char == "/":
            section, title = entry[:place].strip(), entry[place + 1 :].strip()
            records = await database.read("entry_of_key", name, storable(section), storable(title))
            if records:
                return await get_entry(database, records[0]["id"])
    raise NotFound(
        f"no entry is called {entry!r} in the collection {name!r}: give its id, or section/title"
    )
