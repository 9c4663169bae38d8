"""Sections and documents as resources, by the same rules as the tools."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError

from kb_search.errors import KbError, NotFound, QueryError
from kb_search.mcp.messages import told
from kb_search.mcp.reading import Reader
from kb_search.mcp.tools import AccessOf

_BIGGEST_ID = "9223372036854775807"


def register_resources(server: MCPServer[Any], reader: Reader, access_of: AccessOf) -> None:
    """Add the templates to a server."""

    @server.resource(
        "kb-search://section/{id}",
        name="section",
        title="Sección",
        description="El texto de una sección y cómo citarla; lo que no cabe se pide con"
        " get_section.",
        mime_type="text/plain",
    )
    async def section(id: str) -> str:  # noqa: A002 - its name in the address
        async with _errors_told():
            return await reader.section_text(access_of(), _number(id))

    @server.resource(
        "kb-search://document/{id}",
        name="document",
        title="Documento",
        description="El índice de un documento: sus secciones, con sus direcciones.",
        mime_type="text/plain",
    )
    async def document(id: str) -> str:  # noqa: A002 - its name in the address
        async with _errors_told():
            return await reader.documents.document_text(access_of(), _number(id))


def _number(given: str) -> int:
    if not (given.isascii() and given.isdecimal()) or int(given[:20]) > int(_BIGGEST_ID):
        raise QueryError("el «id» de una dirección es un número, el que devuelve search")
    return int(given)


@asynccontextmanager
async def _errors_told() -> AsyncIterator[None]:
    try:
        yield
    except (NotFound, QueryError) as error:
        raise ResourceNotFoundError(told(error)) from error
    except KbError as error:
        raise ResourceError(told(error)) from error
