"""The semantic part of one knowledge base: its embedder, loaded when needed, and what it serves."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from kb_search.errors import DatabaseError, QueryError
from kb_search.models import Check
from kb_search.semantic.arm import Asked, asked
from kb_search.semantic.breaker import Breaker
from kb_search.semantic.embedders import Embedder, embedder_name, open_embedder
from kb_search.semantic.making import Maker
from kb_search.semantic.worker import EmbedReport, Progressed, keep_making, make_all

if TYPE_CHECKING:
    from kb_search.database import Database
    from kb_search.models import Mode
    from kb_search.settings import Settings

_NONE_THERE = (
    "no embedder is set up: pip install 'kb-search[semantic]', or name one in KB_SEARCH_EMBEDDER"
)

_WITHOUT_PGVECTOR = (
    "missing: vectors are compared one by one, and not at all in collections with more than 6,000"
    " of them; install pgvector on the server and run `kb-search init`"
)


class Meaning:
    """What a knowledge base does with vectors. Nothing is loaded before a vector is needed."""

    def __init__(self, database: Database, settings: Settings) -> None:
        self._database = database
        self._settings = settings
        self._name = embedder_name(settings)
        self._embedder: Embedder | None = None
        self._breaker = Breaker()
        self._dimensions: dict[str, int] = {}
        self._worker: asyncio.Task[None] | None = None

    @property
    def embedder(self) -> Embedder:
        """The embedder.

        Raises:
            QueryError: there is none.
            ConfigError: the one that is named cannot be used.
        """
        if self._embedder is None:
            if self._name is None:
                raise QueryError(_NONE_THERE)
            self._embedder = open_embedder(self._name, self._settings)
        return self._embedder

    def start_worker(self) -> None:
        """Makes vectors in the background until `close`."""
        maker = self._maker(None)
        self._worker = asyncio.create_task(keep_making(maker, poll_s=self._settings.embed_poll_s))

    async def close(self) -> None:
        """Ends the worker, whose batch is undone, and lets go of the embedder."""
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.cancel()
            await asyncio.gather(worker, return_exceptions=True)
        embedder, self._embedder = self._embedder, None
        if embedder is not None:
            await embedder.close()

    def ask(self, text: str, *, mode: Mode, collection: str) -> asyncio.Task[Asked] | None:
        """Starts the vector arm for a question; None where the answer is lexical anyway.

        This is the one place that decides about it.

        Raises:
            QueryError: the mode needs an embedder, and there is none.
        """
        if mode == "lexical" or not text:
            return None
        if self._name is None:
            if mode != "auto":
                raise QueryError(f"mode {mode!r}: {_NONE_THERE}")
            return None
        arm = asked(
            self._database,
            self.embedder,
            self._breaker,
            text,
            collection=collection,
            dimensions=self._dimensions,
            asked_for=mode != "auto",
        )
        return asyncio.create_task(arm)

    async def embed(
        self, *, collection: str | None, on_progress: Callable[[int, int], None] | None = None
    ) -> EmbedReport:
        """Makes the vectors that are missing, of one collection or of all.

        Raises:
            QueryError: there is no embedder.
            EmbedderFailed: it gives no vectors.
        """
        return await make_all(self._maker(collection), on_progress=on_progress)

    async def watch(self, *, collection: str | None) -> None:
        """Makes vectors until it is cancelled."""
        maker = self._maker(collection)
        await maker.prepare()
        await keep_making(maker, poll_s=self._settings.embed_poll_s)

    async def examine(self) -> list[Check]:
        """What the doctor says of vectors; nothing where the schema is missing."""
        try:
            pgvector = await self._database.read("pgvector_version")
            models = await self.models()
            progress = await self.progress(collection=None) if self._name else []
        except DatabaseError:
            return []  # told of already
        waiting = sum(each.waiting for each in progress) if models else 0
        failed = sum(each.failed for each in progress) if models else 0
        return [
            Check(name="pgvector", level="ok", message=f"version {pgvector[0]['version']}")
            if pgvector
            else Check(name="pgvector", level="warning", message=_WITHOUT_PGVECTOR),
            Check(
                name="meaning",
                level="warning" if failed else "ok",
                message=self._told(waiting, failed),
            ),
        ]

    def _told(self, waiting: int, failed: int) -> str:
        if self._name is None:
            return "no embedder: questions are answered by their words"
        told = f"embedder {self._name}, {waiting} entries wait for vectors"
        if not failed:
            return told
        return f"{told}, {failed} of them failed before: `kb-search embed --status` says why"

    async def progress(self, *, collection: str | None) -> list[Progressed]:
        """How far the vectors of the embedder's model are, a collection each."""
        records = await self._database.write("vector_progress", self.embedder.model, collection)
        return [Progressed(**dict(record)) for record in records]

    async def models(self) -> list[str]:
        """The models of which vectors are wanted or there, by name."""
        records = await self._database.read("vector_models", None)
        return sorted({record["model"] for record in records})

    async def forget_model(self, model: str) -> int:
        """Removes a model with its vectors; returns how many are gone."""
        (gone,) = await self._database.write("forget_model", model)
        return int(gone["vectors"])

    async def forget_collection(self, collection: str) -> None:
        """Wants no vectors of a collection any more."""
        await self._database.write("forget_collection_vectors", collection)

    def _maker(self, collection: str | None) -> Maker:
        return Maker(
            self._database,
            self.embedder,
            collection=collection,
            batch=self._settings.embedder_batch,
        )
