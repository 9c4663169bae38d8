"""From printed lines to reading order: running lines dropped, columns and paragraphs found."""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from kb_search.documents.cleaning import clean_line, joined_word
from kb_search.documents.pdf_lines import Line

# Running heads stand in the outer eighth of a page, up to three lines deep.
_MARGIN_SHARE = 0.125
_PAGE_NUMBER = re.compile(
    r"\W*(?:(?:p[áa]g(?:ina)?|page)\.?\s*)?(?:\d{1,4}|[ivxlc]{1,7})"
    r"(?:\s*(?:de|of|/|-)\s*\d{1,4})?\W*",
    re.IGNORECASE,
)
_DIGITS = re.compile(r"\d+")
_BULLET = re.compile(r"(?:[•▪■●○◦‣·–—*-]|\d{1,3}[.)]|[a-zA-Z][.)])\s")
_LEADER_DOTS = re.compile(r"(?:[.·…_]\s?){4,}\s*(?:\d+|[ivxlc]+)$", re.IGNORECASE)
_LOOSE_LEADING = 1.45


def without_running_lines(
    pages: Sequence[list[Line]], heights: Sequence[float]
) -> list[list[Line]]:
    """The pages without the heads, feet and page numbers that run through them.

    A line in the margin goes when the same text, figures aside, stands at the same height on
    three pages (on both of two).
    """
    seen: dict[tuple[str, int], set[int]] = defaultdict(set)
    for lines, height in zip(pages, heights, strict=True):
        for line in lines:
            if _in_margin(line, height):
                seen[_running_key(line)].add(line.page)
    needed = 3 if len(pages) > 2 else 2
    kept = []
    for lines, height in zip(pages, heights, strict=True):
        kept.append(
            [
                line
                for line in lines
                if not (
                    _in_margin(line, height)
                    and (
                        _times(seen, line) >= needed
                        or (_PAGE_NUMBER.fullmatch(line.text) and _alone(line, lines))
                    )
                )
            ]
        )
    return kept


def _in_margin(line: Line, height: float) -> bool:
    return line.bottom < height * _MARGIN_SHARE or line.top > height * (1 - _MARGIN_SHARE)


def _running_key(line: Line) -> tuple[str, int]:
    return _DIGITS.sub("#", line.text.casefold()), round(line.bottom / 4)


def _times(seen: dict[tuple[str, int], set[int]], line: Line) -> int:
    """On how many pages the line stands; the rounding of its height may fall to either side."""
    text, step = _running_key(line)
    pages: set[int] = set()
    for near in (step - 1, step, step + 1):
        pages |= seen.get((text, near), set())
    return len(pages)


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
    return bool(_LEADER_DOTS.search(line.text))


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
    if not any(
        _beside_or_below(early, late) for at, late in enumerate(blocks) for early in blocks[:at]
    ):
        return lines
    return [line for block in _ordered(blocks) for line in block]


def _blocks(lines: Iterable[Line]) -> list[list[Line]]:
    """Runs of lines that go down the page in one column."""
    blocks: list[list[Line]] = []
    for line in lines:
        before = blocks[-1][-1] if blocks else None
        if before and line.bottom <= before.bottom + 1 and _overlap(line, before):
            blocks[-1].append(line)
        else:
            blocks.append([line])
    return blocks


def _overlap(one: Line, other: Line) -> bool:
    return min(one.right, other.right) - max(one.left, other.left) > 0


def _beside_or_below(early: list[Line], late: list[Line]) -> bool:
    """Whether the block drawn first stands wholly below the later one, in its column."""
    return (
        max(line.top for line in early) <= min(line.bottom for line in late) + 1
        and _left(early) < _right(late)
        and _left(late) < _right(early)
    )


def _left(block: list[Line]) -> float:
    return min(line.left for line in block)


def _right(block: list[Line]) -> float:
    return max(line.right for line in block)


def _ordered(blocks: list[list[Line]]) -> list[list[Line]]:
    """Recursive cuts: across the page where a gap runs through it, else between columns."""
    if len(blocks) < 2:
        return blocks
    spans = [(-max(n.top for n in b), -min(n.bottom for n in b)) for b in blocks]
    rows = _split(blocks, spans)
    if len(rows) > 1:
        return [block for row in rows for block in _ordered(row)]
    columns = _split(blocks, [(_left(block), _right(block)) for block in blocks])
    if len(columns) > 1:
        return [block for column in columns for block in _ordered(column)]
    return sorted(blocks, key=lambda block: -max(line.top for line in block))


def _split(blocks: list[list[Line]], spans: list[tuple[float, float]]) -> list[list[list[Line]]]:
    groups: list[list[list[Line]]] = []
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
    for before, line in itertools.pairwise(lines):
        whole = _made_whole(text, line.text, before.hyphen, words)
        if whole is not None:
            text = whole
        elif _BULLET.match(line.text) or (
            line.page == before.page and margin - before.right > width * 0.25
        ):
            text = f"{text}\n{line.text}"
        else:
            text = f"{text} {line.text}"
    return "\n".join(clean_line(part) for part in text.split("\n"))


def _made_whole(text: str, following: str, hyphen: bool, words: set[str]) -> str | None:
    if text.endswith(("-", "\u00ad", "\u2010")):
        text, hyphen = text[:-1], True
    if not hyphen:
        return None
    first, _, rest = following.partition(" ")
    head, blank, last = text.rpartition(" ")
    whole = joined_word(last, first, words) or f"{last}-{first}"
    return f"{head}{blank}{whole} {rest}".rstrip()
