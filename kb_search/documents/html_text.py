"""From an HTML tree to headings and paragraphs, in the order of the page."""

from __future__ import annotations

from typing import Any

from lxml import etree

from kb_search.documents.cleaning import clean_block, clean_line
from kb_search.documents.sections import SectionBuilder

_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_INLINE = frozenset(
    [
        "a",
        "abbr",
        "acronym",
        "b",
        "bdi",
        "bdo",
        "big",
        "cite",
        "code",
        "data",
        "del",
        "dfn",
        "em",
        "font",
        "i",
        "img",
        "ins",
        "kbd",
        "label",
        "mark",
        "math",
        "meter",
        "output",
        "progress",
        "q",
        "rp",
        "rt",
        "ruby",
        "s",
        "samp",
        "small",
        "span",
        "strike",
        "strong",
        "sub",
        "sup",
        "time",
        "tt",
        "u",
        "var",
        "wbr",
    ]
)
_GROUPS = frozenset({"ul", "ol", "table", "dl"})
_CELLS = frozenset({"td", "th"})
_NOWHERE = "\0"  # stands for a line break until blanks have been folded


class HtmlText:
    """Hands the headings and paragraphs of a tree to a builder.

    Items of a list and rows of a table are lines of one paragraph. With `keep_links` the
    address of an absolute link follows its text in brackets.
    """

    def __init__(self, builder: SectionBuilder, *, keep_links: bool = False) -> None:
        self._builder = builder
        self._keep_links = keep_links
        self._pieces: list[str] = []
        self._group: list[str] = []
        self._cells: list[str] = []
        self._depth = 0
        self._preformatted = 0
        self._in_row = False
        self._prefix = ""
        self.h1s: list[str] = []

    def walk(self, root: Any) -> None:
        # Events, not recursion: a page may nest thousands of elements.
        for event, element in etree.iterwalk(root, events=("start", "end")):
            if not isinstance(element.tag, str):
                if event == "end":
                    self._pieces.append(element.tail or "")
            elif event == "start":
                self._start(element)
                self._pieces.append(element.text or "")
            else:
                self._end(element)
                self._pieces.append(element.tail or "")
        self._flush()
        self._end_group()

    def _start(self, element: Any) -> None:
        tag = element.tag
        if tag == "br":
            self._pieces.append(_NOWHERE)
        elif tag == "img":
            if element.getparent() is not None and element.getparent().tag != "a":
                self._pieces.append(element.get("alt", ""))
        elif tag in _INLINE:
            return
        elif self._in_row:
            self._pieces.append(" ")
        else:
            self._start_block(tag)

    def _start_block(self, tag: str) -> None:
        self._flush()
        if tag in _HEADINGS:
            self._end_group()
        elif tag in _GROUPS:
            if self._depth == 0:
                self._end_group()
            self._depth += 1
        elif tag == "li":
            self._prefix = f"{'  ' * max(self._depth - 1, 0)}- "
        elif tag == "pre":
            self._preformatted += 1
        elif tag == "tr":
            self._in_row = True
            self._cells = []

    def _end(self, element: Any) -> None:
        tag = element.tag
        if tag == "a":
            self._end_link(element)
        elif tag in _INLINE or tag == "br":
            return
        elif self._in_row:
            self._end_in_row(tag)
        elif tag in _HEADINGS:
            self._end_heading(_HEADINGS[tag])
        else:
            self._flush()
            self._prefix = "" if tag == "li" else self._prefix
            if tag == "pre":
                self._preformatted = max(self._preformatted - 1, 0)
            elif tag in _GROUPS:
                self._depth = max(self._depth - 1, 0)
                if self._depth == 0:
                    self._end_group()

    def _end_link(self, element: Any) -> None:
        target = element.get("href", "")
        if self._keep_links and target.startswith(("http://", "https://", "mailto:")):
            text = clean_line("".join(element.itertext()))
            if text and text not in target:
                self._pieces.append(f" ({target.removeprefix('mailto:')})")

    def _end_in_row(self, tag: str) -> None:
        if tag in _CELLS:
            self._cells.append(self._taken())
        elif tag == "tr":
            self._in_row = False
            self._pieces = []
            line = " | ".join(self._cells).strip(" |")
            if line:
                self._group.append(line)
        else:
            self._pieces.append(" ")

    def _end_heading(self, level: int) -> None:
        text = self._taken()
        if level == 1 and text:
            self.h1s.append(text)
        self._builder.heading(level, text)

    def _taken(self) -> str:
        text = "".join(self._pieces).replace(_NOWHERE, " ")
        self._pieces = []
        return clean_line(text)

    def _flush(self) -> None:
        text = "".join(self._pieces)
        self._pieces = []
        if not text or text.isspace():
            return
        if self._preformatted:
            text = clean_block(text.replace(_NOWHERE, "\n"))
        else:
            lines = (clean_line(line) for line in text.split(_NOWHERE))
            text = "\n".join(line for line in lines if line)
        if not text:
            return
        if self._depth:
            self._group.append(f"{self._prefix}{text}")
            self._prefix = " " * len(self._prefix)
        else:
            self._builder.paragraph(text)

    def _end_group(self) -> None:
        if self._group:
            self._builder.paragraph("\n".join(self._group))
            self._group = []
