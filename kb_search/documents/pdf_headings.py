"""Which lines of a PDF are headings, and of which level: by its outline, else by its fonts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

import pypdfium2 as pdfium

from kb_search.documents.cleaning import clean_line
from kb_search.documents.pdf_lines import Line

_NUMBERING = re.compile(
    r"^(?:(?:cap[íi]tulo|chapter|ap[ée]ndice|appendix|anexo|parte|part)\s+)?"
    r"(?:[\divxlc]+|[a-z])(?:\.\d+)*[.):]?\s+",
    re.IGNORECASE,
)
_NOT_WORD = re.compile(r"\W+")
_SENTENCE_END = (".", ",", ";")
_MAX_NUMBERING = 24  # letters of "Apéndice XXXVIII" and the like
_MAX_HEADING_LINES = 4
_MAX_BOOKMARKS = 20_000
_LARGER = 1.1  # a heading's font is at least a tenth larger than the text's
_MAX_SIZES = 6


@dataclass(frozen=True, slots=True)
class Bookmark:
    """An entry of the outline; `top` is its height on the page in points, where it has one."""

    title: str
    level: int
    page: int
    top: float | None


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading that takes the lines `start` up to `end` (excluded) of the document."""

    start: int
    end: int
    level: int
    text: str


def bookmarks(document: pdfium.PdfDocument) -> list[Bookmark]:
    """The outline in order, levels from 1; entries without title or page are left out."""
    found: list[Bookmark] = []
    for entry in document.get_toc():
        if len(found) == _MAX_BOOKMARKS:
            break
        title = clean_line(entry.get_title() or "")
        target = entry.get_dest()
        page = target.get_index() if target else None
        if not title or page is None:
            continue
        view = target.get_view()[1] if target else []
        top = view[-2] if len(view) in (2, 3) and view[-2] else view[0] if len(view) == 1 else None
        found.append(Bookmark(title, entry.level + 1, page, top))
    return found


def outline_headings(lines: Sequence[Line], outline: Sequence[Bookmark]) -> list[Heading]:
    """The outline's entries found in the text, in order.

    An entry whose title is not printed as such opens its section at the height (or the page)
    that it leads to, and takes no line away.
    """
    first_of_page: dict[int, int] = {}
    for at, line in enumerate(lines):
        first_of_page.setdefault(line.page, at)
    keys = [_key(line.text) for line in lines]
    found: list[Heading] = []
    done = 0
    for mark in outline:
        begin = max(done, first_of_page.get(mark.page, done))
        heading = _printed(lines, keys, mark, begin)
        if heading is None:
            at = _place(lines, mark, begin)
            heading = Heading(at, at, mark.level, mark.title)
        found.append(heading)
        done = max(done, heading.end)
    return found


def _printed(
    lines: Sequence[Line], keys: Sequence[str], mark: Bookmark, begin: int
) -> Heading | None:
    wanted = _key(mark.title)
    bare = _key(_NUMBERING.sub("", mark.title))
    starts: Sequence[int] = range(begin, len(lines))
    if mark.top is not None:  # near where it leads to, and only then anywhere on the page
        top = mark.top
        page = takewhile(lambda at: lines[at].page <= mark.page, starts)
        starts = sorted(page, key=lambda at: abs(lines[at].top - top))
    for start in starts:
        if lines[start].page > mark.page:
            break
        end = _match(lines, keys, start, wanted, bare)
        if end:
            text = " ".join(line.text for line in lines[start:end])
            return Heading(start, end, mark.level, clean_line(_longer(text, mark.title)))
    return None


def _longer(printed: str, title: str) -> str:
    """The printed heading with its number, or the outline's where that one has the number."""
    return title if len(_key(title)) > len(_key(printed)) else printed


def _match(
    lines: Sequence[Line], keys: Sequence[str], start: int, wanted: str, bare: str
) -> int | None:
    """The end of the lines from `start` on that together are the title."""
    key = ""
    for end in range(start + 1, min(start + 1 + _MAX_HEADING_LINES, len(lines) + 1)):
        if lines[end - 1].page != lines[start].page:
            return None
        key += keys[end - 1]
        if key == wanted:
            return end
        if bare and key.endswith(bare):
            text = " ".join(line.text for line in lines[start:end])
            if _key(_NUMBERING.sub("", text)) == bare:
                return end
        if len(key) > len(wanted) + _MAX_NUMBERING:
            return None
    return None


def _place(lines: Sequence[Line], mark: Bookmark, begin: int) -> int:
    for at in range(begin, len(lines)):
        line = lines[at]
        if line.page > mark.page or (
            line.page == mark.page and (mark.top is None or line.bottom < mark.top)
        ):
            return at
    return len(lines)


def _key(text: str) -> str:
    return _NOT_WORD.sub("", text).casefold()


def font_headings(lines: Sequence[Line], known: Sequence[Heading] = ()) -> list[Heading]:
    """The headings that stand out by their font; a larger font is a higher level.

    `known` are headings found by the outline: the fonts then only add what is finer than those,
    below them.
    """
    body, levels = _levels(lines, known)
    taken = {at for heading in known for at in range(heading.start, heading.end)}
    found: list[Heading] = []
    at = 0
    while at < len(lines):
        level = levels.get(lines[at].style)
        if level is None or at in taken:
            at += 1
            continue
        end = at + 1
        while end < len(lines) and end not in taken and _continues(lines[end - 1], lines[end]):
            end += 1
        if _is_heading(lines, at, end, body):
            text = " ".join(line.text for line in lines[at:end])
            found.append(Heading(at, end, level, clean_line(text)))
        at = end
    return found


def _levels(
    lines: Sequence[Line], known: Sequence[Heading]
) -> tuple[tuple[float, bool], dict[tuple[float, bool], int]]:
    """The style of the body text, and the level of each style that stands out from it."""
    sizes = Counter[float]()
    styles = Counter[tuple[float, bool]]()
    for line in lines:
        sizes[line.size] += len(line.text)
        styles[line.style] += len(line.text)
    body_size = sizes.most_common(1)[0][0]
    body = max(((body_size, bold) for bold in (False, True)), key=lambda style: styles[style])
    total = sum(styles.values())
    found = [
        style
        for style, chars in styles.items()
        if chars < total * 0.3 and (style[0] >= body_size * _LARGER or _is_bolder(style, body))
    ]
    base = 0
    if known:
        marked = [lines[h.start].style for h in known if h.end > h.start]
        smallest = min(marked, default=(0.0, False))
        found = [style for style in found if style < smallest]
        base = max(heading.level for heading in known)
    ranks = sorted(found, reverse=True)[: _MAX_SIZES + 2]
    return body, {style: base + rank for rank, style in enumerate(ranks, start=1)}


def _is_bolder(style: tuple[float, bool], body: tuple[float, bool]) -> bool:
    return style[1] and not body[1] and style[0] >= body[0]


def _continues(before: Line, line: Line) -> bool:
    """Whether a heading goes on in the next line: same look, close below."""
    return (
        line.style == before.style
        and line.page == before.page
        and 0 < before.bottom - line.bottom < before.size * 1.6
    )


def _is_heading(lines: Sequence[Line], start: int, end: int, body: tuple[float, bool]) -> bool:
    first, last = lines[start], lines[end - 1]
    text = " ".join(line.text for line in lines[start:end])
    if end - start > _MAX_HEADING_LINES or len(text) > 200 or not any(map(str.isalpha, text)):
        return False
    if first.size >= body[0] * _LARGER:
        return True
    # Bold at the size of the text: only where it stands alone and does not end like a sentence.
    before = lines[start - 1] if start else None
    spaced = (
        before is None
        or before.page != first.page
        or before.bottom - first.bottom > first.size * 1.4
        or before.bottom < first.bottom
    )
    return spaced and end - start <= 2 and not last.text.endswith(_SENTENCE_END)
