"""Which API a question means, where a collection describes several."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

import asyncpg

from kb_search.database import fetch
from kb_search.models import DocumentInfo, Hit, as_tuple
from kb_search.words import fold

if TYPE_CHECKING:
    from kb_search.database import Connection

_WORD = re.compile(r"[^\W_]{3,}")
_PLURAL = re.compile(r"(?<=[aeiou])s$|(?<=[^aeiou])es$")


def is_operation(hit: Hit) -> bool:
    """Whether a hit is an operation of an API description."""
    return hit.document_id is not None and hit.metadata.keys() >= {"method", "path"}


async def api_descriptions(
    connection: Connection, *, collection: str, timeout_s: float
) -> list[DocumentInfo]:
    """The API descriptions of a collection, by id."""
    rows = await fetch(connection, "api_descriptions", collection, timeout_s=timeout_s)
    return [document_info(row) for row in rows]


def names_one(typed: Sequence[str], apis: Sequence[DocumentInfo]) -> bool:
    """Whether the words of a question hold one that only one of the APIs is called by."""
    asked = _words(" ".join(typed))
    names = [_words(f"{api.title} {PurePosixPath(api.source).stem}") for api in apis]
    shared = Counter(word for words in names for word in words)
    return any(shared[word] == 1 and word in asked for words in names for word in words)


def _words(text: str) -> set[str]:
    return {_PLURAL.sub("", word) for word in _WORD.findall(fold(text))}


def document_info(record: asyncpg.Record) -> DocumentInfo:
    """The value of a row with all the columns of a document."""
    values = {name: record[name] for name in DocumentInfo.__dataclass_fields__}
    return DocumentInfo(
        **{
            **values,
            "tags": as_tuple(record["tags"]),
            "metadata": json.loads(record["metadata"]),
            "updated_at": record["updated_at"].isoformat(),
        }
    )
