"""The measures of an evaluation, from what was found for each question."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from kb_search.models import Layer

_BINS = 10


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What one question got; `rank` counts from 1 and is that of the first right entry."""

    rank: int | None
    layer: Layer
    confident: bool
    confidence: float
    took_ms: float


@dataclass(frozen=True, kw_only=True)
class OutOfScope:
    """Questions that nothing answers; `flagged` is the share not answered confidently."""

    queries: int
    flagged: float


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """The measures of one run; shares are 0..1, times are milliseconds.

    `precision` is the share of the confident answers whose first hit is right, None where no
    answer was confident. `calibration_error` is the expected calibration error of `confidence`.
    """

    queries: int
    mrr_at_10: float
    hit_at_1: float
    hit_at_4: float
    p50_ms: float
    p95_ms: float
    layers: dict[str, int]
    confident: float
    precision: float | None
    calibration_error: float
    out_of_scope: OutOfScope | None


def evaluate_outcomes(
    outcomes: Sequence[Outcome], flagged: Sequence[bool] | None = None
) -> Evaluation:
    """The measures over at least one outcome; `flagged` tells of each out-of-scope question."""
    times = [outcome.took_ms for outcome in outcomes]
    confident = [outcome for outcome in outcomes if outcome.confident]
    out_of_scope = None
    if flagged is not None:
        share = _share(sum(flagged), len(flagged))
        out_of_scope = OutOfScope(queries=len(flagged), flagged=share)
    return Evaluation(
        queries=len(outcomes),
        mrr_at_10=_share(sum(1 / o.rank for o in outcomes if o.rank), len(outcomes)),
        hit_at_1=_share(sum(o.rank == 1 for o in outcomes), len(outcomes)),
        hit_at_4=_share(sum(o.rank is not None and o.rank <= 4 for o in outcomes), len(outcomes)),
        p50_ms=round(percentile(times, 50), 3),
        p95_ms=round(percentile(times, 95), 3),
        layers=dict(Counter(outcome.layer for outcome in outcomes)),
        confident=_share(len(confident), len(outcomes)),
        precision=(
            _share(sum(o.rank == 1 for o in confident), len(confident)) if confident else None
        ),
        calibration_error=calibration_error(outcomes),
        out_of_scope=out_of_scope,
    )


def percentile(values: Sequence[float], percent: float) -> float:
    """The nearest-rank percentile: the least value with at least `percent` % at or below it."""
    place = max(math.ceil(percent / 100 * len(values)), 1)
    return sorted(values)[place - 1]


def calibration_error(outcomes: Sequence[Outcome]) -> float:
    """Expected calibration error of `confidence` as the probability that the first hit is right.

    Ten bins of equal width; the distance between the mean confidence of a bin and the share of
    its right first hits, weighed by how many outcomes it holds.

    Source: Guo et al. 2017, "On Calibration of Modern Neural Networks".
    """
    bins: dict[int, list[Outcome]] = {}
    for outcome in outcomes:
        bins.setdefault(min(int(outcome.confidence * _BINS), _BINS - 1), []).append(outcome)
    distance = sum(
        abs(sum(o.confidence for o in held) - sum(o.rank == 1 for o in held))
        for held in bins.values()
    )
    return _share(distance, len(outcomes))


def _share(part: float, whole: int) -> float:
    return round(part / whole, 6) if whole else 0.0
