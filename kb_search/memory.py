"""Notes that an agent keeps, each owner's in a collection of its own.

A collection an owner rather than a filter: what another owner wrote takes part neither in the
ranking nor in the corrections of a search, nor can a setting of the fixed rows let it through.

    memory = Memory(kb, owner="ana")
    id_ = await memory.remember("Prefiere que la llamen por la tarde")
    result = await memory.recall("cuándo llamar")
    await memory.archive(id_)
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from kb_search.errors import NotFound, QueryError
from kb_search.models import Entry, SearchResult, StoredEntry, Syntax

if TYPE_CHECKING:
    from kb_search.knowledge_base import KnowledgeBase

SECTION = "notas"
PREFIX = "memoria:"
MAX_NOTE_CHARS = 4000
_MAX_OWNER_CHARS = 200
_TITLE_CHARS = 80
# A longer owner is named by its digest, since a collection's name takes 200 characters.
_PLAIN_OWNER_CHARS = 150


class Memory:
    """The notes of one owner. A note is `active` until it is archived; archived ones are kept
    and never found.
    """

    def __init__(self, kb: KnowledgeBase, *, owner: str) -> None:
        if not owner.strip() or len(owner) > _MAX_OWNER_CHARS:
            raise QueryError(f"an owner has 1 to {_MAX_OWNER_CHARS} characters")
        self.owner = owner
        self.collection = collection_of(owner)
        self._kb = kb

    async def remember(
        self, note: str, *, title: str = "", tags: Sequence[str] = (), replaces: int | None = None
    ) -> int:
        """Stores a note and returns its id; the same note (or title) again is one note.

        `replaces` is a note of this owner that the new one archives.

        Raises:
            QueryError: the note is blank or too long.
            NotFound: `replaces` is no active note of this owner.
        """
        if not note.strip() or len(note) > MAX_NOTE_CHARS:
            raise QueryError(f"a note has 1 to {MAX_NOTE_CHARS} characters")
        old = None if replaces is None else await self.get(replaces)
        new = Entry(
            section=SECTION,
            title=" ".join(title.split()) or _title(note),
            content=note.strip(),
            tags=tuple(tags),
            metadata=self._metadata("active"),
        )
        (id_,) = await self._kb.add([new], collection=self.collection)
        if old is not None and old.id != id_:
            await self._archive(old)
        return id_

    async def recall(
        self,
        text: str,
        *,
        tags: Sequence[str] = (),
        limit: int | None = None,
        syntax: Syntax = "plain",
    ) -> SearchResult:
        """A search among this owner's active notes, and nothing else."""
        result = await self._kb.search(
            text,
            collection=self.collection,
            metadata=self._metadata("active"),
            tags=tags or None,
            limit=limit,
            syntax=syntax,
        )
        # Fixed rows ignore filters, and an archived note could be one.
        hits = tuple(hit for hit in result.hits if hit.metadata == self._metadata("active"))
        return replace(result, hits=hits)

    async def get(self, note_id: int) -> StoredEntry:
        """An active note of this owner.

        Raises:
            NotFound: there is none with this id.
        """
        entry = await self._kb.get(note_id)
        if entry.collection != self.collection or entry.metadata != self._metadata("active"):
            raise NotFound(f"no note has the id {note_id}")
        return entry

    async def archive(self, note_id: int) -> None:
        """Keeps a note, but lets no search find it any more.

        Raises:
            NotFound: it is no active note of this owner.
        """
        await self._archive(await self.get(note_id))

    async def _archive(self, note: StoredEntry) -> None:
        archived = Entry(
            section=note.section,
            title=note.title,
            content=note.content,
            tags=note.tags,
            metadata=self._metadata("archived"),
        )
        await self._kb.add([archived], collection=self.collection)

    def _metadata(self, status: str) -> dict[str, str]:
        return {"owner": self.owner, "status": status}


def _title(note: str) -> str:
    """What a note without a title is known by: its start, and a digest where that is not all."""
    line = " ".join(note.split())
    if len(line) <= _TITLE_CHARS:
        return line
    digest = hashlib.sha256(line.encode()).hexdigest()[:8]
    return f"{line[:_TITLE_CHARS].rstrip()}… ({digest})"


def collection_of(owner: str) -> str:
    """The collection that holds an owner's notes."""
    if len(owner) <= _PLAIN_OWNER_CHARS:
        return PREFIX + owner
    return f"{PREFIX}{hashlib.sha256(owner.encode()).hexdigest()}"
