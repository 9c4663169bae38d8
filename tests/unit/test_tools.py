from __future__ import annotations

import json
from typing import Any

import pytest

from kb_search.errors import NotOpen, QueryError, QueryTimeout, Unreachable
from kb_search.models import SearchResult
from kb_search.tools import SearchPortfolio, parameters, search_portfolio
from tests.unit.test_grounding import hit, result


class KnowledgeBase:
    """Answers every search with the same, and remembers how it was asked."""

    def __init__(self, answer: SearchResult | Exception) -> None:
        self.answer = answer
        self.asked: list[tuple[str, dict[str, Any]]] = []

    async def search(self, text: str, **options: Any) -> SearchResult:
        self.asked.append((text, options))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def tool(answer: SearchResult | Exception, **options: Any) -> tuple[SearchPortfolio, Any]:
    kb: Any = KnowledgeBase(answer)
    return SearchPortfolio(kb, **options), kb


def test_both_formats_describe_the_same_tool():
    made, _ = tool(result(hit()))
    openai = made.openai_tool()
    anthropic = made.anthropic_tool()
    assert openai["type"] == "function"
    assert openai["function"]["name"] == anthropic["name"] == "search_portfolio"
    assert openai["function"]["description"] == anthropic["description"]
    assert openai["function"]["parameters"] == anthropic["input_schema"] == parameters()
    assert json.loads(json.dumps(openai)) == openai


def test_the_schema_asks_for_the_question_and_allows_nothing_else():
    schema = parameters()
    assert schema["required"] == ["consulta"]
    assert schema["additionalProperties"] is False
    assert all(part["description"] for part in schema["properties"].values())


@pytest.mark.parametrize(
    "arguments", ['{"consulta": "cuánto cobra", "seccion": ""}', {"consulta": "cuánto cobra"}]
)
async def test_a_call_is_answered_with_grounding_text(arguments):
    found = result(hit())
    made, kb = tool(found, collection="yo", limit=3)
    assert await made.call(arguments) == found.to_context(max_chars=4000)
    assert kb.asked == [("cuánto cobra", {"section": None, "collection": "yo", "limit": 3})]


async def test_an_answer_keeps_to_its_budget():
    long = "palabra " * 5000
    made, _ = tool(result(*[hit(content=long, snippet=long[:300])] * 4), max_chars=1500)
    assert 1000 < len(await made("cuánto cobra")) <= 1500


async def test_the_function_narrows_to_a_section():
    kb: Any = KnowledgeBase(result(hit()))
    await search_portfolio(kb, "cuánto cobra", seccion="tarifas")
    assert kb.asked[0][1]["section"] == "tarifas"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("{", "objeto JSON"),
        ("[]", "objeto JSON"),
        ("", "objeto JSON"),
        ("[" * 100_000, "objeto JSON"),
        ("{}", "falta «consulta»"),
        ('{"consulta": ""}', "falta «consulta»"),
        ('{"consulta": 3}', "«consulta» debe ser un texto"),
        ('{"consulta": "x", "seccion": ["a"]}', "«seccion» debe ser un texto"),
        ('{"question": "x"}', "argumentos desconocidos: question"),
    ],
)
async def test_bad_arguments_are_told_to_the_model_and_not_searched(arguments, message):
    made, kb = tool(result(hit()))
    answer = await made.call(arguments)
    assert answer.startswith("Error en la llamada a search_portfolio: ")
    assert message in answer
    assert kb.asked == []


@pytest.mark.parametrize("error", [Unreachable(), QueryTimeout(), NotOpen()])
async def test_a_database_that_is_away_is_told_without_its_details(error):
    made, _ = tool(error)
    answer = await made.call({"consulta": "x"})
    assert "no está disponible ahora mismo" in answer
    assert str(error) not in answer


async def test_the_function_itself_raises():
    made, _ = tool(QueryError("no"))
    with pytest.raises(QueryError):
        await made("x")
