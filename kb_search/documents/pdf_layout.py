"""From printed lines to reading order: running lines dropped, columns and paragraphs found."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise

from kb_search.documents.cleaning import SYMBOL_BULLETS, clean_line, joined_word
from kb_search.documents.pdf_lines import Line

# Running heads stand in the outer eighth of a page, up to three lines deep.
_MARGIN_SHARE = 0.125
_RUNNING_GAP = 0.8  # times the size of the font, between boxes that touch in running text
_MAX_RUNNING_ROWS = 3
_PAGE_NUMBER = re.compile(
    r"\W*(?:(?:p[áa]g(?:ina)?|page)\.?\s*)?(?:\d{1,4}|[ivxlc]{1,7})"
    r"(?:\s*(?:de|of|/|-)\s*\d{1,4})?\W*",
    re.IGNORECASE,
)
_END_NUMBERS = re.compile(r"^\d{1,4}(?=\D|$)|(?<!\d)\d{1,4}$|(?<=\D)\d{1,4}(?= (?:de|of) \d+$)")
_BULLET = re.compile(rf"(?:[•▪■●○◦‣·–—*{SYMBOL_BULLETS}-]|\d{{1,3}}[.)]|[a-zA-Z][.)])\s")
_LEADER_DOTS = re.compile(r"(?:[.·…_]\s?){4,}\s*(?:\d+|[ivxlc]+)$", re.IGNORECASE)
HYPHENS = ("-", "\u00ad", "\u2010")
_NUMERALS = frozenset("0123456789ivxlc")
_MAX_BLOCKS = 200  # a page of more pieces than that is a table or a drawing
_LOOSE_LEADING = 1.45


def without_running_lines(
    pages: Sequence[list[Line]], heights: Sequence[float]
) -> list[list[Line]]:
    """The pages without the heads, feet and page numbers that run through them.

    A line in the margin goes when the same text stands at the same height on three pages (on
    both of two), or when a number at either end of it counts the pages along: there, the text
    may change with the chapter, but a font larger than the text's marks a heading.
    """
    margins = [
        [*_outermost(lines, height, top=True), *_outermost(lines, height, top=False)]
        for lines, height in zip(pages, heights, strict=True)
    ]
    seen: dict[tuple[str | int, int], set[int]] = defaultdict(set)
    for line in chain.from_iterable(margins):
        for key in _running_keys(line):
            seen[key].add(line.page)
    needed = 3 if len(pages) > 2 else 2
    largest = _body_size(pages) * 1.05
    kept = []
    for lines, margin in zip(pages, margins, strict=True):
        dropped = {
            id(line)
            for line in margin
            if _runs(line, seen, needed, largest)
            or (_PAGE_NUMBER.fullmatch(line.text) and _alone(line, lines))
        }
        kept.append([line for line in lines if id(line) not in dropped] if dropped else lines)
    return kept


def _outermost(lines: Sequence[Line], height: float, *, top: bool) -> list[Line]:
    """The lines at one edge of a page that a gap parts from the text, at most three deep."""
    limit = height * _MARGIN_SHARE
    found: list[tuple[float, float, Line]] = []  # from the edge: where it begins, where it ends
    nearest = float("inf")
    for line in lines:
        begin, end = (height - line.top, height - line.bottom) if top else (line.bottom, line.top)
        if begin < limit:
            found.append((begin, end, line))
        else:
            nearest = min(nearest, begin)
    found.sort(key=lambda entry: entry[0])
    reach = float("-inf")
    rows = 0
    for at, (begin, end, line) in enumerate(found):
        if at and begin - reach >= line.size * _RUNNING_GAP:
            return [entry[2] for entry in found[:at]]
        rows += begin >= reach - 1
        if rows > _MAX_RUNNING_ROWS:
            return []
        reach = max(reach, end)
    if found and nearest - reach < found[-1][2].size * _RUNNING_GAP:
        return []  # this runs on into the text
    return [entry[2] for entry in found]


def _body_size(pages: Sequence[list[Line]]) -> float:
    sizes = Counter[float]()
    for line in chain.from_iterable(pages):
        sizes[line.size] += len(line.text)
    return max(sizes, key=lambda size: sizes[size], default=0.0)


def _running_keys(line: Line) -> Iterator[tuple[str | int, int]]:
    """The text, and how far each number at its ends is from the page's, with the height."""
    step = round(line.bottom / 4)
    yield line.text, step
    for found in _END_NUMBERS.finditer(line.text):
        yield int(found[0]) - line.page, step


def _runs(
    line: Line, seen: dict[tuple[str | int, int], set[int]], needed: int, largest: float
) -> bool:
    for key, step in _running_keys(line):
        if isinstance(key, int) and line.size > largest:
            continue
        # The rounding of the height may fall to either side.
        steps = (step - 1, step, step + 1)
        if len(set().union(*(seen.get((key, near), ()) for near in steps))) >= needed:
            return True
    return False


def _alone(line: Line, lines: Iterable[Line]) -> bool:
    """Nothing lies further out on the page: a figure at the end of a table is no page number."""
    others = [other for other in lines if other is not line]
    if not others:
        return False
    return all(other.bottom >= line.top for other in others) or all(
        other.top <= line.bottom for other in others
    )


def in_contents(line: Line) -> bool:
    """Whether this is a line of a printed table of contents: a title, dots and a page number."""
    text = line.text
    return text[-1:].lower() in _NUMERALS and bool(_LEADER_DOTS.search(text))


def in_reading_order(lines: list[Line]) -> list[Line]:
    """The lines of one page as they are read.

    Pages are drawn in reading order almost always. Only where a line is drawn after one that
    stands below it in the same column, the blocks are put in order anew.
    """
    if any(not line.upright for line in lines):
        upright = [line for line in lines if line.upright]
        if len(upright) < len(lines) * 0.8:
            return lines
        lines = upright  # what is written along the margin is a stamp, not text
    blocks = _blocks(lines)
    if len(blocks) < 2 or len(blocks) > _MAX_BLOCKS or not _drawn_upwards(blocks):
        return lines
    return [line for block in _ordered(blocks) for line in block.lines]


@dataclass(slots=True)
class _Block:
    """Lines that go down the page in one column, with the box round them."""

    lines: list[Line]
    left: float
    bottom: float
    right: float
    top: float


def _blocks(lines: Iterable[Line]) -> list[_Block]:
    blocks: list[_Block] = []
    before: Line | None = None
    for line in lines:
        if (
            before
            and line.bottom <= before.bottom + 1
            and min(line.right, before.right) > max(line.left, before.left)
        ):
            block = blocks[-1]
            block.lines.append(line)
            block.left = min(block.left, line.left)
            block.right = max(block.right, line.right)
            block.bottom = line.bottom
        else:
            blocks.append(_Block([line], line.left, line.bottom, line.right, line.top))
        before = line
    return blocks


def _drawn_upwards(blocks: Sequence[_Block]) -> bool:
    """Whether a block was drawn before one that stands wholly above it in the same column."""
    for at, late in enumerate(blocks):
        floor, left, right = late.bottom + 1, late.left, late.right
        for early in blocks[:at]:
            if early.top <= floor and early.left < right and left < early.right:
                return True
    return False


def _ordered(blocks: list[_Block]) -> list[_Block]:
    """Recursive cuts: across the page where a gap runs through it, else between columns."""
    if len(blocks) < 2:
        return blocks
    for spans in (
        [(-block.top, -block.bottom) for block in blocks],
        [(block.left, block.right) for block in blocks],
    ):
        parts = _split(blocks, spans)
        if len(parts) > 1:
            return [block for part in parts for block in _ordered(part)]
    return sorted(blocks, key=lambda block: -block.top)


def _split(blocks: list[_Block], spans: list[tuple[float, float]]) -> list[list[_Block]]:
    groups: list[list[_Block]] = []
    reach = float("-inf")
    for span, block in sorted(zip(spans, blocks, strict=True), key=lambda pair: pair[0]):
        if span[0] >= reach - 1:
            groups.append([])
        groups[-1].append(block)
        reach = max(reach, span[1])
    return groups


def paragraphs(lines: Sequence[Line], words: set[str]) -> Iterator[str]:
    """The paragraphs of consecutive body lines; words cut at a line end are made whole."""
    held: list[Line] = []
    for line in lines:
        if held and _starts_paragraph(held[-1], line):
            yield _joined(held, words)
            held = []
        held.append(line)
    if held:
        yield _joined(held, words)


def _starts_paragraph(before: Line, line: Line) -> bool:
    if before.hyphen:
        return False
    if line.page != before.page or line.bottom > before.top:  # a new page or column
        return before.text[-1:] in ".:;!?»”" or bool(_BULLET.match(line.text))
    gap = before.bottom - line.bottom
    return gap > max(before.size, line.size) * _LOOSE_LEADING or abs(before.size - line.size) > 1


def _joined(lines: list[Line], words: set[str]) -> str:
    width = max(line.right for line in lines) - min(line.left for line in lines)
    margin = max(line.right for line in lines)
    text = lines[0].text
    for before, line in pairwise(lines):
        whole = _made_whole(text, line.text, before.hyphen, words)
        if whole is not None:
            text = whole
        elif _BULLET.match(line.text) or (
            line.page == before.page and margin - before.right > width * 0.25
        ):
            text = f"{text}\n{line.text}"
        else:
            text = f"{text} {line.text}"
    if "\n" not in text:
        return clean_line(text)
    return "\n".join(clean_line(part) for part in text.split("\n"))


def _made_whole(text: str, following: str, hyphen: bool, words: set[str]) -> str | None:
    if text.endswith(HYPHENS):
        text, hyphen = text[:-1], True
    if not hyphen:
        return None
    first, _, rest = following.partition(" ")
    head, blank, last = text.rpartition(" ")
    whole = joined_word(last, first, words) or f"{last}-{first}"
    return f"{head}{blank}{whole} {rest}".rstrip()
