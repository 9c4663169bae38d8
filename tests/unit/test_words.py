from __future__ import annotations

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kb_search.words import clean, fold, or_query, storable, typed_forms

ANY_TEXT = st.text(alphabet=st.characters(exclude_categories=()), max_size=300)


@given(ANY_TEXT)
@example("\x00\ud800a\udfff")
def test_a_storable_text_can_be_encoded_and_holds_no_nul(text):
    kept = storable(text)
    kept.encode()
    assert "\x00" not in kept
    assert storable(kept) == kept


@given(ANY_TEXT, st.integers(50, 200))
def test_a_question_is_bounded_and_on_one_line(text, most):
    question = clean(text, max_chars=most)
    assert len(question.text) <= most
    assert question.text == " ".join(question.text.split())
    assert question.truncated == (len(storable(text).strip()) > most)
    assert all(word in question.text for word in question.typed)


def test_a_long_question_is_cut_between_words():
    question = clean("palabra " * 100, max_chars=50)
    assert question.text == " ".join(["palabra"] * 6)
    assert question.truncated


def test_one_long_word_is_cut_inside():
    assert clean("a" * 500, max_chars=50).text == "a" * 50


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        ("¿Cuánto cobra?", ("Cuánto", "cobra")),
        ("C++, C# y .NET", ("C++", "C#", "y", ".NET")),
        ("Node.js post-venta O’Brien", ("Node.js", "post-venta", "O’Brien")),
        ("info@ejemplo.es cliente/proveedor", ("info@ejemplo.es", "cliente/proveedor")),
        ("el el", ("el", "el")),
        ("¿? 😀 …", ()),
    ],
)
def test_the_words_are_kept_as_typed(text, typed):
    assert clean(text, max_chars=500).typed == typed


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("FACTURACIÓN", "facturacion"),
        ("Ñandú", "ñandu"),
        ("an\u0303o", "año"),
        ("pingüino", "pinguino"),
        ("ﬁnanciación", "financiacion"),
        ("fac\u00adtura", "factura"),
        ("ＡＢＣ", "abc"),
    ],
)
def test_folding_drops_case_and_accents_and_keeps_the_letter_enye(text, folded):
    assert fold(text) == folded


@given(st.text(max_size=100))
def test_folding_does_not_depend_on_how_a_text_is_composed(text):
    composed = unicodedata.normalize("NFC", text)
    assert fold(composed) == fold(unicodedata.normalize("NFD", text))


@given(st.lists(ANY_TEXT, max_size=20))
@example(["a & b", "!c", "d:*", "'", "\\", "<->", "(", "|"])
def test_words_joined_by_or_hold_no_operator(words):
    query = or_query(words)
    parts = query.split(" | ") if query else []
    assert all(part.isalnum() for part in parts)
    assert len(set(parts)) == len(parts)


def test_no_words_make_an_empty_query():
    assert or_query([]) == or_query(["¿?", "&"]) == ""


def test_typed_forms_lead_from_folded_words_to_what_was_typed():
    forms = typed_forms(["Facturación", "Node.js", "FACTURACION"])
    assert forms["facturacion"] == "Facturación"
    assert forms["node.js"] == "Node.js"
    assert (forms["node"], forms["nodejs"]) == ("node", "nodejs")
