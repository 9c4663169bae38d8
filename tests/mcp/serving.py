"""MCP servers for the tests: in this process, by HTTP, and what they answered."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import uvicorn
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolResult, TextResourceContents

from kb_search import KnowledgeBase
from kb_search.mcp.http import PATH, build_app
from kb_search.mcp.server import KnowledgeServer, build_server
from kb_search.mcp.settings import McpSettings, load_mcp_settings


def mcp_settings(**given: Any) -> McpSettings:
    return load_mcp_settings(**given)


def served(kb: KnowledgeBase, **given: Any) -> KnowledgeServer:
    return build_server(kb, mcp_settings(**given))


@asynccontextmanager
async def client_of(kb: KnowledgeBase, **given: Any) -> AsyncIterator[Client]:
    """The official client on a server in this process."""
    async with Client(served(kb, **given)) as client:
        yield client


@asynccontextmanager
async def http_server(kb: KnowledgeBase, **given: Any) -> AsyncIterator[str]:
    """A server on a free port of the loopback; its address."""
    settings = mcp_settings(**given)
    app = build_app(build_server(kb, settings), settings)
    web = _Web(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="critical"))
    serving = asyncio.create_task(web.serve())
    await web.ready.wait()
    port = web.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}{PATH}"
    finally:
        web.should_exit = True
        await serving


class _Web(uvicorn.Server):
    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = asyncio.Event()

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        self.ready.set()


@asynccontextmanager
async def http_client(url: str, *, token: str | None = None) -> AsyncIterator[Client]:
    """The official client over HTTP, with a bearer token or without."""
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        yield client


def answer(result: CallToolResult) -> dict[str, Any]:
    """The data of an answer, which its text says once more."""
    assert not result.is_error, text(result)
    assert result.structured_content is not None
    assert json.loads(text(result)) == result.structured_content
    return result.structured_content


def refusal(result: CallToolResult) -> str:
    """What a model is told of a call that failed."""
    assert result.is_error
    assert result.structured_content is None
    told = text(result)
    assert "Traceback" not in told
    assert "postgresql://" not in told
    return told


async def read(client: Client, uri: str) -> str:
    """The text of a resource."""
    (content,) = (await client.read_resource(uri)).contents
    assert isinstance(content, TextResourceContents)
    return content.text


def text(result: CallToolResult) -> str:
    (block,) = result.content
    assert block.type == "text"
    return block.text
