"""The texts of an entry that get a vector each."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from kb_search.models import as_tuple

# A content up to this many characters stays whole; a longer one is cut into passages of about
# _PASSAGE characters at the ends of paragraphs or sentences. Small models read some 500 tokens.
_WHOLE = 1_600
_PASSAGE = 1_000
# A longer alias, or a content of more passages, is represented by its beginning.
_LONGEST = 4_000
_MOST_PASSAGES = 400

_BREAKS = re.compile(r"\n\s*\n|\n|(?<=[.!?…:;])\s+|\s+")


if TYPE_CHECKING:
    from kb_search.semantic.embedders import Kind


class Fields(Protocol):
    """A row or a mapping with the fields of an entry."""

    def __getitem__(self, name: str, /) -> Any: ...


@dataclass(frozen=True)
class Part:
    """A text and what it is of its entry: `title`, `content` or `alias`."""

    part: str
    text: str

    @property
    def kind(self) -> Kind:
        """How it is embedded: an alias is a question, found by questions like it."""
        return "query" if self.part == "alias" else "passage"

    @property
    def digest(self) -> str:
        """What the database's md5() gives for the text."""
        return hashlib.md5(self.text.encode(), usedforsecurity=False).hexdigest()


def parts_of(entry: Fields) -> list[Part]:
    """The parts of an entry (title, heading_path, aliases, content), each text once.

    A content that is not cut has a vector with its title and one without.
    """
    title = entry["title"].strip()
    headings = as_tuple(entry["heading_path"])
    named = " > ".join([*headings, title]) if headings else title
    parts = [Part("title", title)] if title else []
    content = entry["content"].strip()
    pieces = passages(content)
    if named:
        parts += [Part("content", f"{named}\n{piece}") for piece in pieces]
    if len(pieces) == 1 or not named:
        parts += [Part("content", piece) for piece in pieces]
    # only blanks are cut off, as the database's btrim() does
    aliases = as_tuple(entry["aliases"])
    parts += [Part("alias", alias.strip(" ")[:_LONGEST]) for alias in aliases if alias.strip()]
    return list({part.text: part for part in reversed(parts)}.values())[::-1]


def passages(content: str) -> list[str]:
    """The content in pieces, in order: one where it is short, none where it is empty."""
    if len(content) <= _WHOLE:
        return [content] if content else []
    pieces: list[str] = []
    start = 0
    while start < len(content) and len(pieces) < _MOST_PASSAGES:
        end = _end(content, start)
        if piece := content[start:end].strip():
            pieces.append(piece)
        start = end
    return pieces


def _end(content: str, start: int) -> int:
    if len(content) - start <= _PASSAGE * 5 // 4:
        return len(content)
    # the strongest break in the second half, and of those the last
    window = range(start + _PASSAGE // 2, start + _PASSAGE)
    best, strength = window.stop, -1
    for found in _BREAKS.finditer(content, window.start, window.stop):
        weight = _strength(found.group(), content[found.start() - 1])
        if weight >= strength:
            best, strength = found.end(), weight
    return best


def _strength(gap: str, before: str) -> int:
    if "\n" in gap:
        return 3 if gap.count("\n") > 1 else 2
    return 1 if before in ".!?…:;" else 0
