"""Writing, reading and removing entries and synonyms."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import asyncpg

from kb_search.database import Database, fetch
from kb_search.errors import NotFound, QueryError
from kb_search.ids import LEAST_ID, is_storable_id, storable_ids
from kb_search.models import (
    MOST_SECTION_CHARS,
    CollectionStats,
    Entry,
    StoredEntry,
    Synonym,
    WriteReport,
    as_tuple,
)
from kb_search.words import is_list_of_texts, storable, storable_json

if TYPE_CHECKING:
    from kb_search.database import Connection

_BATCH = 500


async def write_entries(
    connection: Connection, entries: Sequence[Entry], *, collection: str
) -> WriteReport:
    """Adds or updates entries inside the caller's transaction.

    Of two entries with the same natural key the last wins; both get its id.

    Raises:
        QueryError: an entry lacks both title and content, or holds what JSON cannot.
        DatabaseError: PostgreSQL refuses the write.
    """
    rows = [_row(entry) for entry in entries]
    last: dict[object, int] = {}
    for place, row in enumerate(rows):
        last[_key(row, place)] = place
    chosen = sorted(last.values())
    ids: dict[int, int] = {}
    outcomes = {"added": 0, "updated": 0, "unchanged": 0}
    for start in range(0, len(chosen), _BATCH):
        places = chosen[start : start + _BATCH]
        payload = json.dumps([rows[place] for place in places], ensure_ascii=False)
        for record in await fetch(connection, "write_entries", collection, payload):
            ids[places[record["nr"] - 1]] = record["id"]
            outcomes[record["outcome"]] += 1
        for place in places:
            if place not in ids:  # another transaction added an equal one meanwhile
                row = rows[place]
                (found,) = await fetch(
                    connection, "entry_of_key", collection, row["section"], row["title"]
                )
                ids[place] = found["id"]
                outcomes["unchanged"] += 1
    by_key = {key: ids[place] for key, place in last.items()}
    return WriteReport(
        ids=tuple(by_key[_key(row, place)] for place, row in enumerate(rows)), **outcomes
    )


async def add_entries(
    database: Database, entries: Sequence[Entry], *, collection: str
) -> WriteReport:
    """Adds or updates entries, all or nothing; tried again where two writers deadlock.

    Raises:
        QueryError: this is no list of entries, or one of them cannot be stored.
    """
    if not isinstance(entries, Iterable):
        raise QueryError("give a list of entries, also for a single one")
    entries = list(entries)
    if not entries:
        return WriteReport(ids=(), added=0, updated=0, unchanged=0)
    return await database.in_transaction(
        partial(write_entries, entries=entries, collection=collection)
    )


async def get_entry(database: Database, entry_id: int) -> StoredEntry:
    """The entry with this id, of whatever collection.

    Raises:
        NotFound: there is none.
        QueryError: the id is no whole number.
    """
    records = await database.read("entry_by_id", entry_id) if is_storable_id(entry_id) else []
    if not records:
        raise NotFound(f"no entry has the id {entry_id}")
    return stored_entry(records[0])


async def list_entries(
    database: Database,
    *,
    collection: str,
    section: str | None = None,
    after_id: int | None = None,
    limit: int | None = None,
) -> list[StoredEntry]:
    """Entries by id, those after `after_id`, at most `limit` (None: all).

    Raises:
        QueryError: `limit` is negative, or an argument has the wrong type.
    """
    if limit is not None and (not is_storable_id(limit, name="limit") or not 0 <= limit < 2**31):
        raise QueryError("limit must be a whole number from 0 on")
    if after_id is not None and not is_storable_id(after_id, name="after_id"):
        raise QueryError("after_id is no id")
    records = await database.read(
        "listed_entries",
        collection,
        _section(section),
        LEAST_ID if after_id is None else after_id,
        2**31 - 1 if limit is None else limit,
    )
    return [stored_entry(record) for record in records]


async def remove_entries(
    database: Database,
    *,
    ids: Sequence[int] | None = None,
    section: str | None = None,
    document: int | None = None,
    collection: str | None = None,
    default_collection: str,
) -> int:
    """Removes what meets every condition given; returns how many entries are gone.

    Raises:
        QueryError: no condition is given, or one has the wrong type.
    """
    if ids is None and section is None and document is None and collection is None:
        raise QueryError("say what to remove: ids, section, document or collection")
    if collection is None and section is not None:
        collection = default_collection
    if document is not None and not is_storable_id(document, name="document"):
        return 0
    wanted = None if ids is None else storable_ids(ids)
    section = _section(section)
    async with database.transaction() as connection:
        (record,) = await fetch(connection, "remove_entries", collection, wanted, section, document)
        if ids is None and section is None:
            await fetch(connection, "remove_documents", collection, document)
    return int(record["removed"])


async def collection_stats(database: Database, *, collection: str | None) -> list[CollectionStats]:
    """The size of each collection that has entries, or of the one named."""
    return [
        CollectionStats(
            **{
                **record,
                "sections": json.loads(record["sections"]),
                "updated_at": record["updated_at"].isoformat(),
            }
        )
        for record in await database.read("collection_stats", collection)
    ]


async def add_synonym(
    database: Database, phrase: str, synonym: str, *, both_ways: bool, collection: str
) -> Synonym:
    """Stores a pair, as words; a pair that is there is updated.

    Raises:
        QueryError: one side has no word, is too long, or both are the same.
    """
    sides = (storable(phrase), storable(synonym))
    if max(map(len, sides)) > 200:
        raise QueryError("a synonym takes at most 200 characters a side")
    records = await database.write("add_synonym", collection, *sides, both_ways)
    if not records:
        raise QueryError("a synonym needs two different sides, each with a word")
    return Synonym(**records[0])


async def remove_synonym(database: Database, phrase: str, synonym: str, *, collection: str) -> int:
    """Removes a pair, in either order where it holds both ways; returns how many are gone."""
    (record,) = await database.write(
        "remove_synonym", collection, storable(phrase), storable(synonym)
    )
    return int(record["removed"])


async def list_synonyms(database: Database, *, collection: str) -> list[Synonym]:
    """The pairs of a collection, by phrase."""
    return [Synonym(**record) for record in await database.read("listed_synonyms", collection)]


def stored_entry(record: asyncpg.Record) -> StoredEntry:
    """The value of a row with all the columns of an entry."""
    return StoredEntry(
        **{
            **record,
            "aliases": as_tuple(record["aliases"]),
            "tags": as_tuple(record["tags"]),
            "heading_path": as_tuple(record["heading_path"]),
            "metadata": json.loads(record["metadata"]),
            "updated_at": record["updated_at"].isoformat(),
        }
    )


def _section(name: str | None) -> str | None:
    if name is not None and not isinstance(name, str):
        raise QueryError("section must be a text")
    return None if name is None else storable(name)


def _row(entry: Entry) -> dict[str, Any]:
    _check_types(entry)
    if not (storable(entry.title).strip() or storable(entry.content).strip()):
        raise QueryError("an entry needs a title or a content")
    try:
        metadata = storable_json(entry.metadata)
        json.dumps(metadata, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise QueryError(f"entry {entry.title!r}: metadata is not JSON ({error})") from None
    return {
        "section": storable(entry.section),
        "title": storable(entry.title),
        "content": storable(entry.content),
        "aliases": [storable(alias) for alias in entry.aliases],
        "tags": [storable(tag) for tag in entry.tags],
        "metadata": metadata,
        "source": None if entry.source is None else storable(entry.source),
    }


def _check_types(entry: Entry) -> None:
    """QueryError for what would be stored as something else: a text for a list of texts."""
    if not isinstance(entry, Entry):
        raise QueryError(f"an entry must be an Entry, not {type(entry).__name__}")
    for name in ("section", "title", "content"):
        if not isinstance(getattr(entry, name), str):
            raise QueryError(f"entry {entry.title!r}: {name} must be a text")
    for name in ("aliases", "tags"):
        values = getattr(entry, name)
        if not is_list_of_texts(values):
            raise QueryError(f"entry {entry.title!r}: {name} must be a list of texts")
    if entry.source is not None and not isinstance(entry.source, str):
        raise QueryError(f"entry {entry.title!r}: source must be a text")
    if len(entry.section) > MOST_SECTION_CHARS:
        raise QueryError(f"a section's name has at most {MOST_SECTION_CHARS} characters")
    if not isinstance(entry.metadata, Mapping):
        raise QueryError(f"entry {entry.title!r}: metadata must be an object")


def _key(row: dict[str, Any], place: int) -> object:
    if row["title"]:
        return (row["section"], row["title"])
    return place
