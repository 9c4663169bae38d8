"""Text as a reader sees it: ligatures, soft hyphens, odd blanks and control characters undone."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection

_LIGATURES = {
    "\ufb00": "ff",
    "\ufb01": "fi",
    "\ufb02": "fl",
    "\ufb03": "ffi",
    "\ufb04": "ffl",
    "\ufb05": "st",
    "\ufb06": "st",
}
# Soft hyphen, zero-width characters, byte order mark, direction marks, the replacement of a
# broken character; then what Word and PowerPoint write for a bullet of a symbol font.
_DROPPED = "\u00ad\u200b\u200c\u200d\u2060\ufeff\u200e\u200f\u202a\u202b\u202c\u202d\u202e\ufffd"
SYMBOL_BULLETS = "\uf0b7\uf0a7\uf0d8\uf0fc\uf076\uf02d"
_TABLE: dict[int, str | None] = {
    **dict.fromkeys((*range(9), *range(14, 32), *range(127, 160))),
    **dict.fromkeys(range(55296, 57344)),
    **dict.fromkeys(map(ord, _DROPPED)),
    **dict.fromkeys(map(ord, SYMBOL_BULLETS), "•"),
    **dict.fromkeys((0x0B, 0x0C, 0x85, 0x2028, 0x2029), "\n"),
    **dict.fromkeys((0xA0, 0x2007, 0x202F, 0x3000, *range(0x2000, 0x2007)), " "),
    **dict.fromkeys(range(0x2008, 0x200B), " "),
    **{ord(char): plain for char, plain in _LIGATURES.items()},
}
# What programs put where a title belongs.
_NO_TITLE = re.compile(
    r"\(?(?:anonymous|untitled\W?\d*|unspecified|sin t[íi]tulo\W?\d*"
    r"|(?:powerpoint )?presentation\d*|presentaci[óo]n(?: de powerpoint)?\d*"
    r"|documento?\d*|word document"
    r"|microsoft (?:word|powerpoint|excel)\b.*|.*\.\w{2,5})\)?",
    re.IGNORECASE,
)
# Text made of these needs none of the above, and is in its composed form.
_COMMON = re.compile("[\\n\\t -~¡-¬®-ÿ–—‘’“”•…€]*")
_BLANKS = re.compile(r"[ \t]{2,}|\t")
_LINE_ENDS = re.compile(r"[ \t]+(?=\n)|(?<=\n)[ \t]+(?=\n)")
_EMPTY_LINES = re.compile(r"\n{3,}")
_HYPHEN_END = re.compile(r"(\w+)[-\u2010\u00ad]\n[ \t]*(\w+)")
_SURROUNDING = ".,;:!?¡¿()[]«»“”\"'"


def clean_block(text: str) -> str:
    """The text with its lines and indentation kept; at most one empty line in a row."""
    text = _plain(text.replace("\r\n", "\n").replace("\r", "\n"))
    return _EMPTY_LINES.sub("\n\n", _LINE_ENDS.sub("", text)).strip("\n").rstrip()


def clean_text(text: str) -> str:
    """The text with runs of blanks as one; lines are kept."""
    return _BLANKS.sub(" ", clean_block(text)).strip()


def clean_line(text: str) -> str:
    """The text on one line."""
    return " ".join(_plain(text).split())


def _plain(text: str) -> str:
    if _COMMON.fullmatch(text):
        return text
    return unicodedata.normalize("NFC", text.translate(_TABLE))


def own_title(text: str | None) -> str:
    """The title property of a file, empty where it is a program's filling or a file's name."""
    title = clean_line(text or "")
    return "" if _NO_TITLE.fullmatch(title) else title


def keyword_tags(text: str | None) -> tuple[str, ...]:
    """The keywords property of a file, taken apart at commas and semicolons."""
    parts = (text or "").replace(";", ",").split(",")
    return tuple(word for word in map(clean_line, parts) if word)


def words_of(text: str) -> set[str]:
    """The words of a text in lower case; of the hyphenated ones, without what surrounds them."""
    found = set(text.lower().split())
    found.update(word.strip(_SURROUNDING) for word in list(found) if "-" in word)
    return found


def joined_word(first: str, second: str, words: Collection[str]) -> str | None:
    """The word that a line end cut into `first-` and `second`, None where they are two words.

    The hyphen stays where the text has the hyphenated word elsewhere, and goes where it has the
    joined one, or neither: the cut at a line end is by far the more frequent.
    """
    if not (first[-1:].isalpha() and second[:1].islower()):
        return None
    tail = first.rsplit("-", 1)[-1]
    if f"{tail}-{second}".lower() in words and f"{tail}{second}".lower() not in words:
        return f"{first}-{second}"
    return f"{first}{second}"


def join_hyphens(text: str, words: Collection[str]) -> str:
    """The text with words that were cut at a line end made whole again."""

    def join(found: re.Match[str]) -> str:
        return joined_word(found[1], found[2], words) or found[0]

    return _HYPHEN_END.sub(join, text)
