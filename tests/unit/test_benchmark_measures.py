from __future__ import annotations

from typing import Any

import pytest

from kb_search.evaluation.measures import Outcome
from quality_collections import loads
from quality_measures import (
    calibration_floor,
    differences,
    hits_at,
    mean_interval,
    reciprocal_ranks,
)


def outcome(rank: int | None) -> Outcome:
    return Outcome(rank=rank, layer="fts", confident=True, confidence=1.0, took_ms=1.0)


def test_a_question_without_a_right_entry_scores_nothing():
    outcomes = [outcome(1), outcome(4), outcome(5), outcome(None)]
    assert reciprocal_ranks(outcomes) == [1.0, 0.25, 0.2, 0.0]
    assert hits_at(outcomes, 4) == [1.0, 1.0, 0.0, 0.0]


def test_each_collection_counts_once_whatever_its_size():
    found = mean_interval([[1.0], [0.0] * 99])
    assert found.value == 0.5
    assert (found.low, found.high) == (0.5, 0.5)


def test_an_interval_is_that_of_the_mean_of_as_many_questions():
    values = [0.0, 1.0] * 200
    found = mean_interval([values])
    # 1.96 standard errors of a coin thrown 400 times.
    assert found.value - found.low == pytest.approx(0.049, abs=0.005)
    assert found.high - found.value == pytest.approx(0.049, abs=0.005)


def test_more_questions_give_a_narrower_interval():
    few, many = (mean_interval([[0.0, 0.25, 1.0] * n]) for n in (10, 1000))
    assert many.high - many.low < (few.high - few.low) / 5


def test_the_same_seed_gives_the_same_interval():
    values = [[nr / 97 for nr in range(97)], [nr / 89 for nr in range(89)]]
    assert mean_interval(values, seed=1) == mean_interval(values, seed=1)
    assert mean_interval(values, seed=1) != mean_interval(values, seed=2)


def test_engines_are_compared_question_by_question():
    ahead = mean_interval([differences([1.0, 0.5, 0.25], [0.9, 0.4, 0.15])])
    assert ahead.low == pytest.approx(0.1)
    assert ahead.high == pytest.approx(0.1)


def test_engines_that_answered_different_questions_are_not_compared():
    with pytest.raises(ValueError, match="shorter"):
        differences([1.0, 0.5], [1.0])


def test_a_perfect_confidence_still_shows_the_noise_of_few_questions():
    few, many = (calibration_floor([0.3, 0.7] * n) for n in (10, 1000))
    assert 0.05 < few < 0.2
    assert many < few / 5


def test_a_certain_confidence_has_no_noise():
    assert calibration_floor([0.0, 1.0, 1.0]) == 0.0


def write(folder: Any, name: str, *lines: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")


def collection(folder: Any, *, roles: bool = False) -> None:
    write(folder, "corpus.jsonl", '{"_id": "a", "title": "Envíos", "text": "Tardan dos días."}')
    write(
        folder,
        "queries.jsonl",
        '{"_id": "1", "text": "¿Cuánto tarda?"}',
        '{"_id": "2", "text": "¿Cuándo llega?"}',
    )
    write(folder, "queries.noaccent.jsonl", '{"_id": "2", "text": "cuando llega"}')
    write(folder, "qrels.tsv", "query-id\tcorpus-id\tscore", "1\ta\t1", "2\ta\t1")
    if roles:
        write(folder, "alias_split.tsv", "query-id\trole", "1\talias", "2\ttest")


def test_collections_are_found_by_the_files_they_have(tmp_path):
    collection(tmp_path / "tienda_faq", roles=True)
    collection(tmp_path / "textos_es")
    collection(tmp_path / "textos_en")
    write(tmp_path / "fuera", "queries.jsonl", '{"_id": "x", "text": "¿Quién ganó?"}')
    found = list(loads(tmp_path))
    assert [(one.name, one.kind, one.aliases) for one in found] == [
        ("tienda_faq", "faq", True),
        ("tienda_faq", "faq", False),
        ("textos_en", "other", True),
        ("textos_es", "other", True),
        ("textos_es+textos_en", "mixture", True),
    ]
    assert [len(one.out_of_scope) for one in found] == [1, 0, 1, 1, 0]
    faq = found[0]
    assert faq.entries[0].aliases == ("¿Cuánto tarda?",)
    assert {name: [q.text for q in asked] for name, asked in faq.asked.items()} == {
        "plain": ["¿Cuándo llega?"],
        "noaccent": ["cuando llega"],
    }


def test_in_a_mixture_a_question_is_right_in_its_own_collection_only(tmp_path):
    collection(tmp_path / "textos_es")
    collection(tmp_path / "textos_en")
    mixed = list(loads(tmp_path))[-1]
    assert {entry.source for entry in mixed.entries} == {"textos_es/a", "textos_en/a"}
    assert mixed.asked["textos_en"][0].right == {"textos_en/a"}
    assert len({(entry.section, entry.title) for entry in mixed.entries}) == 2


def test_a_sample_is_spread_over_the_questions(tmp_path):
    folder = tmp_path / "textos"
    collection(folder)
    rows = [f'{{"_id": "{nr}", "text": "pregunta {nr}"}}' for nr in range(100)]
    write(folder, "queries.jsonl", *rows)
    write(folder, "qrels.tsv", *(f"{nr}\ta\t1" for nr in range(100)))
    (asked,) = (one.asked["plain"] for one in loads(tmp_path, most=4))
    assert [question.id for question in asked] == ["0", "25", "50", "75"]
