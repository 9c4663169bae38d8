"""A pydantic-ai toolset on an open knowledge base (extra `pydantic-ai`).

agent = Agent(model, toolsets=[knowledge_toolset(kb)])
"""

from __future__ import annotations

from typing import Any

from pydantic_ai import Tool
from pydantic_ai.toolsets import FunctionToolset

from kb_search.knowledge_base import KnowledgeBase
from kb_search.tools import DESCRIPTION, MAX_CHARS, NAME, SearchPortfolio, parameters


def knowledge_toolset(
    kb: KnowledgeBase,
    *,
    collection: str | None = None,
    limit: int | None = None,
    max_chars: int = MAX_CHARS,
    name: str = NAME,
    description: str = DESCRIPTION,
) -> FunctionToolset[Any]:
    """One tool, that of `kb_search.tools`: numbered grounding text of at most `max_chars`.

    It never raises one of our errors: what went wrong is told to the model, in Spanish.
    """
    tool = SearchPortfolio(kb, collection=collection, limit=limit, max_chars=max_chars)

    async def ask(**arguments: Any) -> str:
        return await tool.call(arguments)

    schema = Tool.from_schema(ask, name=name, description=description, json_schema=parameters())
    return FunctionToolset([schema])
