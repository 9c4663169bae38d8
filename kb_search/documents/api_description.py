"""OpenAPI 3 and Swagger 2 descriptions, JSON or YAML: a section an operation.

The text of a section is what a chatbot's model reads, so its labels are Spanish.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from kb_search.documents.api_schema import properties, resolved, type_name
from kb_search.documents.cleaning import clean_line, clean_text
from kb_search.documents.model import Document
from kb_search.documents.sections import SectionBuilder
from kb_search.documents.unreadable import Unreadable
from kb_search.documents.yaml_text import load_json, load_yaml

_METHODS = ("get", "post", "put", "patch", "delete", "head", "options", "trace")
_WORD_BOUNDARY = re.compile(r"(?<=[a-záéíóúñ0-9])(?=[A-ZÁÉÍÓÚÑ])|[_\-./]+")
# How people ask for what a method does; its summary says one of these at most.
_ASKED = {
    "POST": "crear, añadir, registrar, dar de alta, nuevo",
    "PUT": "modificar, actualizar, cambiar, editar",
    "PATCH": "modificar, actualizar, cambiar, editar",
    "DELETE": "borrar, eliminar, quitar, dar de baja",
}
# What the schemas of an operation refer to, kept once with the document.
_SHARED = ("components", "definitions", "parameters", "responses", "servers", "host", "basePath")
_PLACES = {
    "path": "en la ruta",
    "query": "en la consulta",
    "header": "en la cabecera",
    "cookie": "en una cookie",
    "body": "en el cuerpo",
    "formData": "en el formulario",
}


def read_api(_data: bytes, text: str, name: str, max_section_chars: int) -> Document:
    """A section for each operation, below one for the API itself.

    A section's metadata holds the operation as it is written (`operation`), the document's what
    its references lead to (`shared`): `operation_schema` puts both together.
    """
    described = load_json(text) if text.lstrip()[:1] in "{[" else load_yaml(text)
    if not isinstance(described, dict) or not ({"openapi", "swagger"} & described.keys()):
        raise Unreadable("no API description: it has neither `openapi` nor `swagger` as a key")
    info = _mapping(described.get("info"))
    title = clean_line(str(info.get("title") or "")) or name
    builder = SectionBuilder(max_chars=max_section_chars)
    builder.heading(1, title)
    builder.paragraph(clean_text(str(info.get("description") or "")))
    count = 0
    tags: list[str] = []
    for method, path, operation in _operations(described):
        count += 1
        tags.extend(str(tag) for tag in _list(operation.get("tags")))
        _add(builder, described, method, path, operation)
    if not count:
        raise Unreadable("empty: the API description has no operation")
    return Document(
        title=title,
        mime="",
        sections=builder.build(title),
        tags=tuple(dict.fromkeys(tags)),
        metadata={
            "api": str(described.get("openapi") or described.get("swagger")),
            "version": str(info.get("version", "")),
            "operations": count,
            "shared": {key: described[key] for key in _SHARED if key in described},
        },
    )


def _operations(described: Mapping[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Method, path and operation, with the parameters that a path gives to all of its own."""
    for path, item in _mapping(described.get("paths")).items():
        item = _mapping(resolved(described, item))  # noqa: PLW2901 - the item it refers to
        common = _list(item.get("parameters"))
        for method in _METHODS:
            operation = item.get(method)
            if isinstance(operation, dict):
                own = _list(operation.get("parameters"))
                merged = {**operation, "parameters": [*common, *own]} if common else operation
                yield method.upper(), path, merged


def _add(
    builder: SectionBuilder,
    described: Mapping[str, Any],
    method: str,
    path: str,
    operation: Mapping[str, Any],
) -> None:
    summary = clean_line(str(operation.get("summary") or ""))
    call = f"{method} {path}"
    operation_id = str(operation.get("operationId") or "")
    spoken = _WORD_BOUNDARY.sub(" ", operation_id).strip().lower()
    builder.heading(
        2,
        f"{summary} ({call})" if summary else call,
        metadata={
            "method": method,
            "path": path,
            "operation_id": operation_id,
            "tags": [str(tag) for tag in _list(operation.get("tags"))],
            "deprecated": bool(operation.get("deprecated", False)),
            "operation": operation,
        },
        aliases=tuple(alias for alias in (spoken, _asked(method, path)) if alias),
    )
    builder.paragraph(f"{call}\n{summary}".strip())
    builder.paragraph(clean_text(str(operation.get("description") or "")))
    if operation.get("deprecated"):
        builder.paragraph("Obsoleta: no debe usarse en desarrollos nuevos.")
    for label, lines in (
        ("Parámetros", _parameters(described, operation)),
        ("Cuerpo de la petición", _body(described, operation)),
        ("Respuestas", _responses(described, operation)),
    ):
        found = list(lines)
        if found:
            builder.paragraph("\n".join([f"{label}:", *found]))


def _asked(method: str, path: str) -> str:
    """The verbs of a method where it acts on the thing that the path names, not on part of it."""
    *before, last = path.rstrip("/").split("/")
    one = last.startswith("{")
    part = not one and bool(before) and before[-1].startswith("{")
    return "" if part or one == (method == "POST") else _ASKED.get(method, "")


def _parameters(described: Mapping[str, Any], operation: Mapping[str, Any]) -> Iterator[str]:
    for item in _list(operation.get("parameters")):
        parameter = _mapping(resolved(described, item))
        place = str(parameter.get("in", ""))
        if place == "body":
            continue
        schema = _mapping(resolved(described, parameter.get("schema", parameter)))
        notes = [type_name(schema), _PLACES.get(place, place)]
        if parameter.get("required"):
            notes.append("obligatorio")
        yield _described(str(parameter.get("name", "")), notes, parameter.get("description"))


def _body(described: Mapping[str, Any], operation: Mapping[str, Any]) -> Iterator[str]:
    schema: Any = None
    body = _mapping(resolved(described, operation.get("requestBody")))
    for content in _mapping(body.get("content")).values():
        schema = _mapping(content).get("schema")
        break
    for item in _list(operation.get("parameters")):
        parameter = _mapping(resolved(described, item))
        if parameter.get("in") == "body":
            schema = parameter.get("schema")
    if body.get("description"):
        yield clean_line(str(body["description"]))
    for field in properties(described, schema):
        notes = [field.type, "obligatorio" if field.required else ""]
        yield _described(field.name, notes, field.description)


def _responses(described: Mapping[str, Any], operation: Mapping[str, Any]) -> Iterator[str]:
    for status, item in _mapping(operation.get("responses")).items():
        response = _mapping(resolved(described, item))
        yield f"- {status}: {clean_line(str(response.get('description') or ''))}".rstrip(": ")


def _described(name: str, notes: list[str], description: Any) -> str:
    said = ", ".join(note for note in notes if note)
    line = f"- {name} ({said})" if said else f"- {name}"
    text = clean_line(str(description or ""))
    return f"{line}: {text}" if text else line


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
