"""How sure the first hit is: a probability from the evidence of the words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from kb_search.layers.fts import WHOLE_MATCH, Ranked
from kb_search.reading import Reading


@dataclass(frozen=True)
class Evidence:
    """What the words say for the first hit, each 0..1.

    `strength`: its total over that of a whole match. `coverage`: the share of the question's
    rarity that it holds. `lead`: how far it is before the second.
    """

    strength: float
    coverage: float
    lead: float


def evidence(reading: Reading, found: Sequence[Ranked]) -> Evidence:
    """The evidence for the first of `found`."""
    first = found[0]
    mass = reading.mass
    best: dict[int, float] = {}
    for place in first.parts:
        needle = reading.needles[place]
        best[needle.term] = max(best.get(needle.term, 0.0), needle.weight)
    second = found[1].total if len(found) > 1 else 0.0
    return Evidence(
        strength=min(1.0, first.total / (WHOLE_MATCH * mass)) if mass else 0.0,
        coverage=min(1.0, sum(best.values()) / mass) if mass else 0.0,
        lead=1 - second / first.total if first.total else 0.0,
    )


def probability(evidence: Evidence) -> float:
    """The probability (0..1) that the first hit answers."""
    logit = -4.0 + 4.0 * evidence.strength + 4.0 * evidence.coverage + 1.0 * evidence.lead
    return 1 / (1 + math.exp(-logit))
