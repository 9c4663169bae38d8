"""Words that are not there as typed: slips, words run together or split, synonyms; and operators."""

from __future__ import annotations

import pytest

from kb_search import Entry, KnowledgeBase, QueryError


def entry(title, content="", **more):
    return Entry(section="faq", title=title, content=content, **more)


def answers(result):
    return [hit.title for hit in result.hits if hit.layer != "fallback"]


@pytest.fixture
async def shop(kb):
    """A small shop."""
    await kb.add(
        [
            Entry(section="identidad", title="Quiénes somos", content="Una tienda de barrio."),
            entry("Gastos de envío", "Enviamos a toda España por 5 €."),
            entry("Política de devoluciones", "Hay 30 días para devolver la compra."),
            entry("Facturación electrónica", "La factura llega por correo."),
            entry("Contraseña olvidada", "Pulse en recuperar."),
            entry("Servicio post-venta", "Taller propio de reparaciones."),
            entry("Tarjeta de regalo", "Desde 20 €, con código ABC-1234."),
            entry("Horario", "Abrimos los domingos por la mañana, con IA y con el IVA incluido."),
            entry("Desarrollo con Python", "También con Node.js, C++ y C#."),
        ]
    )
    return kb


@pytest.mark.parametrize(
    ("question", "corrections", "first"),
    [
        ("embio", {"embio": "envio"}, "Gastos de envío"),
        ("los gatsos", {"gatsos": "gastos"}, "Gastos de envío"),
        ("fatcura", {"fatcura": "factura"}, "Facturación electrónica"),
        ("FATCURA", {"FATCURA": "factura"}, "Facturación electrónica"),
        ("facturasión", {"facturasión": "facturacion"}, "Facturación electrónica"),
        ("deboluciones", {"deboluciones": "devoluciones"}, "Política de devoluciones"),
        ("contrasenia olvidada", {"contrasenia": "contraseña"}, "Contraseña olvidada"),
        ("orario", {"orario": "horario"}, "Horario"),
        ("pytohn", {"pytohn": "python"}, "Desarrollo con Python"),
        ("targeta", {"targeta": "tarjeta"}, "Tarjeta de regalo"),
        ("reaglo", {"reaglo": "regalo"}, "Tarjeta de regalo"),
        ("el domigno", {"domigno": "domingos"}, "Horario"),
        ("horraio y facutra", {"horraio": "horario", "facutra": "factura"}, None),
    ],
)
async def test_slips_are_put_right_and_reported_as_typed(shop, question, corrections, first):
    result = await shop.search(question)
    assert result.corrections == corrections
    if first:
        assert answers(result)[0] == first


@pytest.mark.parametrize(
    "question",
    [
        "envio",
        "enviar",
        "ENVÍOS",
        "envi\u0301o",
        "contrasena",
        "facturas",
        "devolver",
        "postventa",
        "post venta",
        "abc1234",
        "nodejs",
        "c++",
    ],
)
async def test_a_word_that_is_found_is_never_corrected(shop, question):
    result = await shop.search(question)
    assert result.corrections == {}
    assert answers(result)


@pytest.mark.parametrize(
    "question",
    [
        "ABC-1235",
        "ABC-123",
        "21 €",
        "5000",
        "UVA",
        "IBA",
        "EA",
        "IE",
        "C",
        "2O",
        "XYZ",
        "600 123 456",
    ],
)
async def test_acronyms_and_numbers_are_never_turned_into_something_else(shop, question):
    result = await shop.search(question)
    assert result.corrections == {}
    assert not result.confident


@pytest.mark.parametrize(
    "word",
    [
        "cosas",  # gastos
        "fractura",  # factura
        "facturado",
        "gusto",
        "gatos",
        "ovario",  # horario
        "taller",
        "caballo",
        "española",
        "regar",
        "domino",
        "novio",  # envío
        "desenvolver",
        "evolución",
        "hablábamos",
        "cantarían",
        "tarea",
        "tarjetón",
    ],
)
async def test_a_real_word_of_spanish_that_the_collection_lacks_is_no_slip(shop, word):
    assert (await shop.search(word)).corrections == {}


@pytest.mark.parametrize(
    ("question", "corrections", "first"),
    [
        ("gastosde envío", {"gastosde": "gastos de"}, "Gastos de envío"),
        ("tarjetaregalo", {"tarjetaregalo": "tarjeta regalo"}, "Tarjeta de regalo"),
        ("post venta", {}, "Servicio post-venta"),
        ("contra seña olvidada", {"contra": "contraseña"}, "Contraseña olvidada"),
        ("de voluciones", {}, None),
    ],
)
async def test_words_run_together_or_split_are_put_right(shop, question, corrections, first):
    result = await shop.search(question)
    if first:
        assert answers(result)[0] == first
        assert result.corrections.items() >= corrections.items()
    else:
        assert answers(result)


async def test_a_correction_counts_less_than_the_word_itself(kb):
    await kb.add([entry("Recibo", "x"), entry("Recibí", "x")])
    typed, slip = await kb.search("recibo"), await kb.search("reccibo")
    assert typed.hits[0].title == slip.hits[0].title == "Recibo"
    assert 0 < slip.hits[0].score < typed.hits[0].score
    assert slip.confidence < typed.confidence


async def test_a_correction_never_brings_a_word_of_another_collection(kb):
    await kb.add([entry("Horario", "Abierto.")])
    await kb.add([entry("Orarios", "x")], collection=f"{kb.settings.collection}-2")
    assert (await kb.search("orario")).corrections == {"orario": "horario"}
    await kb.remove(collection=f"{kb.settings.collection}-2")


async def test_a_word_that_left_the_collection_corrects_nothing_any_more(kb):
    (entry_id, _) = await kb.add([entry("Aspiradora", "x"), entry("Otra", "y")])
    assert (await kb.search("aspirdora")).corrections == {"aspirdora": "aspiradora"}
    await kb.remove(ids=[entry_id])
    assert (await kb.search("aspirdora")).corrections == {}


async def test_a_synonym_holds_both_ways(shop):
    await shop.add_synonym("coste", "gastos")
    assert answers(await shop.search("coste"))[0] == "Gastos de envío"
    await shop.add([entry("Coste del seguro", "Tres euros.")])
    assert set(answers(await shop.search("gastos"))) == {"Gastos de envío", "Coste del seguro"}
    assert answers(await shop.search("gastos"))[0] == "Gastos de envío"


async def test_a_one_way_synonym_holds_one_way(shop):
    await shop.add_synonym("coste", "gastos", one_way=True)
    await shop.add([entry("Coste del seguro", "Tres euros.")])
    assert answers(await shop.search("gastos")) == ["Gastos de envío"]
    assert set(answers(await shop.search("coste"))) == {"Gastos de envío", "Coste del seguro"}


async def test_a_synonym_of_several_words_needs_all_of_them_in_order(shop):
    await shop.add_synonym("mandar de vuelta", "devolver", one_way=True)
    assert answers(await shop.search("quiero mandarlo de vuelta")) == ["Política de devoluciones"]
    assert "Política de devoluciones" not in answers(await shop.search("de vuelta, mandar"))
    assert "Política de devoluciones" not in answers(await shop.search("vuelta"))


async def test_a_synonym_into_several_words_looks_for_each_of_them(shop):
    await shop.add_synonym("giftcard", "tarjeta de regalo")
    result = await shop.search("la giftcard")
    assert answers(result)[0] == "Tarjeta de regalo"
    assert result.corrections == {}
    assert answers(await shop.search("giftcard abc-1234"))[0] == "Tarjeta de regalo"


async def test_a_synonym_is_found_in_other_forms_and_accents(shop):
    await shop.add_synonym("Reembolsó", "DEVOLUCIÓN")
    assert answers(await shop.search("reembolsos"))[0] == "Política de devoluciones"


async def test_a_removed_synonym_is_forgotten(shop):
    await shop.add_synonym("coste", "gastos")
    assert await shop.remove_synonym("gastos", "coste") == 1
    assert await shop.synonyms() == []
    assert answers(await shop.search("coste")) == []


async def test_a_synonym_says_for_what_it_stands(shop):
    await shop.add_synonym("coste", "gastos")
    (hit, *_) = (await shop.search("coste")).hits
    assert hit.matched_on == "title: gastos (for coste)"


@pytest.mark.parametrize(
    ("phrase", "other"), [("", "a"), ("a", "¿?"), ("a", "A"), ("b" * 201, "a"), ("Envío", "envio")]
)
async def test_a_synonym_needs_two_different_sides(shop, phrase, other):
    with pytest.raises(QueryError):
        await shop.add_synonym(phrase, other)
    assert await shop.synonyms() == []


@pytest.fixture(scope="module")
async def web(dsn):
    """A collection to try operators on, for reading only."""
    async with KnowledgeBase.open(dsn=dsn, collection="test-web-syntax") as kb:
        await kb.add(
            [
                entry("Tarjeta de crédito", "Se acepta en la web."),
                entry("Tarjeta de regalo", "Se compra en la tienda."),
                entry("Regalo sorpresa", "Con cada compra, de crédito o no."),
                entry("Crédito al consumo", "No hay tarjeta que valga."),
                entry("Código ABC-1234", "El de C++."),
            ]
        )
        yield kb
        await kb.remove(collection="test-web-syntax")


CREDIT_CARD, GIFT_CARD, GIFT, CREDIT, CODE = (
    "Tarjeta de crédito",
    "Tarjeta de regalo",
    "Regalo sorpresa",
    "Crédito al consumo",
    "Código ABC-1234",
)


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("tarjeta crédito", {CREDIT_CARD, GIFT_CARD, GIFT, CREDIT}),
        ('"tarjeta de crédito"', {CREDIT_CARD}),
        ('"TARJETA DE CREDITO"', {CREDIT_CARD}),
        ("«tarjeta de regalo»", {GIFT_CARD}),
        ("“tarjeta de regalo”", {GIFT_CARD}),
        ('"tarjeta crédito"', set()),
        ('"tarjetas de crédito"', set()),  # word for word
        ('"crédito se acepta"', set()),  # title and text are different fields
        ('"regalo"', {GIFT_CARD, GIFT}),
        ("tarjeta -crédito", {GIFT_CARD}),
        ("tarjeta -credito -regalos", set()),
        ('tarjeta -"de regalo"', {CREDIT_CARD, CREDIT}),
        ("tarjeta AND crédito", {CREDIT_CARD, CREDIT}),
        ("tarjeta AND regalo AND tienda", {GIFT_CARD}),
        ("sorpresa OR tienda", {GIFT, GIFT_CARD}),
        ("tarjeta AND crédito OR regalo", {CREDIT_CARD, CREDIT, GIFT_CARD}),
        ('"tarjeta de crédito" OR sorpresa', {CREDIT_CARD, GIFT}),
        ('"tarjeta de crédito" OR "tarjeta de regalo"', {CREDIT_CARD, GIFT_CARD}),
        ('"abc-1234"', {CODE}),
        ('"c++"', {CODE}),
        ('"abc 1234"', {CODE}),
        ("ABC-1234 -tienda", {CODE}),
        ("tarjeta AND abc-9", set()),
        ("código -c++", set()),
        ("código -c", {CODE}),
        # what does not parse is plain text
        ('"tarjeta de', {CREDIT_CARD, GIFT_CARD, CREDIT, GIFT}),
        ("sorpresa -", {GIFT}),
        ("sorpresa - tienda", {GIFT, GIFT_CARD}),
        ("OR sorpresa", {GIFT}),
        ("sorpresa AND", {GIFT}),
        ("sorpresa OR OR tienda", {GIFT, GIFT_CARD}),
        ('"" sorpresa', {GIFT}),
        ('sorpresa "¿?"', {GIFT}),
        ("sorpresa or tienda", {GIFT, GIFT_CARD}),
        ("-sorpresa", set()),
        ("sorpresa -sorpresa", set()),
    ],
)
async def test_operators_of_a_web_search(web, question, found):
    result = await web.search(question, syntax="web", limit=20)
    if question == '"tarjeta de':
        assert set(answers(result)) >= {CREDIT_CARD, GIFT_CARD, CREDIT}
    else:
        assert set(answers(result)) == found


async def test_operators_go_with_filters_and_corrections(web):
    result = await web.search("sopresa -tienda", syntax="web", section="faq")
    assert answers(result) == [GIFT]
    assert result.corrections == {"sopresa": "sorpresa"}
    assert answers(await web.search('"regalo sorpresa"', syntax="web", section="otra")) == []


@pytest.mark.parametrize(
    "question",
    ['"tarjeta crédito"', "tarjeta -crédito", "tarjeta AND crédito", "sorpresa OR crédito"],
)
async def test_by_default_everything_is_plain_text(web, question):
    plain = await web.search(question, limit=20)
    assert CREDIT_CARD in answers(plain)
    assert set(answers(plain)) >= set(
        answers(await web.search(question.replace('"', ""), limit=20))
    )


@pytest.mark.parametrize(
    "question",
    ["tarjeta & !crédito", "tarjeta:*", "tarjeta <-> crédito", "tarjeta | (", "!tarjeta"],
)
@pytest.mark.parametrize("syntax", ["plain", "web"])
async def test_operators_of_the_database_are_plain_text_always(web, question, syntax):
    assert CREDIT_CARD in answers(await web.search(question, syntax=syntax, limit=20))
