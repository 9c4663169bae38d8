"""An agent with a fixed policy instead of a model: it searches, reads, cites, or declines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from mcp import Client

from kb_search import KnowledgeBase
from tests.mcp.serving import answer, client_of

# (collection, question, title to cite, what the text must say)
ANSWERED = [
    ("default", "¿cuánto me cobrarías por hora?", "Tarifas", "€"),
    ("default", "en q lenguajes programas", "Lenguajes y tecnologías", "Python"),
    ("default", "tienes experiensia con dockers?", "Docker y contenedores", "Docker"),
    ("default", "me firmas un nda", "Confidencialidad", "NDA"),
    (
        "default",
        "si algo se rompe después de entregarlo, ¿lo arreglas gratis?",
        "Garantía del trabajo",
        "seis meses",
    ),
    ("default", "¿de quién es el código cuando termines?", "Propiedad del código", "es tuyo"),
    (
        "default",
        "en cuánto tiempo tendría lista una web sencilla",
        "Plazos de entrega",
        "dos o tres semanas",
    ),
    ("default", "¿qué estudiaste en la universidad?", "Estudios", "Ingeniería Informática"),
    ("default", "¿cuál es tu correo electrónico?", "Contacto", "hola@example.com"),
    ("default", "hábleme del Security Dashboard", "Proyecto: Security Dashboard", "Security"),
    ("default", "¿has trabajado para bancos?", "Experiencia en banca y medios de pago", "pago"),
    ("default", "me interesa una auditoria de ciberseguridad", "Auditoría de seguridad", "1.800 €"),
    ("tienda", "cuanto vale el envio a canarias", "Gastos de envío", "12,50 €"),
    ("tienda", "¿cuántos días tengo para devolver un producto?", "Plazo para devolver", "días"),
    ("tienda", "me cobraron dos veses lo mismo", "Cobro duplicado", "dos"),
    ("tienda", "aceptan bizum?", "Formas de pago", "Bizum"),
    ("tienda", "olvide mi contraseña", "Contraseña olvidada", "contraseña"),
    ("tienda", "a qué hora cierran las tiendas", "Horario de las tiendas", ":00"),
    ("tienda", "CAF-2040", "Cafetera automática CAF-2040", "CAF-2040"),
    ("tienda", "¿dónde está mi paquete?", "Seguimiento del pedido", "seguimiento"),
]
DECLINED = [
    ("default", "¿cuál es la capital de Mongolia?"),
    ("default", "¿cuántos goles marcó el Betis el domingo?"),
    ("default", "receta de paella valenciana"),
    ("tienda", "¿quién ganó las elecciones de 1982?"),
    ("tienda", "dime un poema sobre la luna"),
]


@dataclass(frozen=True)
class Reply:
    text: str
    cites: tuple[str, ...]
    opened: int


async def agent(client: Client, collection: str, question: str) -> Reply:
    """Search; decline when it is not sure; open the first hit where its snippet is not all."""
    found: dict[str, Any] = answer(
        await client.call_tool("search", {"query": question, "collection": collection})
    )
    if not found["confident"]:
        return Reply("No he encontrado una respuesta segura a eso.", (), 0)
    best = found["hits"][0]
    if len(best["snippet"]) >= best["chars"]:
        return Reply(best["snippet"], (best["cite"],), 0)
    text, opened, arguments = "", 0, {"id": best["id"]}
    while True:
        part = answer(await client.call_tool("get_section", arguments))
        text += part["text"]
        opened += 1
        if part["next_cursor"] is None:
            return Reply(text, (part["cite"],), opened)
        arguments["cursor"] = part["next_cursor"]


async def reply_to(kb: KnowledgeBase, collection: str, question: str) -> Reply:
    async with client_of(kb, collections=("default", "tienda")) as client:
        return await agent(client, collection, question)


@pytest.mark.parametrize("case", ANSWERED, ids=lambda case: case[1])
async def test_the_agent_answers_with_the_right_citation(portfolio, tienda, case):
    collection, question, title, fact = case
    reply = await reply_to(portfolio, collection, question)
    assert [cite.partition("» (")[0] for cite in reply.cites] == [f"«{title}"]
    assert fact in reply.text


@pytest.mark.parametrize(("collection", "question"), DECLINED)
async def test_the_agent_declines_what_nothing_answers(portfolio, tienda, collection, question):
    reply = await reply_to(portfolio, collection, question)
    assert reply.cites == ()
    assert "No he encontrado" in reply.text
