"""Slips of typing: how far two words are apart, and which word of the collection was meant.

The distance is Damerau's (optimal string alignment), with costs below 1 for what happens often in
Spanish: letters that sound alike, a silent h, neighbours on the keyboard, letters swapped or
doubled.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from kb_search.terms import Similar

_SOUNDS_ALIKE = ("bv", "sz", "cs", "cz", "gj", "ckq", "iy", "mn", "nñ", "xsj", "uw")
_ALIKE = {frozenset((a, b)) for group in _SOUNDS_ALIKE for a in group for b in group if a != b}
_K_FOR_QU = re.compile("qu(?=[ei])")
_ROWS = ("qwertyuiop", "asdfghjklñ", "zxcvbnm")


def _neighbours() -> set[frozenset[str]]:
    places = {char: (x + 0.3 * y, y) for y, row in enumerate(_ROWS) for x, char in enumerate(row)}
    return {
        frozenset((a, b))
        for a, (ax, ay) in places.items()
        for b, (bx, by) in places.items()
        if a != b and abs(ax - bx) <= 1.3 and abs(ay - by) <= 1
    }


_NEAR = _neighbours()
_ALIKE_COST = 0.5
_NEAR_COST = 0.8
_OTHER_COST = 1.0
_SWAP_COST = 0.75
_DOUBLE_COST = 0.5
_SILENT_COST = 0.5
_GAP_COST = 0.9
# The collection may hold the plural of what was meant, or the singular.
_PLURAL_COST = 0.3
# A slip in the first letter is rarer than one inside.
_FIRST_LETTER = 0.2
# A second choice is taken along when it is hardly farther off than the best.
_TIE = 0.15
_MOST_CHOICES = 2


@dataclass(frozen=True)
class Correction:
    """A word of the collection for one typed, and how far off it is (0 or more)."""

    similar: Similar
    distance: float

    @property
    def factor(self) -> float:
        """How much the corrected word counts against one found as typed (0..1)."""
        return 0.85 - 0.2 * self.distance


def distance(typed: str, meant: str) -> float:
    """How far two folded words are apart: 0 for equal ones, about 1 a slip."""
    apart = _edits(typed, meant)
    spelt, spelt_meant = _K_FOR_QU.sub("k", typed), _K_FOR_QU.sub("k", meant)
    if (spelt == typed) != (spelt_meant == meant):
        return min(apart, _ALIKE_COST + _edits(spelt, spelt_meant))
    return apart


def _edits(typed: str, meant: str) -> float:
    before: list[float] = []
    above = [0.0]
    for column, char in enumerate(meant, start=1):
        above.append(above[-1] + _gap(char, meant[column - 2] if column > 1 else ""))
    for row, a in enumerate(typed, start=1):
        current = [above[0] + _gap(a, typed[row - 2] if row > 1 else "")]
        for column, b in enumerate(meant, start=1):
            best = min(
                above[column - 1] + _replaced(a, b),
                above[column] + _gap(a, typed[row - 2] if row > 1 else ""),
                current[column - 1] + _gap(b, meant[column - 2] if column > 1 else ""),
            )
            if row > 1 and column > 1 and a == meant[column - 2] and b == typed[row - 2] and a != b:
                best = min(best, before[column - 2] + _SWAP_COST)
            current.append(best)
        before, above = above, current
    total = above[-1]
    return total + _FIRST_LETTER if total and typed[:1] != meant[:1] else total


def _replaced(a: str, b: str) -> float:
    if a == b:
        return 0.0
    pair = frozenset((a, b))
    if pair in _ALIKE:
        return _ALIKE_COST
    return _NEAR_COST if pair in _NEAR else _OTHER_COST


def _gap(char: str, previous: str) -> float:
    if char == previous:
        return _DOUBLE_COST
    return _SILENT_COST if char in "hu" and previous in ("", "q", "g", "c") else _GAP_COST


def _apart(typed: str, word: str) -> float:
    """The distance, whichever of the two is the plural."""
    apart = distance(typed, word)
    if typed.endswith("s") != word.endswith("s") and min(len(typed), len(word)) > 3:
        bare = distance(typed.removesuffix("s"), word.removesuffix("s"))
        return min(apart, _PLURAL_COST + bare)
    return apart


def limit(word: str) -> float:
    """The distance up to which a word of this length is taken for a slip."""
    length = len(word)
    if length <= 3:
        return 0.5
    if length <= 4:
        return 0.95
    if length <= 5:
        return 1.2
    return 1.6 if length <= 8 else 2.1


def corrections(word: str, similar: Sequence[Similar]) -> list[Correction]:
    """The words that were meant, best first: at most two, of which the second is close behind.

    Words of the same stem count once, as the nearest of them.
    """
    reach = limit(word)
    found = sorted(
        (
            Correction(candidate, apart)
            for candidate in similar
            if (apart := _apart(word, candidate.word)) <= reach
        ),
        key=lambda choice: (choice.distance, -choice.similar.entries, choice.similar.word),
    )
    chosen: list[Correction] = []
    for choice in found:
        if choice.distance > found[0].distance + _TIE or len(chosen) == _MOST_CHOICES:
            break
        if choice.similar.stem not in {other.similar.stem for other in chosen}:
            chosen.append(choice)
    return chosen
