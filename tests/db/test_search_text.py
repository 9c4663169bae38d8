"""What a hit says of itself: matched words, snippets, highlights; and the explanation."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kb_search import Entry
from kb_search.words import fold

SHORT = settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def entry(title, content="", **more):
    return Entry(section="faq", title=title, content=content, **more)


async def first(kb, question, **more):
    return (await kb.search(question, **more)).hits[0]


async def test_matched_on_names_field_words_and_counts(kb):
    await kb.add(
        [
            entry(
                "Tarifas por proyecto",
                "Un proyecto pequeño, otro proyecto grande y los proyectos de siempre.",
                aliases=("¿Cuánto cobra por un proyecto?",),
                tags=("Proyectos",),
            )
        ]
    )
    hit = await first(kb, "cuanto cobras por proyecto")
    assert hit.matched_on == (
        "title: por, proyecto; alias: cuánto, cobra, por, proyecto; tag: proyectos;"
        " content: proyecto ×2, proyectos"
    )


async def test_matched_on_shows_words_as_the_entry_writes_them(kb):
    await kb.add([entry("FACTURACIÓN Electrónica", "Con C++ y Node.js, en el 600 123 456.")])
    assert (await first(kb, "facturacion")).matched_on == "title: facturación"
    assert (await first(kb, "c++")).matched_on == "content: c++"
    assert (await first(kb, "nodejs")).matched_on == "content: node.js"
    assert (await first(kb, "600123456")).matched_on == "content: 600 123 456"


async def test_matched_on_says_what_was_typed_instead(kb):
    await kb.add([entry("Gastos de envío", "A casa.")])
    assert (await first(kb, "embio")).matched_on == "title: envío (typed embio)"


async def test_headings_of_a_document_count_as_its_title(kb):
    await kb.pool.execute(
        "INSERT INTO kb_search.entry (collection, title, content, heading_path)"
        " VALUES ($1, 'Plazos', 'Texto.', ARRAY['Manual', 'Garantías'])",
        kb.settings.collection,
    )
    hit = await first(kb, "garantia")
    assert hit.matched_on == "title: garantías"
    assert hit.heading_path == ("Manual", "Garantías")


async def test_a_short_text_is_its_own_snippet(kb):
    await kb.add([entry("Aforo", "El aforo es de cien personas.")])
    hit = await first(kb, "cuantas personas caben")
    assert hit.snippet == "El aforo es de cien personas."
    assert [hit.snippet[a:b] for a, b in hit.highlights] == ["personas"]


async def test_the_snippet_is_the_passage_with_the_densest_matches(kb):
    filler = "Aquí no hay nada que ver por ahora. " * 40
    text = f"{filler}Una persona. {filler}El aforo máximo es de cien personas sentadas. {filler}"
    await kb.add([entry("Sala", text)])
    hit = await first(kb, "aforo maximo de personas")
    assert "El aforo máximo es de cien personas sentadas." in hit.snippet
    assert hit.snippet.startswith("…")
    assert hit.snippet.endswith("…")
    assert 150 <= len(hit.snippet) <= 350
    marked = [hit.snippet[a:b] for a, b in hit.highlights]
    assert [word for word in marked if len(word) > 2] == ["aforo", "máximo", "personas"]


async def test_a_snippet_is_cut_at_the_ends_of_sentences(kb):
    text = " ".join(f"Esta es la frase número {n} de un texto." for n in range(100))
    await kb.add([entry("Frases", text + " Aquí está el murciélago azul. " + text)])
    inner = (await first(kb, "murciélago")).snippet.strip("…")
    assert inner.startswith(("Esta es", "Aquí está"))
    assert inner.endswith(".")


async def test_without_a_match_in_the_text_the_snippet_is_its_beginning(kb):
    text = "Había una vez un texto. " * 100
    await kb.add([entry("Cuento", text)])
    hit = await first(kb, "cuento")
    assert text.startswith(hit.snippet.rstrip("…"))
    assert hit.highlights == ()


async def test_the_snippet_in_html_is_escaped_before_it_is_marked(kb):
    await kb.add([entry("Aviso", "<img src=x onerror=alert(1)> la «factura» & <b>factura</b>")])
    html = (await first(kb, "factura")).snippet_html()
    assert "<img" not in html
    assert "<b>" not in html
    assert html.count("<mark>factura</mark>") == 2
    assert "&lt;b&gt;<mark>factura</mark>&lt;/b&gt;" in html


async def test_only_the_rows_that_are_returned_carry_a_snippet_of_the_right_entry(portfolio):
    result = await portfolio.search("proyectos con python", limit=10)
    for hit in result.hits:
        inner = hit.snippet.strip("…")
        assert inner in hit.content


WORDS = (
    """envío ENVI\u0301O envi\u00ado envíos el C++ node.js 🙂 ﬁn İ ß ñu - , ¿ ’ <b> & 1.000,50"""
)
PIECES = st.sampled_from([*WORDS.split(), " ", ". ", "\n", "\u200b", "600 123 456", "x" * 90])


@SHORT
@given(pieces=st.lists(PIECES, min_size=1, max_size=60), prefix=st.text(max_size=40))
async def test_offsets_of_highlights_are_right_for_any_text(kb, pieces, prefix):
    text = prefix + " envío " + "".join(pieces)
    await kb.remove(collection=kb.settings.collection)
    (entry_id,) = await kb.add([entry("Texto", text)])
    result = await kb.search("envio c++ nodejs 600123456")
    hit = result.hits[0]
    assert hit.id == entry_id
    at = 0
    for start, end in hit.highlights:
        assert at <= start < end <= len(hit.snippet)
        word = fold(hit.snippet[start:end])
        # any of them inside: İnode.js is near enough to node.js to be what was meant
        assert any(w in word for w in ("envi", "c++", "node", "js", "600", "123", "456")), word
        at = end
    assert hit.highlights
    assert hit.snippet.strip("…") in hit.content
    bare = hit.snippet_html().replace("<mark>", "").replace("</mark>", "")
    assert "<" not in bare


@pytest.mark.parametrize("chars", [80, 300, 2000])
async def test_a_snippet_keeps_to_its_length(dsn, collection, chars):
    from kb_search import KnowledgeBase
    from kb_search.settings import load_settings

    configured = load_settings(dsn=dsn, collection=collection, snippet_chars=chars)
    async with KnowledgeBase.open(configured) as kb:
        texts = ["palabra " * 2000, "x" * 9000 + " clave", "Frase corta. " * 900, "clave " * 700]
        await kb.add([entry(f"Clave {n}", text) for n, text in enumerate(texts)])
        for hit in (await kb.search("clave", limit=10)).hits:
            assert len(hit.snippet) <= chars * 1.2 + 2
        await kb.remove(collection=collection)


async def test_the_explanation_tells_each_word_its_rarity_and_its_share(kb):
    await kb.add(
        [
            entry("Gastos de envío", "Son 5 €."),
            entry("Plazos de envío", "Dos días."),
            entry("Horario", "De lunes a viernes."),
        ]
    )
    await kb.add_synonym("coste", "gastos")
    result = await kb.search("cuál es el coste del embío", explain=True)
    traces = {trace.word: trace for trace in result.explanation}
    assert list(traces) == ["cuál", "es", "el", "coste", "del", "embío"]
    assert traces["coste"].synonyms == ("gastos",)
    assert traces["coste"].entries == 0
    assert traces["embío"].corrected_to == ("envio",)
    assert traces["embío"].lexemes
    assert traces["coste"].weight > traces["el"].weight >= 0
    assert sum(trace.share for trace in traces.values()) == pytest.approx(1)
    assert traces["coste"].share > 0.3
    assert traces["cuál"].share == 0


async def test_without_asking_there_is_no_explanation(portfolio):
    assert (await portfolio.search("tarifas")).explanation == ()


async def test_nothing_found_is_explained_too(kb):
    result = await kb.search("zarzuela", explain=True)
    (trace,) = result.explanation
    assert (trace.word, trace.entries, trace.share) == ("zarzuela", 0, 0)


async def test_a_result_tells_how_long_it_took_and_what_was_asked(portfolio):
    result = await portfolio.search("  ¿Cuánto cobra?  ")
    assert result.query == "  ¿Cuánto cobra?  "
    assert result.took_ms > 0
    assert (result.degraded, result.truncated) == ((), False)
