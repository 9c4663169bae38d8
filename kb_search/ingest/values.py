"""What ingesting and reading back give."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from kb_search.models import DocumentInfo, StoredEntry

Outcome = Literal["added", "replaced", "skipped"]


@dataclass(frozen=True, kw_only=True)
class FailedFile:
    """A file that was not taken in; `reason` is one line for a person."""

    path: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class IngestReport:
    """What a run did, in counts of files.

    `replaced` are files whose text, place or reading changed; `skipped` those kept as they were.
    `notes` say what else went less well than it could, such as a model that did not answer.
    """

    added: int
    replaced: int
    skipped: int
    removed: int
    failed: tuple[FailedFile, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Heading:
    """A heading of a document and those below it.

    `level` is its own level in the file (1 is the outermost). `section_id` is the id of the entry
    that holds the text below it, `position` that entry's place; both None where no text follows
    at once.
    """

    title: str
    level: int
    position: int | None
    section_id: int | None
    children: tuple[Heading, ...]


@dataclass(frozen=True, kw_only=True)
class StoredDocument(DocumentInfo):
    """A document with the tree of its headings, and its whole text unless it was not wanted.

    `text` has the headings as in Markdown, and the sections in the order of the file.
    """

    headings: tuple[Heading, ...]
    text: str | None


@dataclass(frozen=True, kw_only=True)
class SectionView:
    """A section with its document and its neighbours, nearest in the order of the file.

    `schema` is an API operation whole, with all that its references lead to, where asked for.
    """

    section: StoredEntry
    document: DocumentInfo
    before: tuple[StoredEntry, ...]
    after: tuple[StoredEntry, ...]
    schema: Mapping[str, Any] | None = None


@dataclass(frozen=True, kw_only=True)
class CorpusStats:
    """The documents of a collection in numbers.

    `mimes` and `tags` map to counts of documents, the most frequent tags only; `untagged` is how
    many wait for a model's tags; `updated_at` is ISO 8601.
    """

    collection: str
    documents: int
    sections: int
    content_words: int
    untagged: int
    mimes: Mapping[str, int]
    tags: Mapping[str, int]
    updated_at: str | None
