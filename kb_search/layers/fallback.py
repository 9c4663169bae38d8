"""The fixed rows: something true to stand on when nothing answers for sure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import asyncpg

from kb_search.database import fetch

if TYPE_CHECKING:
    from kb_search.database import Connection


async def fixed_rows(
    connection: Connection,
    *,
    collection: str,
    sections: Sequence[str],
    without: Sequence[int],
    rows: int,
    timeout_s: float,
) -> list[asyncpg.Record]:
    """At most `rows` entries of the fixed sections but `without`, by position, then id."""
    if not sections or rows == 0:
        return []
    return await fetch(
        connection,
        "fixed_rows",
        collection,
        list(sections),
        list(without),
        rows,
        timeout_s=timeout_s,
    )
