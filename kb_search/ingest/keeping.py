"""One document, one transaction: a searcher sees the old sections or the new."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kb_search.database import Database, fetch
from kb_search.ingest.planning import Digests, place_of
from kb_search.ingest.sections import (
    Tagging,
    batches,
    changes,
    document_row,
    kept_row,
    retagged,
    section_rows,
    storable_path,
)
from kb_search.ingest.values import Outcome

if TYPE_CHECKING:
    import asyncpg

    from kb_search.database import Connection
    from kb_search.documents import Document, Found


@dataclass(frozen=True)
class Kept:
    """What became of a file; `id` is its document's, `tagged` whether no model need be asked."""

    outcome: Outcome
    id: int
    tagged: bool


async def keep_document(
    database: Database,
    found: Found,
    document: Document,
    *,
    collection: str,
    reading: str,
    planned_for: str | None = None,
) -> Kept:
    """Adds the document, or brings the one that is there up to date; tried again on a deadlock.

    `planned_for` is the digest of what was kept when the file was read: where another run has
    kept something else since, the file itself says which of the two is the later.
    """
    return await database.in_transaction(
        lambda connection: _keep(
            connection,
            found,
            document,
            collection=collection,
            reading=reading,
            planned_for=planned_for,
        )
    )


async def _keep(
    connection: Connection,
    found: Found,
    document: Document,
    *,
    collection: str,
    reading: str,
    planned_for: str | None,
) -> Kept:
    source = storable_path(found.source)
    path = place_of(found)
    await fetch(connection, "lock_document", collection, source)
    records = await fetch(connection, "kept_documents", collection, path, source, document.sha256)
    old = _same_document(records, path=path, source=source, sha256=document.sha256)
    if old is not None and (old["path"], old["sha256"], old["reading"]) == (
        path,
        document.sha256,
        reading,
    ):
        return Kept("skipped", old["id"], old["tagged"])  # another run was faster
    if old is not None and old["path"] == path and old["sha256"] != planned_for:
        (now,) = await asyncio.to_thread(Digests().of, [found.path])
        if now != document.sha256:
            return Kept("skipped", old["id"], old["tagged"])  # and read a later text
    name = await _free_source(
        connection, found, collection, source, None if old is None else old["id"]
    )
    tagging = None if old is None else Tagging.from_json(old["tagging"])
    complete = bool(document.tags and document.summary)
    if complete:
        tagging = None  # the file says it all itself
    row = document_row(document, source=name, path=path, reading=reading, tagging=tagging)
    # What a model said of an older text stands until it is asked again.
    as_before = old is not None and old["tagged"] and old["sha256"] == document.sha256
    row["tagged"] = complete or (tagging is not None and as_before)
    payload = json.dumps(row, ensure_ascii=False)
    if old is None:
        (added,) = await fetch(connection, "add_document", collection, payload)
        document_id: int = added["id"]
    else:
        document_id = old["id"]
        await fetch(connection, "replace_document", document_id, payload)
    wanted = section_rows(document, source=name, tagging=tagging)
    await _write_sections(connection, collection, document_id, wanted)
    return Kept("added" if old is None else "replaced", document_id, row["tagged"])


def _same_document(
    records: Sequence[asyncpg.Record], *, path: str, source: str, sha256: str
) -> asyncpg.Record | None:
    """The document that a file is: of its path, else one whose own file is gone and that has its
    source (the folder is somewhere else now), else its digest (the file was moved).
    """
    for record in records:
        if record["path"] == path:
            return record
    gone = [record for record in records if not Path(record["path"]).is_file()]
    for record in gone:
        if record["source"] == source:
            return record
    for record in gone:
        if record["sha256"] == sha256:
            return record
    return None


async def _free_source(
    connection: Connection, found: Found, collection: str, source: str, own_id: int | None
) -> str:
    """The name of the document: the path below the folder given, with as many folders above it
    as tell it from the documents there are.
    """
    folder = found.root if found.root != found.path else found.path.parent
    above = [part for part in folder.resolve().parts if part != folder.anchor]
    names = [source]
    while above:
        names.append(f"{storable_path(above.pop())}/{names[-1]}")
    names.append(place_of(found))
    records = await fetch(connection, "taken_sources", collection, names, own_id)
    taken = {record["source"] for record in records}
    return next((name for name in names if name not in taken), names[-1])


async def _write_sections(
    connection: Connection, collection: str, document_id: int, wanted: list[dict[str, Any]]
) -> None:
    kept = [kept_row(record) for record in await fetch(connection, "kept_sections", document_id)]
    change = changes(kept, wanted)
    if change.dropped:
        await fetch(connection, "drop_sections", document_id, change.dropped)
    for batch in batches(change.replaced):
        await fetch(connection, "replace_sections", document_id, batch)
    for batch in batches(change.added):
        await fetch(connection, "add_sections", collection, document_id, batch)


async def tag_document(
    database: Database, document_id: int, tagging: Tagging, *, sha256: str
) -> bool:
    """Puts what a model said in the place of what one said before, in the sections too.

    False where the file changed meanwhile, or the document is gone: it waits for its next turn.
    """
    async with database.transaction() as connection:
        records = await fetch(connection, "document_for_tagging", document_id, sha256)
        if not records:
            return False
        said = records[0]
        old = Tagging.from_json(said["tagging"])
        rows = [
            kept_row(record) for record in await fetch(connection, "kept_sections", document_id)
        ]
        own = [tag for tag in said["tags"] if not old or tag not in old.tags]
        tags = [*own, *(tag for tag in tagging.tags if tag not in own)]
        own_summary = None if old and said["summary"] == old.summary else said["summary"]
        summary = own_summary or tagging.summary
        new = replace(tagging, tags=tuple(tag for tag in tagging.tags if tag not in own))
        await fetch(
            connection, "tag_document", document_id, tags, summary, json.dumps(new.as_json())
        )
        changed = []
        for row in rows:
            wanted = retagged(row, old, tagging, summary, row is rows[0])
            if wanted != row:
                changed.append({**wanted, "content": None})
        for batch in batches(changed):
            await fetch(connection, "replace_sections", document_id, batch)
    return True
