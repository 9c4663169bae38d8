"""Making vectors: jobs are claimed, texts embedded, vectors stored, in one transaction a batch.

The transaction is what makes a batch happen once or not at all: where the worker is killed, its
locks go with its connection and the jobs are free again. Nobody waits for it meanwhile: writers
only add jobs, other workers pass over what is locked.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import asyncpg

from kb_search.database import Database, error_boundary, fetch
from kb_search.errors import EmbedderFailed
from kb_search.semantic.calibration import measured_levels
from kb_search.semantic.numbers import unit_vectors
from kb_search.semantic.texts import Part, parts_of

if TYPE_CHECKING:
    from kb_search.database import Connection
    from kb_search.semantic.embedders import Embedder

logger = logging.getLogger(__name__)

EVERY = ""
# Entries claimed at once: short transactions, few round trips a text.
_CLAIM = 64
# From so many vectors on a model gets an index; fewer are compared faster without one.
_INDEXED_FROM = 2_000
# Texts that fail one by one in a row: then it is not the texts.
_ALL_IS_LOST = 3


@dataclass(frozen=True)
class Made:
    """What one batch did: entries done, vectors stored, entries that failed, and why."""

    claimed: int
    entries: int
    vectors: int
    failed: int
    error: EmbedderFailed | None = None


@dataclass
class _Work:
    """The vectors of claimed entries: which stay, which are to be made, which came out."""

    entries: Sequence[asyncpg.Record]
    parts: dict[int, list[Part]] = field(default_factory=dict)
    missing: list[tuple[int, Part]] = field(default_factory=list)
    made: list[list[float]] = field(default_factory=list)
    failed: dict[int, EmbedderFailed] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for entry in self.entries:
            if entry["title"] is None:  # gone
                continue
            self.parts[entry["id"]] = parts_of(entry)
            there = set(entry["digests"])
            self.missing += [
                (entry["id"], part) for part in self.parts[entry["id"]] if part.digest not in there
            ]

    def chunk(self, start: int, most: int) -> list[tuple[int, Part]]:
        """The missing ones from a place on that can be embedded at once: of one kind."""
        kind = self.missing[start][1].kind
        chunk = self.missing[start : start + most]
        return [missing for missing in chunk if missing[1].kind == kind]


class Maker:
    """Makes the vectors of one model, of one collection or of all (None)."""

    def __init__(
        self, database: Database, embedder: Embedder, *, collection: str | None, batch: int
    ) -> None:
        self.database = database
        self.embedder = embedder
        self.collection = collection
        self._batch = batch
        self._dimension: int | None = None

    async def prepare(self) -> None:
        """Notes that the vectors are wanted and queues what lacks them.

        Raises:
            EmbedderFailed: the embedder gives no vectors, or of another length than before.
        """
        scope = EVERY if self.collection is None else self.collection
        known = await self.database.read("vector_models", self.embedder.model)
        try:
            levels, self._dimension = await measured_levels(
                self.embedder, dimension=known[0]["dimension"] if known else None
            )
        except EmbedderFailed:
            raise
        except Exception as error:
            raise _failed(error) from error
        new = await self.database.write(
            "want_vectors",
            self.embedder.model,
            scope,
            self._dimension,
            levels.apart,
            levels.near,
            levels.alias_excess,
        )
        async with self.database.transaction() as connection:
            if new:
                await fetch(connection, "pause_writers")
            await fetch(connection, "queue_missing_vectors", self.embedder.model, scope)

    async def make_batch(self) -> Made:
        """Claims some jobs and does them; none are left where `claimed` is 0.

        Failures are noted with their jobs, which wait longer after each.
        """
        if self._dimension is None:
            await self.prepare()
        async with self.database.transaction() as connection:
            work = _Work(
                await fetch(
                    connection, "claim_vector_jobs", self.embedder.model, self.collection, _CLAIM
                )
            )
            if not work.entries:
                return Made(0, 0, 0, 0)
            await self._make(work)
            stored = await self._store(connection, work)
            error = next(iter(work.failed.values()), None)
            if error is not None:
                await fetch(
                    connection,
                    "note_failed_vectors",
                    self.embedder.model,
                    list(work.failed),
                    str(error),
                )
        return Made(
            len(work.entries), stored["entries"], stored["vectors"], len(work.failed), error
        )

    async def _make(self, work: _Work) -> None:
        kept: list[tuple[int, Part]] = []
        work.missing.sort(key=lambda missing: missing[1].kind)
        start = 0
        while start < len(work.missing):
            chunk = work.chunk(start, self._batch)
            start += len(chunk)
            try:
                made = await self._embed([part for _, part in chunk], self._dimension)
            except EmbedderFailed as error:
                if error.reason != "bad answer":
                    # whoever is out of reach now is so for the rest as well
                    left = work.missing[start - len(chunk) :]
                    work.failed.update((entry, error) for entry, _ in left)
                    break
                await self._one_by_one(chunk, work, kept)
                continue
            kept += chunk
            work.made += made
        work.missing = kept

    async def _one_by_one(
        self, chunk: Sequence[tuple[int, Part]], work: _Work, kept: list[tuple[int, Part]]
    ) -> None:
        in_a_row = 0
        for place, (entry, part) in enumerate(chunk):
            try:
                made = await self._embed([part], self._dimension)
            except EmbedderFailed as error:
                work.failed[entry] = error
                in_a_row += 1
                if in_a_row == _ALL_IS_LOST:
                    work.failed.update((other, error) for other, _ in chunk[place:])
                    return
                continue
            in_a_row = 0
            kept.append((entry, part))
            work.made += made

    async def _embed(self, parts: Sequence[Part], dimension: int | None) -> list[list[float]]:
        try:
            answer = await self.embedder.embed([p.text for p in parts], kind=parts[0].kind)
        except EmbedderFailed:
            raise
        except Exception as error:  # whatever a model's own code may raise
            raise _failed(error) from error
        return unit_vectors(answer, count=len(parts), dimension=dimension)

    async def _store(self, connection: Connection, work: _Work) -> asyncpg.Record:
        done = [entry for entry in work.entries if entry["id"] not in work.failed]
        (stored,) = await fetch(
            connection,
            "store_vectors",
            self.embedder.model,
            [entry["id"] for entry in done],
            [entry["text_digest"] if entry["title"] is not None else None for entry in done],
            [entry for entry, _ in work.missing],
            [part.part for _, part in work.missing],
            [part.digest for _, part in work.missing],
            [number for vector in work.made for number in vector],
            self._dimension,
            [entry for entry, parts in work.parts.items() for _ in parts],
            [part.digest for parts in work.parts.values() for part in parts],
        )
        return stored

    async def make_index(self) -> None:
        """Makes the model's index where the server can, and there are enough vectors for one.

        Of several workers one makes it; what a killed one left half-made is made again.
        """
        if self._dimension is None:
            return
        async with self.database.connection() as connection:
            (found,) = await fetch(
                connection,
                "vector_index_state",
                self.embedder.model,
                self._dimension,
                _INDEXED_FROM,
            )
            command = found["command"]
            if command is None or found["state"] in ("valid", "being made"):
                return
            with error_boundary():
                if found["state"] == "broken":
                    await connection.execute(found["drop_command"])
                await connection.execute(command)


def _failed(error: Exception) -> EmbedderFailed:
    return EmbedderFailed(f"the embedder failed: {type(error).__name__}: {error}")
