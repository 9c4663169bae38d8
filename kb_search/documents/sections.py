"""From headings and paragraphs, in reading order, to sections."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from kb_search.documents.cleaning import clean_line
from kb_search.documents.model import Section

# A section of about three pages is still one unit of retrieval; only what is longer is cut.
MAX_SECTION_CHARS = 8_000
_MAX_HEADING_CHARS = 300
_SENTENCE_END = re.compile(r"(?<=[.!?…:;])\s+")


@dataclass
class _Open:
    path: tuple[str, ...]
    level: int
    paragraphs: list[str] = field(default_factory=list)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    aliases: tuple[str, ...] = ()


class SectionBuilder:
    """Takes headings and paragraphs as they come and keeps the path of headings."""

    def __init__(self, *, max_chars: int = MAX_SECTION_CHARS) -> None:
        self._max_chars = max_chars
        self._stack: list[tuple[int, str]] = []
        self._sections = [_Open(path=(), level=0)]

    def heading(
        self,
        level: int,
        text: str,
        *,
        metadata: Mapping[str, Any] | None = None,
        aliases: tuple[str, ...] = (),
    ) -> None:
        """Open a section; a blank heading opens none, an endless one is a paragraph."""
        title = clean_line(text)
        if not title:
            return
        if len(title) > _MAX_HEADING_CHARS:
            self.paragraph(title)
            return
        while self._stack and self._stack[-1][0] >= level:
            self._stack.pop()
        self._stack.append((level, title))
        path = tuple(name for _, name in self._stack)
        self._sections.append(
            _Open(path=path, level=level, metadata=metadata or {}, aliases=aliases)
        )

    def paragraph(self, text: str) -> None:
        """Add a paragraph (already clean) to the open section."""
        if text.strip():
            self._sections[-1].paragraphs.append(text)

    @property
    def top_heading(self) -> str | None:
        """The one heading that all others stand below, where there is one."""
        if len(self._sections) < 2:
            return None
        first, *others = self._sections[1:]
        return first.path[0] if all(other.level > first.level for other in others) else None

    def _says_nothing(self, preface: _Open, title: str) -> bool:
        """Whether nothing stands before the first heading, or the title alone."""
        repeated = preface.paragraphs == [title] and len(self._sections) > 1
        return repeated or not preface.paragraphs

    def build(self, title: str) -> tuple[Section, ...]:
        """The sections in order; what came before the first heading goes under `title`."""
        found: list[Section] = []
        for section in self._sections:
            if section.level == 0 and self._says_nothing(section, title):
                continue
            texts = list(cut(section.paragraphs, max_chars=self._max_chars)) or [""]
            for number, text in enumerate(texts, start=1):
                found.append(
                    Section(
                        heading_path=section.path or (title,),
                        text=text,
                        level=section.level,
                        position=len(found),
                        part=number if len(texts) > 1 else None,
                        parts=len(texts) if len(texts) > 1 else None,
                        metadata=section.metadata,
                        aliases=section.aliases,
                    )
                )
        return tuple(found)


def cut(paragraphs: list[str], *, max_chars: int) -> Iterator[str]:
    """The paragraphs joined, in as few texts of about equal length as `max_chars` allows."""
    total = sum(len(paragraph) + 2 for paragraph in paragraphs) - 2
    if total <= max_chars:
        if paragraphs:
            yield "\n\n".join(paragraphs)
        return
    target = total / math.ceil(total / max_chars)
    held: list[str] = []
    length = 0
    for piece in _pieces(paragraphs, max_chars):
        after = length + len(piece) + 2
        if held and (after > max_chars or after - target > target - length):
            yield "\n\n".join(held)
            held, length = [], 0
        held.append(piece)
        length += len(piece) + 2
    yield "\n\n".join(held)


def _pieces(paragraphs: list[str], max_chars: int) -> Iterator[str]:
    """The paragraphs; one that is itself too long is cut at lines, sentences, words, anywhere."""
    for paragraph in paragraphs:
        rest = paragraph
        while len(rest) > max_chars:
            at = _cut_point(rest, max_chars)
            yield rest[:at].rstrip()
            rest = rest[at:].lstrip()
        if rest:
            yield rest


def _cut_point(text: str, max_chars: int) -> int:
    line_end = text.rfind("\n", max_chars // 2, max_chars)
    if line_end > 0:
        return line_end
    ends = [found.end() for found in _SENTENCE_END.finditer(text, max_chars // 2, max_chars)]
    if ends:
        return ends[-1]
    blank = text.rfind(" ", max_chars // 2, max_chars)
    return blank if blank > 0 else max_chars
