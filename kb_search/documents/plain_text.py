"""Plain text: headings are underlined lines, else numbered or capital ones that stand alone."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kb_search.documents.cleaning import clean_block, clean_line, join_hyphens, words_of
from kb_search.documents.model import Document
from kb_search.documents.sections import SectionBuilder

_RULE = re.compile(r"([=\-~^\"'*+#`:._])\1{2,}")
_NUMBERED = re.compile(r"(\d{1,2}(?:\.\d{1,2}){0,4})[.)]?\s+[^\W\d_].{1,78}")
_SENTENCE_END = (".", ",", ";", ":", "!", "?")
_MAX_HEADING = 100

# The line number of a heading: how many lines it takes, its level, its text.
Headings = dict[int, tuple[int, int, str]]


def read_plain_text(_data: bytes, text: str, name: str, max_section_chars: int) -> Document:
    """A section for each heading that the text marks as one; else the whole text is one."""
    text = clean_block(text)
    if "-\n" in text or "\u2010\n" in text:
        text = join_hyphens(text, words_of(text))
    lines = text.split("\n")
    headings = _underlined(lines) or _standing_alone(lines)
    builder = SectionBuilder(max_chars=max_section_chars)
    held: list[str] = []
    at = 0
    while at < len(lines):
        taken, level, title = headings.get(at, (0, 0, ""))
        if taken or not lines[at].strip():
            builder.paragraph("\n".join(held))
            held = []
            if taken:
                builder.heading(level, title)
        else:
            held.append(lines[at])
        at += taken or 1
    builder.paragraph("\n".join(held))
    title = builder.top_heading or name
    return Document(title=title, mime="", sections=builder.build(title))


def _underlined(lines: Sequence[str]) -> Headings:
    """Headings as reStructuredText has them; levels go by the first use of each kind of rule."""
    found: Headings = {}
    levels: dict[tuple[str, bool], int] = {}
    at = 0
    while at < len(lines) - 1:
        over = bool(_RULE.fullmatch(lines[at].rstrip())) and at + 2 < len(lines)
        over = over and lines[at].rstrip() == lines[at + 2].rstrip()
        title, rule = lines[at + over], lines[at + over + 1].rstrip()
        alone = at == 0 or not lines[at - 1].strip()
        if alone and _RULE.fullmatch(rule) and _fits(title, rule, over=over):
            level = levels.setdefault((rule[0], over), len(levels) + 1)
            found[at] = (3 if over else 2, level, clean_line(title))
            at += 3 if over else 2
        else:
            at += 1
    return found


def _fits(title: str, rule: str, *, over: bool) -> bool:
    text = title.strip()
    if not text or len(text) > _MAX_HEADING or _RULE.fullmatch(text):
        return False
    if not over and title[0].isspace():
        return False
    longest = len(title.rstrip()) + (60 if over else 12)
    return len(text) - 2 <= len(rule) <= longest and any(map(str.isalnum, text))


def _standing_alone(lines: Sequence[str]) -> Headings:
    """Lines between empty lines that are numbered or in capitals, where most head some text."""
    found: Headings = {}
    for at, line in enumerate(lines):
        level = _level_alone(line.strip())
        if level and _is_blank(lines, at - 1) and _is_blank(lines, at + 1):
            found[at] = (1, level, clean_line(line))
    heading_text = 0
    for at in found:
        following = next((n for n in range(at + 1, len(lines)) if lines[n].strip()), None)
        heading_text += following is not None and following not in found
    return found if heading_text >= 2 and heading_text * 2 >= len(found) else {}


def _is_blank(lines: Sequence[str], at: int) -> bool:
    return not 0 <= at < len(lines) or not lines[at].strip()


def _level_alone(text: str) -> int:
    if not 3 < len(text) <= _MAX_HEADING or text.endswith(_SENTENCE_END):
        return 0
    numbered = _NUMBERED.fullmatch(text)
    if numbered:
        return numbered[1].removesuffix(".0").count(".") + 1
    letters = sum(map(str.isalpha, text))
    return 1 if text.isupper() and letters >= 4 and letters > len(text) * 0.6 else 0
