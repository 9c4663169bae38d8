"""What a model is told when a call fails: in Spanish, with what to do. Nothing of the server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from kb_search.errors import (
    DatabaseError,
    KbError,
    NotFound,
    NotOpen,
    QueryError,
    QueryTimeout,
    SchemaMissing,
)

INTERNAL = "La herramienta ha fallado por un error interno; no insistas con la misma llamada."

_GONE = (
    "La base de conocimiento no está disponible ahora mismo. Repite la llamada dentro de un"
    " momento; si sigue fallando, dilo así y no respondas de memoria."
)
_SLOW = (
    "La base de conocimiento ha tardado demasiado. Repite la llamada una vez, con una pregunta más"
    " corta; si sigue fallando, dilo así y no respondas de memoria."
)
_NOT_SET_UP = (
    "La base de conocimiento no está preparada: quien la administra debe ejecutar «kb-search init»."
    " Dilo así y no respondas de memoria."
)
_WRONG = {
    "missing": "falta y es obligatorio",
    "string_type": "debe ser un texto",
    "string_unicode": "tiene caracteres que no son válidos",
    "string_too_short": "no puede estar vacío",
    "string_too_long": "es demasiado largo: como mucho {max_length} caracteres",
    "int_type": "debe ser un número entero",
    "int_parsing": "debe ser un número entero",
    "int_from_float": "debe ser un número entero",
    "int_parsing_size": "es un número demasiado grande",
    "greater_than_equal": "debe ser {ge} o más",
    "less_than_equal": "debe ser {le} o menos",
    "literal_error": "debe ser uno de: {expected}",
    "tuple_type": "debe ser una lista",
    "list_type": "debe ser una lista",
    "too_long": "tiene demasiados elementos: como mucho {max_length}",
    "bool_parsing": "debe ser true o false",
    "bool_type": "debe ser true o false",
}


def told(error: KbError) -> str:
    """What a model can do about one of our errors."""
    if isinstance(error, QueryError | NotFound):
        return str(error)
    if isinstance(error, SchemaMissing):
        return _NOT_SET_UP
    if isinstance(error, QueryTimeout):
        return _SLOW
    if isinstance(error, DatabaseError | NotOpen):
        return _GONE
    return INTERNAL


def wrong_arguments(error: ValidationError) -> str:
    """Which arguments are wrong, and what they must be."""
    found: dict[str, str] = {}
    for item in error.errors(include_url=False, include_input=False):
        name = ".".join(str(part) for part in item["loc"][:1]) or "argumentos"
        template = _WRONG.get(item["type"], "no es válido")
        facts = _Facts(item.get("ctx") or {})
        facts["expected"] = str(facts.get("expected", "")).replace(" or ", " o ")
        found.setdefault(name, template.format_map(facts))
    return "Argumentos incorrectos: " + "; ".join(
        f"«{name}» {what}" for name, what in found.items()
    )


def unknown_arguments(unknown: Sequence[str], known: Sequence[str]) -> str:
    """Which arguments there are instead."""
    return (
        f"Argumentos desconocidos: {_quoted(unknown[:5])}."
        f" Esta herramienta admite: {_quoted(known) or 'ninguno'}."
    )


def unknown_resource() -> str:
    """How resources are called instead."""
    return (
        "No hay ningún recurso con esa dirección. Son kb-search://section/ID y"
        " kb-search://document/ID, con un «id» que haya devuelto search."
    )


def unknown_tool(known: Sequence[str]) -> str:
    """Which tools there are instead."""
    return f"No hay ninguna herramienta con ese nombre. Hay: {_quoted(known)}."


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(f"«{name[:60]}»" for name in names)


class _Facts(dict[str, Any]):
    def __init__(self, facts: Mapping[str, Any]) -> None:
        super().__init__(facts)

    def __missing__(self, key: str) -> str:
        return "?"
