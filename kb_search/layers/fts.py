"""Full text: the words, OR-joined, ranked by `ts_rank` per word weighed by its rarity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import asyncpg

from kb_search.database import fetch
from kb_search.terms import Collection, Needle
from kb_search.words import or_query

if TYPE_CHECKING:
    from kb_search.database import Connection

# Measured over eight FAQ collections, XQuAD and XQuAD-R (benchmarks/quality.py).
_CONTENT_WEIGHT = 0.4
_WEAKER_FIELD = 0.4
_LENGTH_NORM = 0.5
# ts_rank of a word that stands once in the title (its weight over pi squared by six): what a whole
# match is measured by.
WHOLE_MATCH = 0.6079
# Candidates are taken by the rarest words first, about this many entries; the common words rank
# them but bring none of their own.
_CANDIDATES = 150
_LEAST_CANDIDATES = 40


@dataclass(frozen=True)
class Filters:
    """What an entry must meet: None is no condition; `metadata` is JSON text.

    `demands` is JSON text too: [{"wanted": bool, "words": OR-joined, "phrases": [...]}], each an
    alternative that must be there, or must not. `documents` are ids; `one_per_document` leaves the
    best section of each.
    """

    section: str | None = None
    tags: tuple[str, ...] | None = None
    metadata: str | None = None
    demands: str | None = None
    documents: tuple[int, ...] | None = None
    one_per_document: bool = False

    @property
    def any(self) -> bool:
        return self != Filters()


@dataclass(frozen=True)
class Ranked:
    """An entry that holds some of the words: `total` has no unit, `parts` are its summands by
    the place of the needle (from 0).
    """

    row: asyncpg.Record
    total: float
    parts: Mapping[int, float]


async def ranked(
    connection: Connection,
    needles: Sequence[Needle],
    size: Collection,
    *,
    collection: str,
    filters: Filters,
    rows: int,
    timeout_s: float,
) -> list[Ranked]:
    """At most `rows` entries that hold any of the words, best first."""
    if not needles:
        return []
    records = await fetch(
        connection,
        "ranked_entries",
        collection,
        or_query(_bringing(needles, everything=filters.any)),
        [needle.word for needle in needles],
        [needle.stem_weight for needle in needles],
        [needle.word_weight for needle in needles],
        filters.section,
        filters.tags,
        filters.metadata,
        size.average_words,
        rows,
        _CONTENT_WEIGHT,
        _WEAKER_FIELD,
        _LENGTH_NORM,
        filters.demands,
        filters.documents,
        filters.one_per_document,
        timeout_s=timeout_s,
    )
    return [_ranked(record) for record in records]


async def scored(
    connection: Connection,
    needles: Sequence[Needle],
    size: Collection,
    *,
    entries: Sequence[int],
    demands: str | None,
    timeout_s: float,
) -> list[Ranked]:
    """These entries with what the words say for each, 0 where nothing, newest first; without those
    that do not meet the demands.
    """
    if not entries:
        return []
    records = await fetch(
        connection,
        "scored_entries",
        entries,
        [needle.word for needle in needles],
        [needle.stem_weight for needle in needles],
        [needle.word_weight for needle in needles],
        size.average_words,
        _CONTENT_WEIGHT,
        _WEAKER_FIELD,
        _LENGTH_NORM,
        demands,
        timeout_s=timeout_s,
    )
    return [_ranked(record) for record in records]


def _ranked(record: asyncpg.Record) -> Ranked:
    parts = zip(record["needles"], record["parts"], strict=True)
    return Ranked(record, record["total"], {nr - 1: part for nr, part in parts})


def _bringing(needles: Sequence[Needle], *, everything: bool) -> list[str]:
    """The words whose entries are ranked: the rarest, until they bring enough."""
    chosen: list[str] = []
    brought = 0
    for needle in sorted(needles, key=lambda n: (-n.weight, n.entries)):
        if (
            not everything
            and brought >= _LEAST_CANDIDATES
            and brought + needle.entries > _CANDIDATES
        ):
            break
        chosen.append(needle.word)
        brought += needle.entries
    return chosen
