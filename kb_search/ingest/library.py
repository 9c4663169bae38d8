"""Reading back: documents, their headings, their sections, and what there is of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kb_search.database import Database, fetch
from kb_search.errors import NotFound, QueryError
from kb_search.ids import LEAST_ID, is_storable_id
from kb_search.ingest.values import CorpusStats, Heading, SectionView, StoredDocument
from kb_search.layers.descriptions import document_info
from kb_search.models import DocumentInfo, StoredEntry, as_tuple
from kb_search.words import storable

if TYPE_CHECKING:
    import asyncpg

_MOST_NEIGHBOURS = 100
_MOST_TAGS = 50


async def get_document(
    database: Database, document_id: int, *, with_text: bool = True
) -> StoredDocument:
    """A document with the tree of its headings and, where wanted, its whole text.

    Raises:
        NotFound: there is none with this id.
    """
    if not is_storable_id(document_id, name="a document's id"):
        raise NotFound(f"no document has the id {document_id}")
    async with (
        database.connection() as connection,
        # both statements see the same version of it
        connection.transaction(isolation="repeatable_read", readonly=True),
    ):
        records = await fetch(connection, "document_by_id", document_id)
        if not records:
            raise NotFound(f"no document has the id {document_id}")
        name = "document_sections" if with_text else "kept_sections"
        sections = await fetch(connection, name, document_id)
    outline: list[list[Any]] = json.loads(records[0]["outline"])
    info = document_info(records[0])
    return StoredDocument(
        **vars(info),
        headings=heading_tree(outline, {row["position"]: row["id"] for row in sections}),
        text=_whole_text(info.title, outline, sections) if with_text else None,
    )


def heading_tree(
    outline: Sequence[Sequence[Any]], section_ids: Mapping[int, int]
) -> tuple[Heading, ...]:
    """The headings, each below the last one before it of a smaller level."""
    tree: list[dict[str, Any]] = []
    open_headings: list[dict[str, Any]] = []
    for level, title, position in outline:
        node = {
            "title": title,
            "level": level,
            "position": position,
            "section_id": section_ids.get(position),
            "children": [],
        }
        while open_headings and open_headings[-1]["level"] >= level:
            open_headings.pop()
        (open_headings[-1]["children"] if open_headings else tree).append(node)
        open_headings.append(node)
    return tuple(_heading(node) for node in tree)


def _heading(node: Mapping[str, Any]) -> Heading:
    return Heading(**{**node, "children": tuple(_heading(child) for child in node["children"])})


def _whole_text(
    title: str, outline: Sequence[Sequence[Any]], sections: Sequence[asyncpg.Record]
) -> str:
    """The document as Markdown: headings by their levels, texts as they were read."""
    parts: list[str] = []
    waiting = list(sections)

    def texts_before(position: float) -> None:
        while waiting and waiting[0]["position"] < position:
            parts.append(waiting.pop(0)["content"])

    if not any(heading == title for _, heading, _ in outline):
        parts.append(f"# {title}")
    for at, (level, heading, _) in enumerate(outline):
        here = _place(outline, at)
        texts_before(here)
        parts.append(f"{'#' * min(level, 6)} {heading}")
    texts_before(float("inf"))
    return "\n\n".join(parts)


def _place(outline: Sequence[Sequence[Any]], at: int) -> float:
    """The position of the first text at or after a heading."""
    return next((row[2] for row in outline[at:] if row[2] is not None), float("inf"))


async def get_section(
    database: Database, section_id: int, *, neighbours: int = 1, with_schema: bool = False
) -> SectionView:
    """A section with at most `neighbours` sections before it and after it.

    Raises:
        NotFound: no section of a document has this id.
        QueryError: `neighbours` is out of bounds, or there is no schema to give.
    """
    if isinstance(neighbours, bool) or not 0 <= neighbours <= _MOST_NEIGHBOURS:
        raise QueryError(f"neighbours must be a whole number from 0 to {_MOST_NEIGHBOURS}")
    if not is_storable_id(section_id, name="a section's id"):
        raise NotFound(f"no section of a document has the id {section_id}")
    async with (
        database.connection() as connection,
        connection.transaction(isolation="repeatable_read", readonly=True),
    ):
        records = await fetch(connection, "section_and_neighbours", section_id, neighbours)
        if not records:
            raise NotFound(f"no section of a document has the id {section_id}")
        (document,) = await fetch(connection, "document_by_id", records[0]["document_id"])
        around = [(row["side"], _entry(row)) for row in records]
        (section,) = [entry for side, entry in around if side == 0]
        schema = None
        if with_schema:
            key = f"{section.metadata.get('method')} {section.metadata.get('path')}"
            said = await fetch(connection, "described_operation", section.document_id, key)
            if not said:
                raise QueryError(f"section {section_id} is no operation of an API description")
            schema = _schema(section, said[0])
    return SectionView(
        section=section,
        document=document_info(document),
        before=tuple(entry for side, entry in around if side < 0),
        after=tuple(entry for side, entry in around if side > 0),
        schema=schema,
    )


def _schema(section: StoredEntry, said: asyncpg.Record) -> dict[str, Any]:
    from kb_search.documents.api_schema import operation_schema

    return operation_schema(
        {"shared": json.loads(said["shared"])},
        {**section.metadata, "operation": json.loads(said["operation"])},
    )


async def list_documents(
    database: Database,
    *,
    collection: str,
    tags: Sequence[str] | None = None,
    mime: str | None = None,
    source: str | None = None,
    title: str | None = None,
    tagged: bool | None = None,
    after_id: int | None = None,
    limit: int | None = None,
) -> list[DocumentInfo]:
    """Documents by id that meet every condition, at most `limit` (None: all).

    Raises:
        QueryError: an argument is of the wrong type or out of bounds.
    """
    if limit is not None and not 0 <= limit < 2**31:
        raise QueryError("limit must be a whole number from 0 on")
    if after_id is not None and not is_storable_id(after_id, name="after_id"):
        raise QueryError("after_id is no id")
    if isinstance(tags, str):
        raise QueryError("tags must be a list of texts")
    records = await database.read(
        "listed_documents",
        collection,
        [storable(tag) for tag in tags] if tags else None,
        mime,
        None if source is None else storable(source),
        None if title is None else storable(title),
        tagged,
        LEAST_ID if after_id is None else after_id,
        2**31 - 1 if limit is None else limit,
    )
    return [document_info(record) for record in records]


async def corpus_stats(database: Database, *, collection: str) -> CorpusStats:
    """The documents of a collection in numbers."""
    (record,) = await database.read("corpus_size", collection, _MOST_TAGS)
    updated_at = record["updated_at"]
    return CorpusStats(
        **{
            **record,
            "collection": collection,
            "mimes": _most_first(record["mimes"]),
            "tags": _most_first(record["tags"]),
            "updated_at": None if updated_at is None else updated_at.isoformat(),
        }
    )


def _most_first(counts: str) -> dict[str, int]:
    return dict(sorted(json.loads(counts).items(), key=lambda pair: (-pair[1], pair[0])))


def _entry(record: asyncpg.Record) -> StoredEntry:
    values = {name: record[name] for name in StoredEntry.__dataclass_fields__}
    return StoredEntry(
        **{
            **values,
            "aliases": as_tuple(record["aliases"]),
            "tags": as_tuple(record["tags"]),
            "heading_path": as_tuple(record["heading_path"]),
            "metadata": json.loads(record["metadata"]),
            "updated_at": record["updated_at"].isoformat(),
        }
    )
