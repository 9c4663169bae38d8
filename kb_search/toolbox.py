"""Finding among many: the handful of tools, or prompts, that fits an intent.

An agent with hundreds of tools reads the descriptions of all of them in every turn. Put them into
a collection once, and hand it those that fit:

    toolbox = Toolbox(kb, collection="herramientas")
    await toolbox.fill(tools)                        # of MCP, OpenAPI, OpenAI or Anthropic
    for found in await toolbox.pick("mandar una factura por correo"):
        found.definition                             # as it was given
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kb_search.errors import QueryError
from kb_search.models import Entry, WriteReport

if TYPE_CHECKING:
    from kb_search.knowledge_base import KnowledgeBase

SECTION = "catalogo"
_DEFINITION = "definition"
_METHODS = ("get", "put", "post", "delete", "patch", "head", "options", "trace")
# sendInvoice, send_invoice, HTTPServer2 → their words
_PARTS = re.compile(r"[A-ZÁÉÍÓÚÑ]+(?![a-záéíóúñ])|[A-ZÁÉÍÓÚÑ]?[a-záéíóúñ]+|\d+")


@dataclass(frozen=True)
class Found:
    """One that fits: `score` is 0..1, comparable inside one toolbox; `definition` is as given."""

    name: str
    description: str
    score: float
    matched_on: str
    definition: Mapping[str, Any]


class Toolbox:
    """Definitions in a collection of their own, by name; the collection holds nothing else."""

    def __init__(self, kb: KnowledgeBase, *, collection: str) -> None:
        self.collection = collection
        self._kb = kb

    async def fill(self, definitions: Iterable[Any]) -> WriteReport:
        """Makes the collection hold exactly these; equal ones stay untouched.

        Each is a mapping, or a pydantic model such as an MCP Tool or Prompt, with name,
        description and, where it has them, the parameters: `parameters`, `inputSchema`,
        `input_schema` or `arguments`; or {"type": "function", "function": {...}}.

        Raises:
            QueryError: one has no name, or the collection holds other entries.
        """
        entries = [_entry(definition) for definition in definitions]
        names = {entry.title for entry in entries}
        there = await self._kb.entries(collection=self.collection)
        if any(_DEFINITION not in entry.metadata for entry in there):
            raise QueryError(f"the collection {self.collection!r} holds more than a toolbox")
        report = await self._kb.write(entries, collection=self.collection)
        if gone := [entry.id for entry in there if entry.title not in names]:
            await self._kb.remove(ids=gone, collection=self.collection)
        return report

    async def pick(self, intent: str, *, limit: int = 5) -> list[Found]:
        """Those that fit an intent, best first, at most `limit`; none where nothing does.

        Raises:
            QueryError: `limit` is out of bounds.
        """
        result = await self._kb.search(intent, collection=self.collection, limit=limit)
        return [
            Found(
                name=hit.title,
                description=str(_inner(hit.metadata[_DEFINITION]).get("description") or ""),
                score=hit.score or 0.0,
                matched_on=hit.matched_on,
                definition=hit.metadata[_DEFINITION],
            )
            for hit in result.hits
            if hit.layer != "fallback"
        ]


def tools_of_openapi(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A definition for each operation of an OpenAPI document, its parameters as JSON schema.

    `method` and `path` say how to call it; references ($ref) are left as they are.
    """
    return [
        {
            "name": operation.get("operationId") or f"{method.upper()} {path}",
            "description": _sentences(operation.get("summary"), operation.get("description")),
            "parameters": _openapi_parameters(item, operation),
            "method": method.upper(),
            "path": path,
        }
        for path, item in (document.get("paths") or {}).items()
        for method, operation in item.items()
        if method in _METHODS and isinstance(operation, Mapping)
    ]


def _openapi_parameters(item: Mapping[str, Any], operation: Mapping[str, Any]) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    required: list[str] = []
    for parameter in (*item.get("parameters", ()), *operation.get("parameters", ())):
        if "name" in parameter:
            schema = dict(parameter.get("schema") or {})
            if parameter.get("description"):
                schema["description"] = parameter["description"]
            properties[parameter["name"]] = schema
            if parameter.get("required"):
                required.append(parameter["name"])
    for media in ((operation.get("requestBody") or {}).get("content") or {}).values():
        properties["body"] = media.get("schema") or {}
        break
    return {"type": "object", "properties": properties, "required": required}


def _entry(definition: Any) -> Entry:
    given = _plain(definition)
    inner = _inner(given)
    name = inner.get("name")
    if not isinstance(name, str) or not name.strip():
        raise QueryError(f"a definition needs a name: {json.dumps(given, default=str)[:200]}")
    words = " ".join(_PARTS.findall(name))
    title = inner.get("title")
    return Entry(
        section=SECTION,
        title=name,
        content=_sentences(inner.get("description"), *_parameters(inner)),
        aliases=tuple(dict.fromkeys(other for other in (words, title) if other and other != name)),
        metadata={_DEFINITION: given},
    )


def _inner(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """The definition proper, which OpenAI's form wraps."""
    function = given.get("function")
    return function if isinstance(function, Mapping) else given


def _plain(definition: Any) -> dict[str, Any]:
    if hasattr(definition, "model_dump"):
        definition = definition.model_dump(mode="json", by_alias=True, exclude_none=True)
    if not isinstance(definition, Mapping):
        raise QueryError(f"a definition is a mapping, not {type(definition).__name__}")
    return dict(definition)


def _parameters(inner: Mapping[str, Any]) -> Iterator[str]:
    """A line a parameter: its name as words, and what is said of it."""
    arguments = inner.get("arguments")
    if isinstance(arguments, list):  # of an MCP prompt
        for argument in arguments:
            yield _sentences(
                " ".join(_PARTS.findall(argument["name"])), argument.get("description")
            )
        return
    for key in ("parameters", "inputSchema", "input_schema"):
        schema = inner.get(key)
        if isinstance(schema, Mapping):
            for name, part in (schema.get("properties") or {}).items():
                said = part.get("description") if isinstance(part, Mapping) else None
                yield _sentences(" ".join(_PARTS.findall(name)), said)


def _sentences(*texts: Any) -> str:
    return "\n".join(str(text).strip() for text in texts if text and str(text).strip())
