"""Ingesting again whenever something changes below the paths, told by the system (watchfiles)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING

from watchfiles import awatch

from kb_search.database import Database
from kb_search.errors import QueryError
from kb_search.ingest.planning import Digests
from kb_search.ingest.run import ingest
from kb_search.ingest.values import IngestReport

if TYPE_CHECKING:
    from kb_search.settings import Settings

# Changes that follow one another this closely, in milliseconds, are one.
_TOGETHER_MS = 400
# Each run looks at the paths as a whole, so that no event can be missed: a change during a run is
# seen by the next, and one that the system did not tell of by the run after this many milliseconds.
_AT_LEAST_EVERY_MS = 60_000


async def watch(
    database: Database,
    settings: Settings,
    paths: Sequence[Path],
    *,
    collection: str,
    prune: bool,
    ignore: Sequence[str],
) -> AsyncGenerator[IngestReport, None]:
    """A report of the first run, then one a run after each change; never ends by itself.

    Raises:
        QueryError: a path is not there.
    """
    missing = [path for path in paths if not path.exists()]
    if missing or not paths:
        raise QueryError(f"nothing to watch: {missing[0] if missing else 'no path'}")
    digests = Digests(
        workers=settings.document_workers, max_bytes=settings.document_max_bytes, remember=True
    )

    async def run() -> IngestReport:
        return await ingest(
            database,
            settings,
            paths,
            collection=collection,
            prune=prune,
            ignore=ignore,
            digests=digests,
        )

    changes = awatch(
        *paths,
        watch_filter=None,
        debounce=_TOGETHER_MS,
        yield_on_timeout=True,
        rust_timeout=_AT_LEAST_EVERY_MS,
        recursive=True,
    )
    async with aclosing(changes):
        # The system is asked to tell before the first run, so that nothing falls in between.
        change = asyncio.ensure_future(anext(changes))
        try:
            while True:
                yield await run()
                await change
                change = asyncio.ensure_future(anext(changes))
        finally:
            change.cancel()
            await asyncio.gather(change, return_exceptions=True)
