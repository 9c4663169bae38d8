"""The tools: their arguments, descriptions and annotations, and what each answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Annotated, Any, TypeAlias

from mcp.server import MCPServer
from mcp.types import CallToolResult, TextContent, ToolAnnotations
from pydantic import BaseModel, Field

from kb_search.mcp.access import MEMORY, Access
from kb_search.mcp.answers import (
    DocumentAnswer,
    DocumentsAnswer,
    RememberedAnswer,
    SearchAnswer,
    SectionAnswer,
    StatsAnswer,
)
from kb_search.mcp.reading import Reader
from kb_search.memory import MAX_NOTE_CHARS, Memory
from kb_search.models import Syntax

AccessOf: TypeAlias = Callable[[], Access]

_READS = ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
_WRITES = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
_MOST_ID = 2**63 - 1

Id = Annotated[int, Field(ge=0, le=_MOST_ID)]
Cursor = Annotated[
    str | None,
    Field(max_length=200, description="El «next_cursor» de la llamada anterior, para seguir."),
]
Tags = Annotated[
    tuple[Annotated[str, Field(max_length=200)], ...],
    Field(max_length=20, description="Debe tenerlas todas."),
]
Collection = Annotated[
    str | None,
    Field(max_length=200, description="Colección; sin indicarla, la habitual."),
]


def register_tools(
    server: MCPServer[Any], reader: Reader, access_of: AccessOf, *, memory: bool
) -> None:
    """Add the tools to a server."""
    _register_search(server, reader, access_of)
    _register_reading(server, reader, access_of)
    if memory:
        _register_memory(server, reader, access_of)


def _register_search(server: MCPServer[Any], reader: Reader, access_of: AccessOf) -> None:
    @server.tool(
        title="Buscar",
        description="Busca en la base de conocimiento y devuelve fragmentos citables. Úsala antes"
        " de responder. Si «confident» es false, dilo y no inventes.",
        annotations=_READS,
    )
    async def search(  # noqa: PLR0917 - called by name
        query: Annotated[
            str, Field(min_length=1, description="La pregunta, con las palabras de la persona.")
        ],
        collection: Collection = None,
        section: Annotated[
            str | None, Field(max_length=500, description="Solo si se quiere limitar a una.")
        ] = None,
        tags: Tags = (),
        document_id: Annotated[
            int | None, Field(ge=0, le=_MOST_ID, description="Solo dentro de este documento.")
        ] = None,
        limit: Annotated[int, Field(ge=1, le=20, description="Resultados por página.")] = 4,
        syntax: Annotated[
            Syntax, Field(description='web: "frases exactas", -palabra, OR.')
        ] = "plain",
        cursor: Cursor = None,
    ) -> Annotated[CallToolResult, SearchAnswer]:
        return _result(
            await reader.search(
                access_of(),
                query,
                collection=collection,
                section=section,
                tags=tags,
                document_id=document_id,
                limit=limit,
                syntax=syntax,
                given_cursor=cursor,
            )
        )


def _register_reading(server: MCPServer[Any], reader: Reader, access_of: AccessOf) -> None:
    @server.tool(
        title="Abrir sección",
        description="Devuelve el texto de una sección, por partes si es largo. Ábrela solo si el"
        " fragmento no basta.",
        annotations=_READS,
    )
    async def get_section(
        id: Annotated[Id, Field(description="El «id» de un resultado.")],  # noqa: A002 - its name for a model
        cursor: Cursor = None,
    ) -> Annotated[CallToolResult, SectionAnswer]:
        return _result(await reader.get_section(access_of(), id, given_cursor=cursor))

    @server.tool(
        title="Abrir documento",
        description="Devuelve los datos de un documento y su índice, con el «id» de cada sección.",
        annotations=_READS,
    )
    async def get_document(
        id: Annotated[Id, Field(description="El «document_id» de un resultado.")],  # noqa: A002 - its name for a model
        cursor: Cursor = None,
    ) -> Annotated[CallToolResult, DocumentAnswer]:
        return _result(await reader.documents.get_document(access_of(), id, given_cursor=cursor))

    @server.tool(
        title="Listar documentos",
        description="Lista los documentos de una colección. Para responder a una pregunta, usa"
        " mejor search.",
        annotations=_READS,
    )
    async def list_documents(
        collection: Collection = None,
        tags: Tags = (),
        title: Annotated[
            str | None, Field(max_length=500, description="Palabras que tiene su título.")
        ] = None,
        cursor: Cursor = None,
    ) -> Annotated[CallToolResult, DocumentsAnswer]:
        return _result(
            await reader.documents.list_documents(
                access_of(), collection=collection, tags=tags, title=title, given_cursor=cursor
            )
        )

    @server.tool(
        title="Qué hay",
        description="Cuenta lo que hay en cada colección a tu alcance: entradas, documentos y"
        " secciones.",
        annotations=_READS,
    )
    async def corpus_stats() -> Annotated[CallToolResult, StatsAnswer]:
        return _result(await reader.corpus_stats(access_of()))


def _register_memory(server: MCPServer[Any], reader: Reader, access_of: AccessOf) -> None:
    @server.tool(
        title="Recordar",
        description=f"Guarda una nota propia. Se busca con search y collection «{MEMORY}». Guarda"
        " solo lo que la persona pida recordar.",
        annotations=_WRITES,
    )
    async def remember(
        note: Annotated[str, Field(min_length=1, max_length=MAX_NOTE_CHARS)],
        title: Annotated[str, Field(max_length=200)] = "",
        tags: Annotated[
            tuple[Annotated[str, Field(max_length=60)], ...], Field(max_length=10)
        ] = (),
        replaces: Annotated[
            int | None, Field(ge=0, le=_MOST_ID, description="Nota que esta deja archivada.")
        ] = None,
    ) -> Annotated[CallToolResult, RememberedAnswer]:
        access = access_of()
        if replaces is not None:
            await reader.entry(access, replaces)
        memory = Memory(reader.kb, owner=access.owner)
        id_ = await memory.remember(note, title=title, tags=tags, replaces=replaces)
        return _result(RememberedAnswer(id=id_, collection=MEMORY))


def _result(answer: BaseModel) -> CallToolResult:
    """The answer as data, and as the text of its JSON for clients that read only text."""
    text = answer.model_dump_json()
    return CallToolResult(
        content=[TextContent(type="text", text=text)], structured_content=json.loads(text)
    )
