"""From a document that was read to the rows that keep it, and what differs from those there are."""

from __future__ import annotations

import hashlib
import json
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kb_search.words import storable, storable_json

if TYPE_CHECKING:
    import asyncpg

    from kb_search.documents import Document, Section

Row = dict[str, Any]

# One statement takes at most so many sections, and about so many characters of text.
_BATCH_ROWS = 500
_BATCH_CHARS = 4_000_000


@dataclass(frozen=True)
class Tagging:
    """What a model said of a document."""

    model: str
    tags: tuple[str, ...]
    summary: str | None

    def as_json(self) -> Row:
        return {"model": self.model, "tags": list(self.tags), "summary": self.summary}

    @classmethod
    def from_json(cls, text: str | None) -> Tagging | None:
        if text is None:
            return None
        said = json.loads(text)
        return cls(said["model"], tuple(said["tags"]), said["summary"])


def document_row(
    document: Document, *, source: str, path: str, reading: str, tagging: Tagging | None
) -> Row:
    """The row of a document, its texts storable."""
    metadata = {key: value for key, value in document.metadata.items() if key != "shared"}
    row: Row = storable_json(
        {
            "source": source,
            "path": path,
            "title": document.title,
            "sha256": document.sha256,
            "mime": document.mime,
            "tags": list(all_tags(document.tags, tagging)),
            "summary": summary_of(document, tagging),
            "metadata": metadata,
            "outline": outline(document.sections),
            "described": _described(document),
            "reading": reading,
            "tagging": tagging.as_json() if tagging else None,
        }
    )
    return row


def all_tags(own: Sequence[str], tagging: Tagging | None) -> tuple[str, ...]:
    """The tags that a file gives itself, then a model's; each once."""
    return tuple(dict.fromkeys([*own, *(tagging.tags if tagging else ())]))


def summary_of(document: Document, tagging: Tagging | None) -> str | None:
    return document.summary or (tagging.summary if tagging else None)


def outline(sections: Sequence[Section]) -> list[list[Any]]:
    """The headings in order: level, heading, position of its first text or None."""
    return [
        [
            section.level,
            section.heading_path[-1],
            section.position if section.text else None,
        ]
        for section in sections
        if section.level > 0 and section.part in (None, 1)
    ]


def _described(document: Document) -> Row | None:
    """What is needed to give an API operation whole; None for any other document."""
    operations = {
        operation_key(section.metadata): section.metadata["operation"]
        for section in document.sections
        if "operation" in section.metadata
    }
    if not operations:
        return None
    return {"operations": operations, "shared": document.metadata.get("shared", {})}


def operation_key(metadata: Mapping[str, Any]) -> str:
    return f"{metadata['method']} {metadata['path']}"


def section_rows(document: Document, *, source: str, tagging: Tagging | None) -> list[Row]:
    """A row a section that has text, in order.

    A section is found by its headings, and by what its document is called: title, aliases and
    tags. The summary leads to the document's first section.
    """
    texts = [section for section in document.sections if section.text]
    summary = summary_of(document, tagging)
    rows = []
    for section in texts:
        names = [] if document.title in section.heading_path else [document.title]
        if section is texts[0] and summary:
            names.append(summary)
        metadata = {key: value for key, value in section.metadata.items() if key != "operation"}
        if section.parts:
            metadata |= {"part": section.part, "parts": section.parts}
        if summary:
            metadata["summary"] = summary
        row: Row = {
            "section": document.title,
            "title": section.heading_path[-1],
            "content": section.text,
            "aliases": list(dict.fromkeys([*section.aliases, *names, *document.aliases])),
            "tags": list(all_tags(_own_tags(document, section, texts[0]), tagging)),
            "metadata": metadata,
            "source": source,
            "heading_path": list(section.heading_path),
            "position": section.position,
        }
        rows.append(storable_json(row))
    return rows


def _own_tags(document: Document, section: Section, first: Section) -> Sequence[str]:
    """Those of the document; an API operation has its own."""
    own = section.metadata.get("tags") if "operation" in section.metadata else None
    if own is not None and section is not first:
        return [str(tag) for tag in own]
    return document.tags


def retagged(row: Row, old: Tagging | None, new: Tagging, summary: str | None, first: bool) -> Row:
    """A kept section's row with what another answer of the model says in place of the old one."""
    gone = set(old.tags) if old else set()
    tags = all_tags([tag for tag in row["tags"] if tag not in gone], new)
    aliases = [alias for alias in row["aliases"] if not old or alias != old.summary]
    if first and summary and summary not in aliases:
        aliases.append(summary)
    metadata = {key: value for key, value in row["metadata"].items() if key != "summary"}
    if summary:
        metadata["summary"] = summary
    return {**row, "tags": list(tags), "aliases": aliases, "metadata": metadata}


@dataclass(frozen=True)
class Changes:
    """What makes the kept sections those of the file: ids to drop, rows to write.

    Rows in `replaced` have an `id`, and `content` None where the text stays.
    """

    dropped: tuple[int, ...]
    replaced: tuple[Row, ...]
    added: tuple[Row, ...]


def kept_row(record: asyncpg.Record) -> Row:
    """A row of `kept_sections` as it compares with a new one."""
    return {**record, "metadata": json.loads(record["metadata"])}


def changes(kept: Sequence[Row], wanted: Sequence[Row]) -> Changes:
    """The least that has to be written, so that ids, and what hangs on them, stay.

    A section is the same where headings and text are; else where its text is (a heading was
    renamed), else where its headings are (the text was edited).
    """
    pairs: dict[int, Row] = {}  # by the place of the wanted row
    left = list(kept)
    open_places = list(range(len(wanted)))
    digests = [digest(row["content"]) for row in wanted]
    keys: tuple[Callable[[Row, str], object], ...] = (
        lambda row, text: (tuple(row["heading_path"]), text),
        lambda _row, text: text,
        lambda row, _text: tuple(row["heading_path"]),
    )
    for key in keys:
        waiting: dict[object, deque[Row]] = {}
        for row in left:
            waiting.setdefault(key(row, row["digest"]), deque()).append(row)
        for place in open_places:
            if same := waiting.get(key(wanted[place], digests[place])):
                pairs[place] = same.popleft()
        left = [row for rows in waiting.values() for row in rows]
        open_places = [place for place in open_places if place not in pairs]
    replaced = []
    for place, old in pairs.items():
        same_text = old["digest"] == digests[place]
        row = {**wanted[place], "id": old["id"]}
        if not same_text or any(row[name] != old[name] for name in row.keys() - {"content"}):
            replaced.append({**row, "content": None if same_text else row["content"]})
    return Changes(
        dropped=tuple(row["id"] for row in left),
        replaced=tuple(replaced),
        added=tuple(wanted[place] for place in open_places),
    )


def digest(text: str) -> str:
    """As md5() gives it in the database."""
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


def batches(rows: Sequence[Row]) -> Iterator[str]:
    """The rows as JSON arrays, none of them too long for one statement."""
    held: list[Row] = []
    chars = 0
    for row in rows:
        size = len(row["content"] or "")
        if held and (len(held) >= _BATCH_ROWS or chars + size > _BATCH_CHARS):
            yield json.dumps(held, ensure_ascii=False)
            held, chars = [], 0
        held.append(row)
        chars += size
    if held:
        yield json.dumps(held, ensure_ascii=False)


def storable_path(path: object) -> str:
    """A path as text; bytes of a name that are no text are escaped."""
    text = str(path).encode("utf-8", "backslashreplace").decode()
    return storable(text)
