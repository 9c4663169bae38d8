from __future__ import annotations

from typing import Any

import pytest

from kb_search.evaluation.measures import (
    Outcome,
    OutOfScope,
    calibration_error,
    evaluate_outcomes,
    percentile,
)


def outcome(**changes: Any) -> Outcome:
    values: dict[str, Any] = {
        "rank": 1,
        "layer": "fts",
        "confident": True,
        "confidence": 1.0,
        "took_ms": 1.0,
    }
    return Outcome(**(values | changes))


def test_ranks_become_mrr_and_hits():
    found = evaluate_outcomes([outcome(rank=rank) for rank in (1, 2, 4, 5, None)])
    assert found.queries == 5
    assert found.mrr_at_10 == pytest.approx((1 + 1 / 2 + 1 / 4 + 1 / 5) / 5)
    assert found.hit_at_1 == pytest.approx(1 / 5)
    assert found.hit_at_4 == pytest.approx(3 / 5)


def test_precision_is_of_the_confident_answers_only():
    found = evaluate_outcomes(
        [
            outcome(rank=1),
            outcome(rank=2),
            outcome(rank=1, confident=False, confidence=0.2),
            outcome(rank=None, confident=False, confidence=0.2),
        ]
    )
    assert found.confident == 0.5
    assert found.precision == 0.5


def test_without_a_confident_answer_there_is_no_precision():
    assert evaluate_outcomes([outcome(confident=False)]).precision is None


def test_layers_are_counted():
    found = evaluate_outcomes([outcome(), outcome(layer="fallback", rank=None), outcome()])
    assert found.layers == {"fts": 2, "fallback": 1}


@pytest.mark.parametrize(
    ("percent", "expected"), [(0, 10), (25, 10), (50, 20), (51, 30), (95, 40), (100, 40)]
)
def test_a_percentile_is_the_nearest_rank(percent, expected):
    assert percentile([40, 10, 30, 20], percent) == expected


def test_times_are_percentiles_over_the_questions():
    found = evaluate_outcomes([outcome(took_ms=float(ms)) for ms in range(1, 101)])
    assert (found.p50_ms, found.p95_ms) == (50, 95)


def test_a_perfectly_calibrated_confidence_has_no_error():
    outcomes = [outcome(confidence=0.75, rank=1)] * 3 + [outcome(confidence=0.75, rank=3)]
    assert calibration_error(outcomes) == 0


def test_the_calibration_error_weighs_bins_by_their_size():
    outcomes = [outcome(confidence=0.95, rank=None)] + [outcome(confidence=0.05, rank=2)] * 3
    assert calibration_error(outcomes) == pytest.approx((0.95 + 3 * 0.05) / 4)


def test_bins_keep_errors_of_opposite_sign_apart():
    outcomes = [outcome(confidence=0.9, rank=None), outcome(confidence=0.1, rank=1)]
    assert calibration_error(outcomes) == pytest.approx(0.9)
    near = [outcome(confidence=0.52, rank=None), outcome(confidence=0.58, rank=1)]
    assert calibration_error(near) == pytest.approx(abs(0.52 + 0.58 - 1) / 2)


def test_a_confidence_of_one_belongs_to_the_last_bin():
    outcomes = [outcome(confidence=1.0, rank=None), outcome(confidence=0.9, rank=1)]
    assert calibration_error(outcomes) == pytest.approx(0.45)


def test_out_of_scope_questions_are_counted_apart():
    assert evaluate_outcomes([outcome()]).out_of_scope is None
    found = evaluate_outcomes([outcome()], [True, True, False, True])
    assert found.out_of_scope == OutOfScope(queries=4, flagged=0.75)
    assert found.confident == 1
