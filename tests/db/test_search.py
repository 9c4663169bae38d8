"""What a search returns: layers, fixed rows, filters, order, collections."""

from __future__ import annotations

import pytest

from kb_search import Entry, KnowledgeBase, QueryError
from kb_search.settings import load_settings


def entry(title, content="", *, section="faq", **more):
    return Entry(section=section, title=title, content=content, **more)


IDENTITY = entry("Quién responde", "Soy el asistente.", section="identidad")
SKILL = entry("Qué sabe hacer", "Sabe contestar.", section="skills")
SHIPPING = entry(
    "Gastos de envío",
    "Enviar a la península cuesta 5 €.",
    aliases=("¿cuánto cuesta enviar?",),
    tags=("envíos", "precios"),
    metadata={"pais": "ES", "orden": 1},
)
RETURNS = entry("Plazo de devolución", "Hay 30 días para devolver.", tags=("devoluciones",))


def answers(result):
    return [hit.title for hit in result.hits if hit.layer != "fallback"]


def fixed(result):
    return [hit.title for hit in result.hits if hit.layer == "fallback"]


async def test_a_question_whose_words_are_there_is_answered_by_full_text(kb):
    await kb.add([IDENTITY, SHIPPING, RETURNS])
    result = await kb.search("gastos de envio")
    assert (result.layer, answers(result)[0]) == ("fts", "Gastos de envío")
    assert result.confident
    assert fixed(result) == []


async def test_a_question_of_which_only_a_correction_is_found_is_of_the_layer_typo(kb):
    await kb.add([IDENTITY, SHIPPING, RETURNS])
    result = await kb.search("debolucion")
    assert (result.layer, answers(result)) == ("typo", ["Plazo de devolución"])
    assert result.corrections == {"debolucion": "devolucion"}


async def test_a_slip_beside_a_word_as_typed_leaves_the_layer_full_text(kb):
    await kb.add([IDENTITY, SHIPPING, RETURNS])
    result = await kb.search("plaso para devolver")
    assert (result.layer, answers(result)[0]) == ("fts", "Plazo de devolución")


async def test_a_common_word_beside_a_slip_does_not_make_it_full_text(kb):
    await kb.add([IDENTITY, SHIPPING, entry("De la debolucion", "de")])
    result = await kb.search("de embio")
    assert (result.layer, answers(result)[0]) == ("typo", "Gastos de envío")


async def test_a_question_of_common_words_alone_counts_them(kb):
    await kb.add([SHIPPING, entry("¿Quién eres?", "Un asistente.")])
    result = await kb.search("quien eres")
    assert (result.layer, answers(result)[0]) == ("fts", "¿Quién eres?")


async def test_a_title_that_looks_like_the_whole_question_is_the_last_resort(kb):
    await kb.add([IDENTITY, entry("Xilofonoterapia", "Una terapia.")])
    result = await kb.search("xilofonoterapiastica")
    assert (result.layer, answers(result)) == ("typo", ["Xilofonoterapia"])
    assert not result.confident
    assert result.hits[0].matched_on.startswith("title or alias")
    assert fixed(result) == ["Quién responde"]


async def test_nothing_found_leaves_the_fixed_rows_and_is_no_error(kb):
    await kb.add([IDENTITY, SKILL, SHIPPING])
    result = await kb.search("zarzuela napolitana")
    assert result.layer == "fallback"
    assert answers(result) == []
    assert fixed(result) == ["Quién responde", "Qué sabe hacer"]
    assert [hit.score for hit in result.hits] == [None, None]
    assert (result.confident, result.confidence) == (False, 0.0)


async def test_an_empty_collection_gives_no_hit_and_the_layer_fallback(kb):
    result = await kb.search("tarifas", collection="no hay tal colección")
    assert (result.layer, result.hits, result.confident) == ("fallback", (), False)


async def test_fixed_rows_follow_weak_evidence_and_are_not_counted_in_the_limit(kb):
    await kb.add([IDENTITY, SKILL] + [entry(f"Sobre asuntos {n}", "Asuntos.") for n in range(4)])
    result = await kb.search("asuntos perdidos entre zarzuelas, acueductos y murciélagos", limit=2)
    assert not result.confident
    assert len(answers(result)) == 2
    assert [hit.layer for hit in result.hits] == ["fts", "fts", "fallback", "fallback"]


async def test_a_fixed_row_that_is_a_hit_already_is_not_repeated(kb):
    await kb.add([IDENTITY, SKILL])
    result = await kb.search("asistente para murciélagos, zarzuelas y acueductos")
    assert not result.confident
    assert answers(result) == ["Quién responde"]
    assert fixed(result) == ["Qué sabe hacer"]


async def test_fixed_rows_come_by_position_then_id_up_to_their_limit(dsn, collection):
    settings = load_settings(dsn=dsn, collection=collection, fallback_limit=3)
    async with KnowledgeBase.open(settings) as kb:
        ids = await kb.add([entry(f"Fija {n}", "x", section="identidad") for n in range(5)])
        await kb.pool.execute(
            "UPDATE kb_search.entry SET position = v.position FROM unnest($1::bigint[], $2::int[])"
            " AS v (id, position) WHERE entry.id = v.id",
            [ids[4], ids[1]],
            [0, 1],
        )
        result = await kb.search("zarzuela")
        assert fixed(result) == ["Fija 4", "Fija 1", "Fija 0"]
        await kb.remove(collection=collection)


async def test_fixed_rows_are_of_the_sections_that_the_settings_name(dsn, collection):
    settings = load_settings(dsn=dsn, collection=collection, fallback_sections="contacto")
    async with KnowledgeBase.open(settings) as kb:
        await kb.add([IDENTITY, entry("Contacto", "Llame.", section="contacto")])
        assert fixed(await kb.search("zarzuela")) == ["Contacto"]
        await kb.remove(collection=collection)
    none = load_settings(dsn=dsn, collection=collection, fallback_sections="")
    async with KnowledgeBase.open(none) as kb:
        assert (await kb.search("zarzuela")).hits == ()


async def test_fixed_rows_ignore_the_filters_but_not_the_collection(kb):
    await kb.add([IDENTITY, SHIPPING])
    await kb.add([SKILL], collection=f"{kb.settings.collection}-2")
    result = await kb.search("zarzuela", section="faq", tags=["precios"])
    assert fixed(result) == ["Quién responde"]
    await kb.remove(collection=f"{kb.settings.collection}-2")


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ({}, {"Uno", "Dos", "Tres"}),
        ({"section": "a"}, {"Uno", "Dos"}),
        ({"section": "A"}, set()),
        ({"tags": ["x"]}, {"Uno", "Tres"}),
        ({"tags": ["x", "y"]}, {"Uno"}),
        ({"tags": []}, {"Uno", "Dos", "Tres"}),
        ({"tags": ["z"]}, set()),
        ({"metadata": {"pais": "ES"}}, {"Uno", "Tres"}),
        ({"metadata": {"pais": "ES", "año": 2024}}, {"Tres"}),
        ({"metadata": {"datos": {"b": [2]}}}, {"Dos"}),
        ({"metadata": {}}, {"Uno", "Dos", "Tres"}),
        ({"section": "a", "tags": ["x"], "metadata": {"pais": "ES"}}, {"Uno"}),
        ({"section": "b", "metadata": {"pais": "MX"}}, set()),
    ],
)
@pytest.mark.parametrize("question", ["tarifas", "tarifsa"])
async def test_filters_narrow_every_layer(kb, filters, found, question):
    await kb.add(
        [
            entry("Uno", "tarifas", section="a", tags=("x", "y"), metadata={"pais": "ES"}),
            entry("Dos", "tarifas", section="a", tags=("y",), metadata={"datos": {"b": [1, 2]}}),
            entry(
                "Tres", "tarifas", section="b", tags=("x",), metadata={"pais": "ES", "año": 2024}
            ),
        ]
    )
    result = await kb.search(question, **filters)
    assert set(answers(result)) == found


async def test_filters_narrow_the_last_resort_too(kb):
    await kb.add([entry("Xilofonoterapia", section="a"), entry("Xilofonoterapia", section="b")])
    result = await kb.search("xilofonoterapiastica", section="b")
    assert [hit.section for hit in result.hits] == ["b"]


async def test_a_filter_finds_the_rare_among_many_of_the_same_words(kb):
    await kb.add([entry(f"Tarifa {n}", "La tarifa de siempre.") for n in range(600)])
    await kb.add([entry("Otra tarifa", "La tarifa de siempre.", section="otra")])
    assert answers(await kb.search("la tarifa de siempre", section="otra")) == ["Otra tarifa"]


async def test_equal_entries_come_newest_first_then_by_id(kb):
    ids = await kb.add([entry("Tarifa", "Cuarenta.", section=str(n)) for n in range(4)])
    await kb.pool.execute(
        "UPDATE kb_search.entry SET updated_at = '2020-01-01' WHERE id = ANY ($1)", ids[1:]
    )
    await kb.pool.execute(
        "UPDATE kb_search.entry SET updated_at = '2021-01-01' WHERE id = $1", ids[3]
    )
    for question in ("tarifa", "tarrifa", "cuarenta"):
        result = await kb.search(question)
        assert [hit.id for hit in result.hits] == [ids[0], ids[3], ids[1], ids[2]], question


async def test_the_limit_holds_and_the_order_does_not_depend_on_it(kb):
    await kb.add([entry(f"Tarifa {n}", "tarifa " * n) for n in range(1, 13)])
    every = [hit.id for hit in (await kb.search("tarifa", limit=100)).hits]
    assert len(every) == 12
    for limit in (1, 2, 5, 12):
        assert [hit.id for hit in (await kb.search("tarifa", limit=limit)).hits] == every[:limit]
    assert len((await kb.search("tarifa")).hits) == kb.settings.limit


async def test_the_score_falls_from_hit_to_hit_between_0_and_1(portfolio):
    for question in (
        "proyectos con python",
        "cuanto cobra",
        "tarifas tarifas tarifas",
        "de la que",
    ):
        scores = [hit.score for hit in (await portfolio.search(question, limit=20)).hits]
        scores = [score for score in scores if score is not None]
        assert scores == sorted(scores, reverse=True)
        assert all(0 < score <= 1 for score in scores)


async def test_the_score_is_higher_where_more_of_the_question_is_said(kb):
    await kb.add(
        [entry("Factura de empresa", "x"), entry("Factura", "x"), entry("Otra cosa", "Factura.")]
    )
    result = await kb.search("factura de empresa")
    assert answers(result) == ["Factura de empresa", "Factura", "Otra cosa"]
    assert result.hits[0].score > result.hits[1].score > result.hits[2].score


async def test_titles_and_aliases_count_most_then_tags_then_the_text(kb):
    await kb.add(
        [
            entry("C", "Todo sobre el reembolso de compras."),
            entry("T", "Aquí otra cosa.", tags=("reembolso",)),
            entry("A", "Aquí otra cosa.", aliases=("el reembolso",)),
            entry("Reembolso", "Aquí otra cosa."),
        ]
    )
    result = await kb.search("reembolso")
    assert answers(result) == ["Reembolso", "A", "T", "C"]
    assert result.hits[1].score > 0.75 * result.hits[0].score


async def test_collections_know_nothing_of_one_another(kb):
    here, there = kb.settings.collection, f"{kb.settings.collection}-2"
    await kb.add([entry("Tarifas", "Desde 40 €.")])
    before = await kb.search("tarifas")
    await kb.add([entry("Tarifas", "Secreto."), entry("Facturación", "Secreta.")], collection=there)
    await kb.add_synonym("precio", "tarifa", collection=there)
    after = await kb.search("tarifas")
    assert after.hits == before.hits
    assert answers(await kb.search("precio")) == []
    assert answers(await kb.search("facturasion")) == []
    assert (await kb.search("facturasion")).corrections == {}
    assert {hit.collection for hit in (await kb.search("tarifas", collection=there)).hits} == {
        there
    }
    await kb.remove(collection=there)
    assert answers(await kb.search("tarifas", collection=here)) == ["Tarifas"]


async def test_an_entry_written_by_plain_sql_is_found_at_once_and_gone_at_once(kb):
    (row,) = await kb.pool.fetch(
        "INSERT INTO kb_search.entry (collection, section, title, content)"
        " VALUES ($1, 'tarifas', 'Tarifas', 'Desde 40 €') RETURNING id",
        kb.settings.collection,
    )
    assert answers(await kb.search("tarifa")) == ["Tarifas"]
    await kb.pool.execute(
        "UPDATE kb_search.entry SET title = 'Honorarios' WHERE id = $1", row["id"]
    )
    assert answers(await kb.search("tarifa")) == []
    assert answers(await kb.search("honorario")) == ["Honorarios"]
    await kb.pool.execute("DELETE FROM kb_search.entry WHERE id = $1", row["id"])
    assert answers(await kb.search("honorario")) == []


async def test_entries_without_a_title_are_found_by_their_text(kb):
    await kb.add([Entry(section="", title="", content="El aforo es de cien personas.")])
    result = await kb.search("aforo")
    assert result.hits[0].content == "El aforo es de cien personas."


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"limit": 0}, "limit must be"),
        ({"limit": 101}, "limit must be"),
        ({"limit": True}, "limit must be"),
        ({"limit": "4"}, "limit must be"),
        ({"mode": "magic"}, "mode must be"),
        ({"syntax": "lucene"}, "syntax must be"),
        ({"collection": ""}, "1 to 200 characters"),
        ({"collection": "x" * 201}, "1 to 200 characters"),
        ({"tags": "precios"}, "tags must be"),
        ({"tags": [1]}, "tags must be"),
        ({"section": 3}, "section must be"),
        ({"metadata": ["a"]}, "metadata must be"),
        ({"metadata": {"a": {1, 2}}}, "metadata is not JSON"),
        ({"metadata": {"a": float("nan")}}, "metadata is not JSON"),
    ],
)
async def test_an_argument_that_cannot_be_used_is_refused_with_its_name(kb, arguments, message):
    with pytest.raises(QueryError, match=message):
        await kb.search("tarifas", **arguments)


@pytest.mark.parametrize("question", [None, 7, b"tarifas", ["tarifas"]])
async def test_a_question_that_is_no_text_is_refused(kb, question):
    with pytest.raises(QueryError, match="the question must be a text"):
        await kb.search(question)
