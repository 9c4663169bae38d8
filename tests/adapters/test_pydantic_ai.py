from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.tools import ToolDefinition

from kb_search.adapters.pydantic_ai import knowledge_toolset
from kb_search.tools import NAME, parameters


def asking(arguments, seen):
    """A model that calls the first tool once and answers with what it got."""

    def answer(messages, info):
        seen.extend(info.function_tools)
        for part in messages[-1].parts:
            if isinstance(part, ToolReturnPart):
                return ModelResponse(parts=[TextPart(str(part.content))])
        return ModelResponse(parts=[ToolCallPart(info.function_tools[0].name, arguments)])

    return FunctionModel(answer)


async def test_an_agent_gets_grounding_text_from_the_toolset(portfolio):
    seen: list[ToolDefinition] = []
    agent = Agent(
        asking({"consulta": "¿qué garantía das?"}, seen),
        toolsets=[knowledge_toolset(portfolio, limit=1, max_chars=1500)],
    )
    text = (await agent.run("¿qué garantía das?")).output
    expected = await portfolio.search("¿qué garantía das?", limit=1)
    assert text == expected.to_context(max_chars=1500)
    assert "Garantía del trabajo" in text
    assert seen[0].name == NAME
    assert seen[0].parameters_json_schema == parameters()


async def test_a_wrong_call_is_told_to_the_model(portfolio):
    agent = Agent(asking({"pregunta": "hola"}, []), toolsets=[knowledge_toolset(portfolio)])
    assert "argumentos desconocidos: pregunta" in (await agent.run("hola")).output
