"""How sure the first hit is: a probability from the evidence of the words.

Two logistic models, multiplied: that the collection answers the question at all, and that its first
hit is the one that does. Fitted on eight FAQ collections (with and without aliases, with slips),
XQuAD, SQuAD-es and a collection of questions that none of them answers; the error is measured with
the tested collection left out (docs/quality.md). The product is told in three steps, since the
collections at hand cannot tell finer ones apart; inside a step it keeps its order.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from kb_search.hits import matched_words, score
from kb_search.layers.fts import Ranked
from kb_search.models import as_tuple
from kb_search.passages import Text, word_count
from kb_search.terms import rarity

if TYPE_CHECKING:
    from kb_search.reading import Reading

# (product from, probability from, probability below the next step)
_STEPS = ((0.0, 0.01, 0.25), (0.26, 0.5, 0.599), (0.65, 0.9, 0.96), (1.0, 0.96, 0.96))
# How sharply the first is told from the next three: their totals to this power.
_SHARPNESS = 8
_RIVALS = 4


@dataclass(frozen=True)
class Evidence:
    """What the words say for the first hit; 0..1 where not said otherwise.

    `strength`: its total over that of a whole match. `coverage`: the share of the question's
    rarity that it holds. `lead`: how far it is before the second. `clearness`: its share among the
    first four. `likeness`: how like the question its title or one alias is (harmonic mean of the
    next two); `part_coverage`: the share of the question's rarity in that one; `part_matched`: the
    share of that one's words. `rarity`: of all matched words, 1 for one that stands nowhere else
    (0 or more). `words`: of the question (1 or more).
    """

    strength: float
    coverage: float
    lead: float
    clearness: float
    likeness: float
    part_coverage: float
    part_matched: float
    rarity: float
    words: int


def evidence(reading: Reading, found: Sequence[Ranked]) -> Evidence:
    """The evidence for the first of `found`."""
    first = found[0]
    needle_of = matched_words(reading, first)
    mass = reading.mass or 1.0
    held = _worth(reading, first.parts)
    likeness, part_coverage, part_matched = max(
        (
            _likeness(reading, text, needle_of)
            for text in (
                first.row["title"],
                *as_tuple(first.row["aliases"]),
                *as_tuple(first.row["heading_path"]),
            )
        ),
        default=(0.0, 0.0, 0.0),
    )
    second = found[1].total if len(found) > 1 else 0.0
    rivals = sum((entry.total / first.total) ** _SHARPNESS for entry in found[:_RIVALS])
    return Evidence(
        strength=score(reading, first),
        coverage=min(1.0, held / mass),
        lead=1 - second / first.total,
        clearness=1 / rivals,
        likeness=likeness,
        part_coverage=min(1.0, part_coverage),
        part_matched=part_matched,
        rarity=held / (1.4 * rarity(0, reading.size.entries, 0.0)),
        words=len(reading.terms),
    )


def _worth(reading: Reading, places: Iterable[int]) -> float:
    """What the terms behind these needles weigh, each once."""
    best: dict[int, float] = {}
    for place in places:
        needle = reading.needles[place]
        best[needle.term] = max(best.get(needle.term, 0.0), needle.weight)
    return sum(best.values())


def _likeness(
    reading: Reading, text: str, needle_of: Mapping[str, int]
) -> tuple[float, float, float]:
    words = word_count(text)
    if not words:
        return 0.0, 0.0, 0.0
    found = Text(text, needle_of).matches
    covered = _worth(reading, [match.needle for match in found]) / (reading.mass or 1.0)
    matched = len(found) / words
    both = covered + matched
    return (2 * covered * matched / both if both else 0.0), covered, matched


def probability(evidence: Evidence) -> float:
    """The probability (0..1) that the first hit answers; from 0.5 on it counts as confident."""
    answered = _logistic(
        -5.01
        + 11.33 * evidence.strength
        - 3.45 * evidence.coverage
        - 2.05 * evidence.lead
        + 7.87 * evidence.likeness
        - 9.10 * evidence.part_coverage
        + 3.86 * evidence.part_matched
        + 9.36 * math.log1p(evidence.rarity)
        - 0.78 * math.log(evidence.words)
    )
    right = _logistic(-3.51 + 4.45 * evidence.clearness + 2.27 * evidence.coverage)
    return _stepped(answered * right)


def _logistic(logit: float) -> float:
    return 1 / (1 + math.exp(-max(-50.0, min(50.0, logit))))


def _stepped(product: float) -> float:
    for (start, low, high), (end, _, _) in pairwise(_STEPS):
        if product < end:
            return low + (high - low) * (product - start) / (end - start)
    return _STEPS[-1][1]
