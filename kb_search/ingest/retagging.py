"""Asking the model for documents one after the other, until it proves to be no help."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path

from kb_search.database import Database
from kb_search.ingest.keeping import tag_document
from kb_search.ingest.tagging import Tagger, TaggerFailed

# So many answers in a row that are late or make no sense, and the rest of the run does without.
_MOST_FAILURES = 3
_PAGE = 100
# What the model is shown: the starts of the first sections.
_SECTIONS = 12


class TaggingRun:
    """The model during one run. After it failed for good no document waits for it any more."""

    def __init__(self, database: Database, tagger: Tagger, collection: str) -> None:
        self._database = database
        self._tagger = tagger
        self._collection = collection
        self._failures = 0
        self._stopped = False
        self._reason = ""
        self._without = 0
        self._turn = asyncio.Lock()  # a local model answers one after the other anyway

    async def tag(self, document_id: int, title: str, sha256: str) -> None:
        """Asks for one document; where that fails it stays as it is and waits for `--retag`."""
        async with self._turn:
            await self._tag(document_id, title, sha256)

    async def _tag(self, document_id: int, title: str, sha256: str) -> None:
        if self._stopped:
            self._without += 1
            return
        try:
            tagging = await self._tagger.tag(title, await self._excerpt(document_id))
        except TaggerFailed as error:
            self._without += 1
            self._failures += 1
            self._reason = str(error)
            self._stopped = error.gone or self._failures >= _MOST_FAILURES
            return
        self._failures = 0
        await tag_document(self._database, document_id, tagging, sha256=sha256)

    async def tag_waiting(self, places: Sequence[str]) -> None:
        """Asks for every document of the collection that waits, of those below the places given
        where any are.
        """
        after = -(2**63)
        while not self._stopped:
            rows = await self._database.write("untagged_documents", self._collection, after, _PAGE)
            for row in rows:
                after = row["id"]
                if not places or any(Path(row["path"]).is_relative_to(place) for place in places):
                    await self.tag(row["id"], row["title"], row["sha256"])
            if len(rows) < _PAGE:
                return

    async def _excerpt(self, document_id: int) -> str:
        chars = self._tagger.max_chars
        rows = await self._database.write("document_opening", document_id, _SECTIONS, chars)
        share = max(chars // max(len(rows), 1), 200)
        return "\n\n".join(
            f"{' > '.join(row['heading_path'])}\n{row['content'][:share]}" for row in rows
        )

    def notes(self) -> Iterator[str]:
        if self._without:
            yield (
                f"without the model's tags: {self._without} (the model: {self._reason});"
                " kb-search ingest --retag asks again"
            )
