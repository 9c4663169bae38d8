"""How sure the first hit is, where both words and meaning speak for it.

Fitted with the offline default embedder on eight FAQ collections (with and without aliases, each
weighing the same) and questions that none of them answers. With the tested collection left out,
.959 of the questions in scope are answered confidently and .956 of the others flagged (means, with
aliases; benchmarks/semantic_quality.py measures it). Nearness is on each model's own scale, so that
another embedder's differs less.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import pstdev
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kb_search.reading import Reading
    from kb_search.semantic.fusion import Candidate

_TOP = 10
_MOST_LEAD = 3.0
_BACKGROUND = 40


@dataclass(frozen=True)
class Evidence:
    """What both arms say for the first hit.

    `nearness`, `words`: the candidate's. `coverage` (0..1): the share of the question's rarity that
    it holds. `background`: the nearness of the least near of the nearest forty, which is high for a
    question near to everything. `spread`: of the nearness of the ten nearest. `lead`: how far the
    first is before the second in relevance, at most 3. `chars`: of the question.
    """

    nearness: float
    words: float
    coverage: float
    background: float
    spread: float
    lead: float
    chars: int


def evidence(reading: Reading, candidates: Sequence[Candidate]) -> Evidence:
    """The evidence for the first of the candidates (at least one)."""
    first = candidates[0]
    nearest = sorted((c.nearness for c in candidates if c.nearness is not None), reverse=True) or [
        0.0
    ]
    worth: dict[int, float] = {}
    for place in first.ranked.parts:
        needle = reading.needles[place]
        worth[needle.term] = max(worth.get(needle.term, 0.0), needle.weight)
    lead = first.relevance - candidates[1].relevance if len(candidates) > 1 else _MOST_LEAD
    return Evidence(
        nearness=nearest[-1] if first.nearness is None else first.nearness,
        words=first.words,
        coverage=min(1.0, sum(worth.values()) / reading.mass) if reading.mass else 0.0,
        background=nearest[min(len(nearest), _BACKGROUND) - 1],
        spread=pstdev(nearest[:_TOP]),
        lead=min(_MOST_LEAD, lead),
        chars=len(reading.question.text),
    )


def probability(evidence: Evidence) -> float:
    """The probability (0..1) that the first hit answers; from 0.5 on it counts as confident.

    Two logistic models: that the collection answers the question at all decides about the half,
    that the first hit is the one which does about the rest.
    """
    answered = _logistic(
        -14.355
        + 4.56 * evidence.nearness
        + 0.55 * evidence.words
        + 2.72 * evidence.coverage
        - 0.65 * evidence.background
        + 1.98 * math.log(1 + evidence.chars)
        + 2.80 * evidence.spread
        + 0.03 * evidence.lead
    )
    right = _logistic(
        -1.13
        + 2.19 * evidence.lead
        + 0.50 * evidence.nearness
        - 1.14 * evidence.words
        + 1.33 * evidence.coverage
    )
    if answered < 0.5:
        return answered * right
    return max(0.5, right)


def _logistic(logit: float) -> float:
    return 1 / (1 + math.exp(-max(-50.0, min(50.0, logit))))
