"""One row of a seed file, as any format gives it, checked and made an entry."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from kb_search.models import MOST_SECTION_CHARS, Entry

KEYS = ("section", "title", "content", "aliases", "tags", "metadata", "source")
_REQUIRED = ("section", "title", "content")


class RowError(ValueError):
    """What is wrong with a row; `key` is the field to look at, where there is one."""

    def __init__(self, message: str, key: str | None = None) -> None:
        self.key = key
        super().__init__(message)


def entry_from_row(row: object) -> Entry:
    """The entry that a row describes.

    Raises:
        RowError: a key is unknown or missing, or a value has the wrong type.
    """
    if not isinstance(row, dict):
        raise RowError(f"an entry must be an object with {', '.join(KEYS)}, not {_kind(row)}")
    check_keys(row)
    for key in _REQUIRED:
        if key not in row:
            raise RowError(f"{key!r} is missing")
    return Entry(
        section=_section(row),
        title=_required_text(row, "title"),
        content=_required_text(row, "content"),
        aliases=_texts(row, "aliases"),
        tags=_texts(row, "tags"),
        metadata=_metadata(row.get("metadata")),
        source=_text(row, "source") if row.get("source") is not None else None,
    )


def check_keys(keys: Mapping[Any, object] | list[str]) -> None:
    """Refuse names that no entry has.

    Raises:
        RowError: names the unknown key and all that are allowed.
    """
    for key in keys:
        if key not in KEYS:
            hint = " (the collection is chosen with --collection)" if key == "collection" else ""
            raise RowError(f"unknown key {key!r}{hint}: an entry has {', '.join(KEYS)}", key)


def _text(row: Mapping[str, object], key: str) -> str:
    value = row[key]
    if not isinstance(value, str):
        raise RowError(f"{key!r} must be text (in quotes), not {_kind(value)}", key)
    _check_characters(value, key)
    return value


def _required_text(row: Mapping[str, object], key: str) -> str:
    value = _text(row, key)
    if not value.replace("\0", "").strip():
        raise RowError(f"{key!r} is blank", key)
    return value


def _section(row: Mapping[str, object]) -> str:
    value = _required_text(row, "section")
    if len(value) > MOST_SECTION_CHARS:
        raise RowError(f"'section' has more than {MOST_SECTION_CHARS} characters", "section")
    return value


def _texts(row: Mapping[str, object], key: str) -> tuple[str, ...]:
    values = row.get(key)
    if values is None:
        return ()
    if not isinstance(values, list):
        raise RowError(f"{key!r} must be a list of texts, not {_kind(values)}", key)
    for value in values:
        if not isinstance(value, str):
            raise RowError(f"{key!r} must hold texts (in quotes), not {_kind(value)}", key)
        _check_characters(value, key)
    return tuple(values)


def _metadata(value: object) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise RowError(f"'metadata' must be an object, not {_kind(value)}", "metadata")
    _check_json(value)
    return value


def _check_json(value: object) -> None:
    if isinstance(value, dict):
        for key, inner in value.items():
            if not isinstance(key, str):
                raise RowError(
                    f"'metadata' has the key {key!r}: keys must be text (in quotes)", "metadata"
                )
            _check_characters(key, "metadata")
            _check_json(inner)
    elif isinstance(value, list):
        for inner in value:
            _check_json(inner)
    elif isinstance(value, str):
        _check_characters(value, "metadata")
    elif isinstance(value, float) and not math.isfinite(value):
        raise RowError(f"'metadata' holds {value}, which is no JSON number", "metadata")
    elif value is not None and not isinstance(value, bool | int | float):
        raise RowError(f"'metadata' holds {_kind(value)}: put it in quotes", "metadata")


def _check_characters(value: str, key: str) -> None:
    if not value.isascii() and any("\ud800" <= char <= "\udfff" for char in value):
        raise RowError(f"{key!r} holds half a character (a lone surrogate)", key)


def _kind(value: object) -> str:
    if value is None:
        return "null"
    names: dict[type, str] = {
        bool: "true or false",
        int: "a number",
        float: "a number",
        str: "text",
        list: "a list",
        dict: "an object",
    }
    return names.get(type(value), f"a {type(value).__name__}")
