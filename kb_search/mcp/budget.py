"""Keeping an answer within its characters: those of the JSON that a client is sent."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Callable, Sequence
from typing import TypeVar

from pydantic import BaseModel

from kb_search.errors import QueryError
from kb_search.grounding import seen

_Item = TypeVar("_Item")
_Answer = TypeVar("_Answer", bound=BaseModel)

_CUT = "…"
# What a label may not hold: control characters take six characters each in JSON.
_CONTROLS = dict.fromkeys((*range(32), *range(127, 160)), " ")


def length(answer: BaseModel) -> int:
    """How many characters an answer takes as it is sent."""
    return len(answer.model_dump_json())


def label(text: str, most: int) -> str:
    """A text as one line of at most `most` characters."""
    line = " ".join(seen(text[: 4 * most]).translate(_CONTROLS).split())
    if len(line) <= most and len(text) <= 4 * most:
        return line
    return line[: most - len(_CUT)].rstrip() + _CUT


def labels(texts: Sequence[str], *, most: int, chars: int) -> tuple[str, ...]:
    """At most `most` labels."""
    return tuple(label(text, chars) for text in texts[:most])


def slice_that_fits(text: str, *, start: int, room: int) -> str:
    """What of a text, from `start` on, takes at most `room` characters as a JSON string.

    Cut after a blank where there is one in the last fifth; at least one character where any is
    left, so that reading on always gets further.
    """
    part = text[start : start + max(room, 1)]
    low, high = 0, len(part)
    if len(json.dumps(part, ensure_ascii=False)) - 2 <= room:
        low = high
    while low < high:
        middle = (low + high + 1) // 2
        if len(json.dumps(part[:middle], ensure_ascii=False)) - 2 <= room:
            low = middle
        else:
            high = middle - 1
    if start + low < len(text):
        blank = max(part.rfind(char, low * 4 // 5, low) for char in " \n")
        low = blank + 1 if blank >= 0 else low
    return part[: max(low, 1)]


def fitting(
    items: Sequence[_Item], build: Callable[[Sequence[_Item]], _Answer], *, most: int
) -> _Answer:
    """The answer with as many of the items, from the first on, as fit into `most` characters."""
    low, high = 0, len(items)
    while low < high:
        middle = (low + high + 1) // 2
        if length(build(items[:middle])) <= most:
            low = middle
        else:
            high = middle - 1
    return build(items[:low])


def cursor(offset: int, *call: object) -> str:
    """Where to go on in the same call; nothing of what was found is in it."""
    return base64.urlsafe_b64encode(f"{offset}:{_digest(call)}".encode()).decode().rstrip("=")


def offset_of(given: str | None, *call: object) -> int:
    """The place that a cursor of this call names; 0 without one.

    Raises:
        QueryError: it is no cursor of this call.
    """
    if given is None:
        return 0
    try:
        padded = given + "=" * (-len(given) % 4)
        offset, _, digest = base64.urlsafe_b64decode(padded.encode()).decode().partition(":")
        place = int(offset)
    except (binascii.Error, ValueError):
        place, digest = -1, ""
    if place < 0 or digest != _digest(call):
        raise QueryError(
            "ese cursor no es de esta llamada: repite la llamada sin «cursor», o con los mismos"
            " argumentos que dieron ese «next_cursor»"
        )
    return place


def _digest(call: Sequence[object]) -> str:
    return hashlib.sha256(json.dumps(call, default=str).encode()).hexdigest()[:12]
