from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb_search.web_syntax import Group, Operators, parse


def words(*some):
    return Group(words=some, phrases=())


def phrases(*some):
    return Group(words=(), phrases=some)


@pytest.mark.parametrize(
    ("question", "text", "operators"),
    [
        ("hola mundo", "hola mundo", Operators()),
        ('"hola mundo"', "hola mundo", Operators(groups=(phrases("hola mundo"),))),
        ('di "hola mundo" ya', "di hola mundo ya", Operators(groups=(phrases("hola mundo"),))),
        ("«hola mundo»", "hola mundo", Operators(groups=(phrases("hola mundo"),))),
        ('"hola"', "hola", Operators(groups=(words("hola"),))),
        ("hola -mundo", "hola", Operators(without_words=("mundo",))),
        ("hola −mundo", "hola", Operators(without_words=("mundo",))),
        ('hola -"gran mundo"', "hola", Operators(without_phrases=("gran mundo",))),
        ("a AND b", "a b", Operators(groups=(words("a"), words("b")))),
        ("a AND b c", "a b c", Operators(groups=(words("a"), words("b")))),
        ("a OR b", "a b", Operators(groups=(words("a", "b"),))),
        ("a OR b OR c d", "a b c d", Operators(groups=(words("a", "b", "c"),))),
        ("a AND b OR c", "a b c", Operators(groups=(words("a"), words("b", "c")))),
        (
            'a OR "b c"',
            "a b c",
            Operators(groups=(Group(words=("a",), phrases=("b c",)),)),
        ),
        ('"c++" .NET', "c++ .NET", Operators(groups=(phrases("c++"),))),
        ("x -ABC-1", "x", Operators(without_phrases=("ABC-1",))),
        ("¿x? -¡mal!", "¿x?", Operators(without_words=("¡mal!",))),
        ("post-venta", "post-venta", Operators()),
        ("info@example.com", "info@example.com", Operators()),
        ("2-3", "2-3", Operators()),
        # what does not parse is plain text
        ("a or b", "a or b", Operators()),
        ("a and b", "a and b", Operators()),
        ("AND a", "AND a", Operators()),
        ("a AND", "a", Operators()),
        ("a - b", "a b", Operators()),
        ("a -", "a", Operators()),
        ('"a b', '"a b', Operators()),
        ('""', "", Operators()),
        ('-""', "", Operators()),
        ("-¿?", "", Operators()),
        ("", "", Operators()),
        ('" "', "", Operators()),
    ],
)
def test_operators_are_taken_out_of_the_text(question, text, operators):
    assert parse(question) == (text, operators)


@given(st.text(max_size=80))
def test_any_text_parses(question):
    text, operators = parse(question)
    assert text.split() or not operators.groups


@given(st.text(alphabet='ab "-ANDOR', max_size=40))
def test_what_is_demanded_is_among_the_words_and_nothing_is_empty(question):
    text, operators = parse(question)
    for group in operators.groups:
        assert group.words or group.phrases
        for piece in (*group.words, *group.phrases):
            assert piece in text
    for piece in (*operators.without_words, *operators.without_phrases):
        assert any(char.isalnum() for char in piece)


@given(st.text(alphabet=st.characters(exclude_characters='"“”«»-−'), max_size=80))
def test_without_quotes_minus_and_capital_operators_all_is_plain(question):
    if {"AND", "OR"} & set(question.split()):
        return
    assert parse(question)[1] == Operators()
