"""YAML and JSON from files of unknown origin, to plain JSON values."""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Mapping
from typing import Any

import yaml

from kb_search.documents.unreadable import Unreadable

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
# A description of a thousand operations has some 200,000 values.
_MAX_VALUES = 3_000_000
_MAX_DEPTH = 100


def load_yaml(text: str) -> Any:
    """The value of a YAML (or JSON) text, made of JSON types only.

    Raises:
        Unreadable: it is malformed, or its aliases expand beyond all bounds.
    """
    try:
        value = yaml.load(text, Loader=_Loader)  # noqa: S506 - a safe loader, the C one if there
    except (yaml.YAMLError, ValueError) as error:
        raise Unreadable(f"malformed YAML: {_first_line(error)}") from error
    _refuse_bomb(value)
    return plain(value)


def load_json(text: str) -> Any:
    """The value of a JSON text.

    Raises:
        Unreadable: it is malformed.
    """
    try:
        return json.loads(text)
    except ValueError as error:
        raise Unreadable(f"malformed JSON: {_first_line(error)}") from error


def plain(value: Any) -> Any:
    """The value with dates as ISO 8601, keys as text, and whatever else JSON lacks as text."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set):
        return [plain(item) for item in value]
    if isinstance(value, dt.date):
        return value.isoformat()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, str | int | float | bool):
        return value.replace("\0", "") if isinstance(value, str) else value
    return str(value)


def _first_line(error: Exception) -> str:
    return " ".join(str(error).split())[:160]


def _refuse_bomb(value: Any) -> None:
    """Count the values as if every alias were written out; each shared one is counted once."""
    sizes: dict[int, int] = {}

    def size(item: Any, depth: int) -> int:
        if not isinstance(item, dict | list):
            return 1
        known = sizes.get(id(item))
        if known is None:
            if depth > _MAX_DEPTH:
                raise Unreadable("nested too deeply to be read")
            sizes[id(item)] = _MAX_VALUES + 1  # met again below itself: it has no end
            children = item.values() if isinstance(item, dict) else item
            known = sizes[id(item)] = 1 + sum(size(child, depth + 1) for child in children)
        return known

    if size(value, 0) > _MAX_VALUES:
        raise Unreadable("YAML bomb: its aliases expand beyond all bounds")
