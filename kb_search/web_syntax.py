"""The operators of a web search: `"exact phrase"`, `-without`, `AND`, `OR` (capitals, as there).

Words without an operator stay what they are in plain text: each may match, the rarest count most.
A phrase must stand in the entry word for word; words joined by AND must all be there; of words or
phrases joined by OR one must. What does not parse (a lone quote, a dash between blanks, an operator
without its neighbours) is plain text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_TOKEN = re.compile(r'(?P<minus>(?<!\S)[-−])?(?:["“”«»](?P<phrase>[^"“”«»]*)["“”«»]|(?P<word>\S+))')  # noqa: RUF001 - as typed
_BARE = re.compile(r"[^\W_]")
# One word for the database's analysis; C++, Node.js and ABC-1234 are looked for as phrases.
_ONE_WORD = re.compile(r"\W*[^\W_]+[^\w+#]*")


@dataclass(frozen=True)
class Group:
    """Alternatives, of which an entry must hold one: words by their stem, phrases word for word."""

    words: tuple[str, ...]
    phrases: tuple[str, ...]


@dataclass(frozen=True)
class Operators:
    """What a question demands: one of each group, nothing of what is without."""

    groups: tuple[Group, ...] = ()
    without_words: tuple[str, ...] = ()
    without_phrases: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Piece:
    text: str
    phrase: bool


def parse(text: str) -> tuple[str, Operators]:
    """The words to look for, as text, and what else is demanded."""
    groups: list[list[_Piece]] = []
    demanded: set[int] = set()
    without: list[_Piece] = []
    joint: str | None = None
    for match in _TOKEN.finditer(text):
        word, phrase = match["word"], match["phrase"]
        if word in ("AND", "OR") and groups and not match["minus"]:
            joint = word
            continue
        text_of = phrase if word is None else word
        piece = _Piece(text_of, not _ONE_WORD.fullmatch(text_of))
        if not _BARE.search(piece.text):
            continue
        if match["minus"]:
            without.append(piece)
            joint = None
            continue
        if joint == "OR":
            groups[-1].append(piece)
            demanded.add(len(groups) - 1)
        else:
            if joint == "AND":
                demanded |= {len(groups) - 1, len(groups)}
            groups.append([piece])
            if word is None:
                demanded.add(len(groups) - 1)
        joint = None
    operators = Operators(
        groups=tuple(_group(group) for n, group in enumerate(groups) if n in demanded),
        without_words=tuple(piece.text for piece in without if not piece.phrase),
        without_phrases=tuple(piece.text for piece in without if piece.phrase),
    )
    return " ".join(piece.text for group in groups for piece in group), operators


def _group(pieces: list[_Piece]) -> Group:
    return Group(
        words=tuple(piece.text for piece in pieces if not piece.phrase),
        phrases=tuple(piece.text for piece in pieces if piece.phrase),
    )
