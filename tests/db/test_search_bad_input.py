"""Whatever is asked: a result or an error of our own, never the server's."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from kb_search import Entry
from kb_search.words import fold

SHORT = settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
ANY_TEXT = st.text(alphabet=st.characters(exclude_categories=()), max_size=200)
OPERATORS = st.text(alphabet="ab ñ1&|!()<->:*'\"\\%_$;-+#.@/\x00{}[]^~?=", max_size=60)


@pytest.mark.parametrize(
    "question",
    [
        "",
        " ",
        "\t\n\u00a0",
        "¿?",
        "!!!",
        "…—–",
        "😀",
        "👩‍👩‍👧‍👦 🇪🇸",
        "\x00",
        "\u200b\u00ad",
        "\ud800",
        "_",
        "' \" \\",
    ],
)
async def test_a_question_without_words_gives_the_fixed_rows(portfolio, question):
    result = await portfolio.search(question)
    assert result.layer == "fallback"
    assert {hit.section for hit in result.hits} == {"identidad", "skills"}
    assert (result.confident, result.confidence, result.corrections) == (False, 0.0, {})
    assert result.query == question


@pytest.mark.parametrize(
    "question",
    [
        "tarifas\x00 por hora",
        "tarifas \ud83d por hora",
        "tarifas 😀 por hora",
        "  tarifas\n\n por \t hora ",
        "ta\u00adrifas por hora",
        "\ufefftarifas por hora",
        "TARIFAS POR HORA",
        "tarifas'; DROP TABLE kb_search.entry; -- por hora",
        "tarifas & (por | !hora):*",
        "tarifas <-> por \\ hora",
        "%tarifas% _por_ hora",
        "$1 tarifas {} por hora",
        "‘tarifas’ «por» hora",
    ],
)
async def test_what_is_no_word_changes_nothing(portfolio, question):
    assert (await portfolio.search(question)).hits[0].title == "Tarifas"


async def test_a_question_of_200_kilobytes_is_cut_and_answered(portfolio):
    result = await portfolio.search("tarifas por hora " + "y más cosas " * 17_000)
    assert result.truncated
    assert "Tarifas" in [hit.title for hit in result.hits]


async def test_one_word_of_200_kilobytes_is_no_error(portfolio):
    result = await portfolio.search("a" * 200_000)
    assert (result.truncated, result.layer) == (True, "fallback")


async def test_a_question_of_ten_thousand_different_words_is_cut_and_answered(portfolio):
    result = await portfolio.search("tarifas " + " ".join(f"palabra{n}" for n in range(10_000)))
    assert result.truncated
    assert "Tarifas" in [hit.title for hit in result.hits]


async def test_a_repeated_word_counts_once_and_fills_no_room(portfolio):
    once = await portfolio.search("docker")
    often = await portfolio.search("docker " * 250)
    assert [hit.id for hit in often.hits] == [hit.id for hit in once.hits]
    assert often.hits[0].score == pytest.approx(once.hits[0].score)
    assert not often.truncated


async def test_a_question_of_just_the_most_words_is_not_truncated(kb):
    most = kb.settings.max_question_words
    names = [f"{a}{b}" for a in "abcdefghij" for b in "klmnopqrst"]
    assert not (await kb.search(" ".join(names[:most]))).truncated
    assert (await kb.search(" ".join(names[: most + 1]))).truncated


@SHORT
@given(question=ANY_TEXT | OPERATORS)
@example(question="\x00")
@example(question="\ud800\udfff")
@example(question="'\\'")
@example(question="a:*b & !(c <-> d)")
async def test_no_text_whatever_makes_an_error(portfolio, question):
    for syntax in ("plain", "web"):
        result = await portfolio.search(question, syntax=syntax, explain=True)
        assert result.query == question
        assert result.hits
        assert 0 <= result.confidence <= 1
        assert all(hit.score is None or 0 < hit.score <= 1 for hit in result.hits)


@SHORT
@given(question=OPERATORS)
async def test_no_operator_gets_through_plain_text(portfolio, question):
    words = await portfolio.pool.fetchval(
        "SELECT kb_search.words_of($1)", question.replace("\x00", "")
    )
    plain = await portfolio.search(question)
    spoken = await portfolio.search(words)
    assert [hit.id for hit in plain.hits] == [hit.id for hit in spoken.hits]


@SHORT
@given(
    made=st.builds(
        Entry,
        section=st.just("s\x00"),
        title=ANY_TEXT.map("Título {}".format),
        content=ANY_TEXT,
        aliases=st.lists(ANY_TEXT, max_size=3).map(tuple),
        tags=st.lists(ANY_TEXT, max_size=3).map(tuple),
        metadata=st.dictionaries(ANY_TEXT, ANY_TEXT | st.integers() | st.none(), max_size=3),
        source=ANY_TEXT,
    )
)
async def test_any_entry_is_stored_and_searched(kb, made):
    (entry_id,) = await kb.add([made])
    assert await kb.add([made]) == [entry_id]
    found = await kb.search(f"{made.title} {made.content}", section="s", limit=100)
    assert entry_id in [hit.id for hit in found.hits]
    assert "\x00" not in (await kb.get(entry_id)).content


@SHORT
@given(
    section=ANY_TEXT,
    tag=ANY_TEXT,
    value=ANY_TEXT,
    collection=st.text(min_size=1, max_size=199).map("c{}".format),
)
@example(section="\ud800", tag="\udfff", value="\ud800\x00", collection="\x00c")
async def test_any_filter_is_a_result(kb, section, tag, value, collection):
    result = await kb.search(
        "tarifas", section=section, tags=[tag], metadata={value: value}, collection=collection
    )
    assert result.hits == ()


async def test_folding_is_that_of_the_database_for_spanish_words(portfolio):
    words = ["Facturación", "AÑOS", "ﬁel", "an\u0303o", "so\u00adft", "ÁÉÍÓÚÜ", "Ç", "à"]
    there = await portfolio.pool.fetch(
        "SELECT kb_search.fold(w) AS w FROM unnest($1::text[]) AS w", words
    )
    assert [row["w"] for row in there] == [fold(word) for word in words]
