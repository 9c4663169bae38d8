"""One run: find, read, keep, prune, tag."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING

from kb_search.database import Database
from kb_search.documents import Document, DocumentError, Found, read_many
from kb_search.errors import ConfigError, DatabaseError, QueryError
from kb_search.ingest.keeping import keep_document
from kb_search.ingest.planning import Digests, KeptFile, Plan, plan
from kb_search.ingest.retagging import TaggingRun
from kb_search.ingest.sections import storable_path
from kb_search.ingest.tagging import Tagger
from kb_search.ingest.values import FailedFile, IngestReport

if TYPE_CHECKING:
    from kb_search.settings import Settings

Progress = Callable[[int, int], None]

# Part of what says whether a file has to be read again: raise it when the readers or the rows
# they lead to change.
_READING = "1"
# PostgreSQL cannot hold this text: data exceptions, and limits of the server.
_OF_ONE_FILE = ("22", "54")


async def ingest(
    database: Database,
    settings: Settings,
    paths: Sequence[Path],
    *,
    collection: str,
    prune: bool = False,
    dry_run: bool = False,
    ignore: Sequence[str] = (),
    retag: bool = False,
    on_progress: Progress | None = None,
    digests: Digests | None = None,
) -> IngestReport:
    """Takes in the files below the paths, each in a transaction of its own.

    Raises:
        QueryError: no path is given, and nothing to tag again either; a pattern is none.
        ConfigError: the model for tags is named badly, or is to tag again and not named.
        DatabaseError: PostgreSQL is gone, or refuses to write at all.
    """
    if not paths and not retag:
        raise QueryError("name at least one file or folder")
    if isinstance(ignore, str):
        raise QueryError("ignore must be a list of patterns")
    tagger = Tagger.of(settings)
    if retag and tagger is None:
        raise ConfigError("no model to ask for tags: set KB_SEARCH_TAGGER_URL and _MODEL")
    run = _Run(database, settings, collection, dry_run, on_progress or (lambda _done, _total: None))
    if tagger is not None and not dry_run:
        run.tagging = TaggingRun(database, tagger, collection)
    kept = [KeptFile.of(row) for row in await database.write("known_documents", collection)]
    planned = await asyncio.to_thread(
        plan,
        paths,
        kept,
        ignore=ignore,
        reading=run.reading,
        digests=digests or run.digests(),
    )
    await run.carry_out(planned)
    if prune:
        await run.prune(planned)
    if retag and run.tagging is not None:
        await run.tagging.tag_waiting([storable_path(path.resolve()) for path in paths])
    return run.report()


class _Run:
    """What one run has done so far."""

    def __init__(
        self,
        database: Database,
        settings: Settings,
        collection: str,
        dry_run: bool,
        on_progress: Progress,
    ) -> None:
        self.tagging: TaggingRun | None = None
        self.reading = f"{_READING}/{settings.document_section_chars}"
        self._database = database
        self._settings = settings
        self._collection = collection
        self._dry_run = dry_run
        self._on_progress = on_progress
        self._counts: Counter[str] = Counter()
        self._failed: list[FailedFile] = []
        self._ids: set[int] = set()

    def digests(self, *, remember: bool = False) -> Digests:
        return Digests(
            workers=self._settings.document_workers,
            max_bytes=self._settings.document_max_bytes,
            remember=remember,
        )

    async def carry_out(self, planned: Plan) -> None:
        """Reads what has to be read, and keeps it."""
        self._failed.extend(planned.failed)
        self._counts["skipped"] += planned.skipped
        done = planned.skipped
        self._on_progress(done, planned.files)
        if planned.relocated and not self._dry_run:
            ids, places = zip(*planned.relocated, strict=True)
            await self._database.write("relocate_documents", self._collection, ids, places)
        settings = self._settings
        reading = read_many(
            [found.path for found, _ in planned.to_read],
            workers=settings.document_workers,
            timeout_s=settings.document_timeout_s,
            max_bytes=settings.document_max_bytes,
            max_section_chars=settings.document_section_chars,
            memory_bytes=settings.document_memory_bytes,
        )
        waiting = iter(planned.to_read)
        running: set[asyncio.Task[None]] = set()

        async def finish(*, leaving: int) -> None:
            nonlocal done, running
            while len(running) > leaving:
                ended, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                for task in ended:
                    task.result()
                    done += 1
                    self._on_progress(done, planned.files)

        try:
            async with aclosing(reading) as results:
                async for _, document in results:
                    found, old = next(waiting)
                    running.add(asyncio.create_task(self._take(found, old, document)))
                    # as many at once as there are readers: the server has cores too
                    await finish(leaving=settings.document_workers - 1)
                await finish(leaving=0)
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)

    async def _take(
        self, found: Found, old: KeptFile | None, document: Document | DocumentError
    ) -> None:
        """Keeps what was read of one file, or notes why it cannot be."""
        if isinstance(document, DocumentError):
            self._fail(found.path, document.reason)
            return
        if self._dry_run:
            self._counts["added" if old is None else "replaced"] += 1
            return
        try:
            kept = await keep_document(
                self._database,
                found,
                document,
                collection=self._collection,
                reading=self.reading,
                planned_for=None if old is None else old.sha256,
            )
        except DatabaseError as error:
            if not (error.sqlstate or "").startswith(_OF_ONE_FILE):
                raise
            self._fail(found.path, f"PostgreSQL cannot keep it: {error}")
            return
        self._counts[kept.outcome] += 1
        self._ids.add(kept.id)
        if self.tagging and kept.outcome != "skipped" and not kept.tagged:
            await self.tagging.tag(kept.id, document.title, document.sha256)

    def _fail(self, path: Path, reason: str) -> None:
        self._failed.append(FailedFile(path=storable_path(path), reason=reason))

    async def prune(self, planned: Plan) -> None:
        """Removes the documents whose files are gone."""
        gone = [row for row in planned.vanished if row.id not in self._ids]
        if gone and not self._dry_run:
            ids, places = [row.id for row in gone], [row.path for row in gone]
            rows = await self._database.write("forget_documents", self._collection, ids, places)
            self._counts["removed"] += len(rows)
        else:
            self._counts["removed"] += len(gone)

    def report(self) -> IngestReport:
        return IngestReport(
            added=self._counts["added"],
            replaced=self._counts["replaced"],
            skipped=self._counts["skipped"],
            removed=self._counts["removed"],
            failed=tuple(self._failed),
            notes=tuple(self.tagging.notes()) if self.tagging is not None else (),
        )
