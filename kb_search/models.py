"""The values that go in and come out: entries, hits and search results."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Layer = Literal["fts", "typo", "semantic", "hybrid", "fallback"]
Mode = Literal["auto", "lexical", "semantic", "hybrid"]
Syntax = Literal["plain", "web"]

# Characters of a section's name: with the collection's it must fit into a row of an index.
MOST_SECTION_CHARS = 400


@dataclass(frozen=True, kw_only=True)
class Entry:
    """What a person curates: one answer, and the ways to ask for it.

    `aliases` are other ways to ask; `tags` are short labels; `metadata` is a JSON object;
    `source` says where the text comes from (a URL, a file, an id).
    """

    section: str
    title: str
    content: str
    aliases: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    source: str | None = None


@dataclass(frozen=True, kw_only=True)
class StoredEntry(Entry):
    """An entry as the database holds it.

    `updated_at` is ISO 8601 with the offset; `position` counts from 0 inside a document or a
    fixed section; `document_id` is None for a curated entry.
    """

    id: int
    collection: str
    document_id: int | None
    heading_path: tuple[str, ...]
    position: int | None
    updated_at: str


@dataclass(frozen=True, kw_only=True)
class WriteReport:
    """What a write did: the ids in the order of the entries given, and counts of rows."""

    ids: tuple[int, ...]
    added: int
    updated: int
    unchanged: int


@dataclass(frozen=True, kw_only=True)
class Synonym:
    """Asking with `phrase` also asks with `synonym`; the reverse too where `both_ways`."""

    collection: str
    phrase: str
    synonym: str
    both_ways: bool


@dataclass(frozen=True, kw_only=True)
class CollectionStats:
    """The size of one collection; `stems` and `words` are different ones, `updated_at` ISO 8601."""

    collection: str
    entries: int
    sections: Mapping[str, int]
    documents: int
    content_words: int
    stems: int
    words: int
    synonyms: int
    updated_at: str | None


@dataclass(frozen=True, kw_only=True)
class UnansweredGroup:
    """Questions that ask nearly the same and were not answered confidently.

    `questions` are their spellings, the most asked first, empty where only digests were kept;
    `times` is how often they were asked, `confidence` (0..1) the highest of any answer,
    `last_asked` ISO 8601.
    """

    questions: tuple[str, ...]
    digests: tuple[str, ...]
    times: int
    confidence: float
    last_asked: str


@dataclass(frozen=True, kw_only=True)
class Check:
    """One finding of the doctor: what was looked at, how it is, what to do."""

    name: str
    level: Literal["ok", "warning", "error"]
    message: str

    @property
    def ok(self) -> bool:
        return self.level != "error"


@dataclass(frozen=True, kw_only=True)
class RebuildReport:
    """What a rebuild made again: rows of entries, and the fingerprint they now have."""

    entries: int
    analysis: str


@dataclass(frozen=True, kw_only=True)
class TermTrace:
    """One word of the question under `explain=True`.

    `entries` is how many entries of the collection hold it, `weight` its rarity (idf, no unit),
    `lexemes` are its
    stems; `corrected_to` and `synonyms` are the words of the collection looked for in its place or
    beside it; `share` is its part (0..1) of what the first hit's total is made of.
    """

    word: str
    lexemes: tuple[str, ...]
    entries: int
    weight: float
    corrected_to: tuple[str, ...]
    synonyms: tuple[str, ...]
    share: float


@dataclass(frozen=True, kw_only=True)
class Hit:
    """An entry that was found, and why.

    `score` is 0..1, comparable inside one collection, None for a fixed row. `highlights` are
    (start, end) offsets into `snippet` in Python characters, end excluded, ascending, disjoint.
    """

    id: int
    collection: str
    section: str
    title: str
    content: str
    tags: tuple[str, ...]
    metadata: Mapping[str, Any]
    score: float | None
    matched_on: str
    snippet: str
    highlights: tuple[tuple[int, int], ...]
    layer: Layer
    source: str | None
    document_id: int | None
    heading_path: tuple[str, ...]
    position: int | None

    def snippet_html(self, *, tag: str = "mark") -> str:
        """The snippet as HTML: everything escaped first, then the highlights marked."""
        pieces: list[str] = []
        at = 0
        for start, end in self.highlights:
            pieces.append(html.escape(self.snippet[at:start]))
            pieces.append(f"<{tag}>{html.escape(self.snippet[start:end])}</{tag}>")
            at = end
        pieces.append(html.escape(self.snippet[at:]))
        return "".join(pieces)


@dataclass(frozen=True, kw_only=True)
class DocumentInfo:
    """A file that was taken in.

    `source` names it inside its collection, `path` is where it was read last; `sections` and
    `content_words` are counts; `tagged` is False while it waits for a model's tags.
    """

    id: int
    collection: str
    source: str
    path: str
    title: str
    mime: str
    sha256: str
    tags: tuple[str, ...]
    summary: str | None
    metadata: Mapping[str, Any]
    sections: int
    content_words: int
    tagged: bool
    updated_at: str


@dataclass(frozen=True, kw_only=True)
class SearchResult:
    """What one search found.

    `hits` come best first, the fixed rows (layer `fallback`) last. `confidence` is the
    probability (0..1) that the first hit answers. `corrections` maps words as typed to the words
    used. `degraded` gives short reasons why the answer is poorer than it could be. `truncated`
    says that the question was cut. `explanation` is empty unless asked for. `documents` lists the
    API descriptions that answer about equally well where the question names none of them, best
    first; the hits are then the best operation of each.
    """

    query: str
    layer: Layer
    hits: tuple[Hit, ...]
    confident: bool
    confidence: float
    corrections: Mapping[str, str]
    degraded: tuple[str, ...]
    truncated: bool
    took_ms: float
    explanation: tuple[TermTrace, ...] = ()
    documents: tuple[DocumentInfo, ...] = ()

    def to_context(self, *, max_chars: int = 6000) -> str:
        """Numbered, citable grounding text of at most `max_chars` characters, in Spanish.

        Raises:
            QueryError: `max_chars` is below 1000.
        """
        from kb_search.grounding import grounding_text

        return grounding_text(self, max_chars=max_chars)


def as_tuple(values: Sequence[Any] | None) -> tuple[str, ...]:
    """The texts of a database array, None as empty.

    What plain SQL may put into one is no text: a NULL is left out, rows of a matrix are joined.
    """
    if values is None:
        return ()
    if any(isinstance(value, list) for value in values):
        return tuple(text for value in values for text in as_tuple(value))
    return tuple(value for value in values if value is not None)
