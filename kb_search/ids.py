"""Ids that come from outside: whole numbers, which the database may be too small for."""

from __future__ import annotations

from collections.abc import Iterable

from kb_search.errors import QueryError

LEAST_ID = -(2**63)


def is_storable_id(value: object, *, name: str = "an id") -> bool:
    """Whether a row can have this id (or this count, by another `name`).

    Raises:
        QueryError: it is no whole number; text of digits is none either.
    """
    if isinstance(value, bool) or not isinstance(value, int):
        raise QueryError(f"{name} must be a whole number, not {type(value).__name__}")
    return LEAST_ID <= value < 2**63


def storable_ids(values: Iterable[int], *, name: str = "ids") -> list[int]:
    """Those of the ids that a row can have.

    Raises:
        QueryError: it is no list of whole numbers.
    """
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise QueryError(f"{name} must be a list of whole numbers")
    return [value for value in values if is_storable_id(value, name=f"each of {name}")]
