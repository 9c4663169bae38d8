from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb_search.passages import Text, matched_on, snippet

NEEDLES = {
    "envio": 0,
    "envios": 0,
    "cplusplus": 1,
    "nodejs": 2,
    "csharp": 3,
    "dotnet": 4,
    "600123456": 5,
}
WEIGHTS = [1.0] * 6


def found(text):
    return [text[match.start : match.end] for match in Text(text, NEEDLES).matches]


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("Un envío, dos ENVÍOS.", ["envío", "ENVÍOS"]),
        ("envi\u0301o y en\u00advío", ["envi\u0301o", "en\u00advío"]),
        ("C++, c# y .NET", ["C++", "c#", ".NET"]),
        ("C+ y C", []),
        ("Node.js y node", ["Node.js"]),
        ("tel. 600 123 456.", ["600 123 456"]),
        ("envío/entrega post-envío", ["envío", "envío"]),
        ("enviado reenvío", []),
        ("pedido.Envío", ["Envío"]),
        ("", []),
    ],
)
def test_matches_are_whole_words_however_they_are_written(text, matches):
    assert found(text) == matches


@given(st.text(max_size=400), st.integers(80, 300))
def test_any_text_has_a_snippet_that_is_part_of_it(text, chars):
    made = snippet(Text(text, NEEDLES), WEIGHTS, chars=chars)
    assert made.text.strip("…") in text
    assert len(made.text) <= chars * 1.15 + 2


@given(
    st.lists(
        st.sampled_from(["envío", "C++", "palabra", ". ", " ", "\n\n", "ñ" * 40]), max_size=120
    )
)
def test_highlights_are_the_matches_inside_in_order_and_disjoint(pieces):
    text = " ".join(pieces)
    made = snippet(Text(text, NEEDLES), WEIGHTS, chars=100)
    at = 0
    for start, end in made.highlights:
        assert at <= start < end <= len(made.text)
        assert made.text[start:end] in {"envío", "C++"}
        at = end
    assert bool(made.highlights) == bool(found(text))


def test_the_passage_with_the_weightiest_matches_wins():
    text = "envío " * 3 + "nada " * 100 + "C++ y Node.js. " + "nada " * 100
    made = snippet(Text(text, NEEDLES), [1.0, 5.0, 5.0, 0, 0, 0], chars=100)
    assert "C++ y Node.js" in made.text


def test_different_words_weigh_more_than_one_repeated():
    text = "envío " * 8 + "nada " * 100 + "envío en C++. " + "nada " * 100
    assert "C++" in snippet(Text(text, NEEDLES), WEIGHTS, chars=100).text


def test_ellipses_tell_where_the_text_goes_on():
    text = "nada " * 100
    assert snippet(Text(text, {}), (), chars=100).text.endswith("…")
    assert not snippet(Text(text, {}), (), chars=100).text.startswith("…")
    assert "…" not in snippet(Text("corto", {}), (), chars=100).text
    end = snippet(Text(text + "el envío", NEEDLES), WEIGHTS, chars=100)
    assert end.text.startswith("…")
    assert end.text.endswith("el envío")


def test_words_are_not_cut():
    text = "extraordinariamente " * 50
    made = snippet(Text(text, {}), (), chars=110).text.rstrip("…").strip()
    assert set(made.split()) == {"extraordinariamente"}


def test_matches_are_counted_by_field_and_remarked():
    fields = [
        ("title", [Text("Envío", NEEDLES), Text("Los envíos", NEEDLES)]),
        ("alias", [Text("nada", NEEDLES)]),
        ("content", [Text("envío envío C++", NEEDLES)]),
    ]
    assert matched_on(fields, {1: "typed c+"}) == (
        "title: envío, envíos; content: envío ×2, c++ (typed c+)"
    )
    assert matched_on([("title", [Text("x", NEEDLES)])], {}) == ""
