"""References and schemas of an API description."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

_MAX_STEPS = 20  # a reference may lead to a reference
_MAX_FIELDS = 200


@dataclass(frozen=True)
class Field:
    name: str
    type: str
    required: bool
    description: str


def resolved(described: Mapping[str, Any], value: Any) -> Any:
    """The value, or what it refers to inside the same file; nothing is ever fetched."""
    for _ in range(_MAX_STEPS):
        reference = value.get("$ref") if isinstance(value, dict) else None
        if not isinstance(reference, str):
            return value
        value = _target(described, reference)
    return None


def _target(described: Mapping[str, Any], reference: str) -> Any:
    if not reference.startswith("#/"):
        return None
    value: Any = described
    for step in reference[2:].split("/"):
        key = step.replace("~1", "/").replace("~0", "~")
        value = value.get(key) if isinstance(value, dict) else None
    return value


def type_name(schema: Mapping[str, Any]) -> str:
    """A schema's type in a word or two, with the values that it allows."""
    kind = schema.get("type")
    name = "/".join(map(str, kind)) if isinstance(kind, list) else str(kind or "")
    if schema.get("format"):
        name = f"{name} {schema['format']}".strip()
    values = schema.get("enum")
    if isinstance(values, list) and values:
        return f"{name}: {' | '.join(map(str, values[:20]))}".removeprefix(": ")
    return name


def properties(described: Mapping[str, Any], schema: Any) -> Iterator[Field]:
    """The fields of an object schema, those of its parts (`allOf`) and of a list's items too."""
    waiting = [schema]
    seen: set[int] = set()
    given = 0
    while waiting and given < _MAX_FIELDS:
        item = resolved(described, waiting.pop(0))
        if not isinstance(item, dict) or id(item) in seen:
            continue
        seen.add(id(item))
        required = item.get("required")
        fields = item.get("properties")
        for name, value in (fields if isinstance(fields, dict) else {}).items():
            field = resolved(described, value)
            field = field if isinstance(field, dict) else {}
            given += 1
            yield Field(
                name=str(name),
                type=type_name(field),
                required=isinstance(required, list) and name in required,
                description=str(field.get("description") or ""),
            )
        for key in ("allOf", "oneOf", "anyOf"):
            parts = item.get(key)
            waiting.extend(parts if isinstance(parts, list) else [])
        waiting.append(item.get("items"))


def operation_schema(
    document_metadata: Mapping[str, Any], section_metadata: Mapping[str, Any]
) -> dict[str, Any]:
    """An operation whole: as it is written, with all that its references lead to.

    The result has `method`, `path`, `operation` and `references` ({"#/…": value}; none of them
    written out inside another, so that circles do no harm).
    """
    described = document_metadata.get("shared", {})
    references: dict[str, Any] = {}
    waiting: list[Any] = [section_metadata["operation"]]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            reference = value.get("$ref")
            if isinstance(reference, str) and reference not in references:
                references[reference] = _target(described, reference)
                waiting.append(references[reference])
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)
    return {
        "method": section_metadata["method"],
        "path": section_metadata["path"],
        "operation": section_metadata["operation"],
        "references": references,
    }
