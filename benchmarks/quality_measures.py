"""Measures over many questions, with how far they would swing on other questions of the kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kb_search.evaluation.measures import Outcome

SEED = 7
RESAMPLES = 2_000
_TAILS = (2.5, 97.5)
_BINS = 10


@dataclass(frozen=True)
class Interval:
    """A mean, and where 95 % of its resamples lie."""

    value: float
    low: float
    high: float


def reciprocal_ranks(outcomes: Sequence[Outcome]) -> list[float]:
    """One over the rank of the first right entry, 0 where none was found."""
    return [1 / outcome.rank if outcome.rank else 0.0 for outcome in outcomes]


def hits_at(outcomes: Sequence[Outcome], depth: int) -> list[float]:
    """1 where a right entry is among the first `depth`, else 0."""
    return [float(outcome.rank is not None and outcome.rank <= depth) for outcome in outcomes]


def mean_interval(
    groups: Sequence[Sequence[float]], *, seed: int = SEED, resamples: int = RESAMPLES
) -> Interval:
    """The mean over the groups' means, each group counted once, with its bootstrap interval.

    A group's values (one a question, at least one) are drawn again with replacement inside the
    group, so that the interval says how the questions chance to be, not which collections there
    are.

    Source: Efron and Tibshirani 1993, the percentile bootstrap.
    """
    rng = np.random.default_rng(seed)
    drawn = np.mean([_resampled_means(group, rng, resamples) for group in groups], axis=0)
    low, high = np.percentile(drawn, _TAILS)
    value = float(np.mean([np.mean(group) for group in groups]))
    return Interval(value, float(low), float(high))


def _resampled_means(
    values: Sequence[float], rng: np.random.Generator, resamples: int
) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    # Drawing how often each distinct value comes is the same as drawing the values one by one.
    distinct, counts = np.unique(np.asarray(values, dtype=np.float64), return_counts=True)
    times = rng.multinomial(len(values), counts / len(values), size=resamples)
    means: np.ndarray[tuple[int, ...], np.dtype[np.float64]] = times @ distinct / len(values)
    return means


def differences(ours: Sequence[float], theirs: Sequence[float]) -> list[float]:
    """Question by question, what one engine has more than the other."""
    return [a - b for a, b in zip(ours, theirs, strict=True)]


def calibration_floor(
    confidences: Sequence[float], *, seed: int = SEED, rounds: int = 200
) -> float:
    """The calibration error that a perfect confidence would show on as many questions.

    Answers are drawn right with exactly the probability that was told; what error is left is the
    noise of a small sample.
    """
    told = np.asarray(confidences, dtype=np.float64)
    bins = np.minimum((told * _BINS).astype(int), _BINS - 1)
    rng = np.random.default_rng(seed)
    right = rng.random((rounds, len(told))) < told
    apart = np.zeros(rounds)
    for place in np.unique(bins):
        held = bins == place
        apart += np.abs(right[:, held].sum(axis=1) - told[held].sum())
    return float(apart.mean() / len(told))
