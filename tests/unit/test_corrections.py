from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb_search.corrections import Correction, corrections, distance, limit
from kb_search.terms import Similar

WORDS = st.text(alphabet="abcdefghijklmnñopqrstuvwxyz", max_size=12)


def similar(*words: str) -> list[Similar]:
    return [Similar(word, word[:4], 1) for word in words]


def meant(typed: str, *candidates: str) -> list[str]:
    return [choice.similar.word for choice in corrections(typed, similar(*candidates))]


@given(WORDS)
def test_a_word_is_no_distance_from_itself(word):
    assert distance(word, word) == 0


@given(WORDS, WORDS)
def test_different_words_are_apart_and_never_more_than_their_letters(one, other):
    apart = distance(one, other)
    assert (apart == 0) == (one == other)
    assert apart <= len(one) + len(other) + 0.2


@given(WORDS, WORDS)
def test_the_distance_is_the_same_both_ways(one, other):
    assert distance(one, other) == pytest.approx(distance(other, one))


@given(WORDS.filter(bool), st.data())
def test_one_slip_inside_a_word_costs_at_most_one(word, data):
    place = data.draw(st.integers(0, len(word) - 1))
    letter = data.draw(st.sampled_from("abcdefghijklmnñopqrstuvwxyz"))
    replaced = word[:place] + letter + word[place + 1 :]
    inserted = word[:place] + letter + word[place:]
    dropped = word[:place] + word[place + 1 :]
    swapped = word[:place] + word[place : place + 2][::-1] + word[place + 2 :]
    for slip in (replaced, inserted, dropped, swapped):
        assert distance(slip, word) <= 1.0 + 0.2


@pytest.mark.parametrize(
    ("typed", "nearer", "farther"),
    [
        ("corba", "cobra", "corta"),  # swapped letters before a replaced one
        ("enbio", "envio", "enlio"),  # letters that sound alike before others
        ("oja", "hoja", "caja"),  # the silent h
        ("kien", "quien", "bien"),  # k for qu
        ("zapatoz", "zapatos", "zapatop"),  # s and z sound alike
        ("jirar", "girar", "virar"),  # g and j sound alike
        ("correro", "correo", "corrido"),  # neighbours on the keyboard
        ("carrro", "carro", "barro"),  # a letter doubled
    ],
)
def test_common_slips_are_nearer_than_rare_ones(typed, nearer, farther):
    assert distance(typed, nearer) < distance(typed, farther)


def test_a_slip_in_the_first_letter_is_rarer_than_one_inside():
    assert distance("docker", "bocker") > distance("docker", "dobker")


@pytest.mark.parametrize(
    ("typed", "word"),
    [
        ("facutra", "factura"),
        ("proyetos", "proyectos"),
        ("contacatrlo", "contactarlo"),
        ("kiero", "quiero"),
        ("nesesito", "necesito"),
        ("pytohn", "python"),
        ("aspirdora", "aspiradora"),
        ("telebision", "television"),
    ],
)
def test_one_slip_or_two_lead_back_to_the_word(typed, word):
    assert meant(typed, word, "manzana", "horario") == [word]


@pytest.mark.parametrize(
    ("typed", "other"),
    [
        ("iva", "via"),
        ("sol", "col"),
        ("casa", "pata"),
        ("verde", "vender"),
        ("silla", "villano"),
        ("ordenador", "contador"),
    ],
)
def test_words_too_far_apart_for_their_length_are_not_taken(typed, other):
    assert meant(typed, other) == []


def test_longer_words_bear_more():
    lengths = [limit("a" * length) for length in range(1, 20)]
    assert lengths == sorted(lengths)


def test_a_second_choice_is_taken_along_only_when_it_is_close_behind():
    assert meant("tarrta", "tarta", "tarita") == ["tarta"]
    assert meant("cobla", "cobia", "cobja") == ["cobia", "cobja"]


def test_words_of_one_stem_count_once_as_the_nearest():
    forms = [Similar("facturas", "factur", 3), Similar("factura", "factur", 1)]
    assert [choice.similar.word for choice in corrections("facutra", forms)] == ["factura"]


def test_among_equally_near_words_the_commoner_comes_first():
    pair = [Similar("camara", "camar", 1), Similar("capara", "capar", 9)]
    assert [choice.similar.word for choice in corrections("cafara", pair)] == ["capara", "camara"]


@given(WORDS, st.lists(WORDS.filter(bool), max_size=12))
def test_at_most_two_words_are_chosen_the_nearest_first(typed, candidates):
    chosen = corrections(typed, [Similar(word, word, 1) for word in candidates])
    assert len(chosen) <= 2
    assert [choice.distance for choice in chosen] == sorted(choice.distance for choice in chosen)
    assert all(choice.distance <= limit(typed) for choice in chosen)


def test_the_farther_a_correction_the_less_it_counts():
    near, far = (Correction(Similar("x", "x", 1), apart) for apart in (0.5, 1.5))
    assert 0 < far.factor < near.factor < 1
