"""Typing slips: words put right by the collection's vocabulary, then the question as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import asyncpg

from kb_search.corrections import Correction, corrections
from kb_search.database import fetch
from kb_search.terms import Collection, Needle, Similar, Term, replacement_needle

if TYPE_CHECKING:
    from kb_search.database import Connection

# Words run together or split cost no more than a letter.
_SPACING_FACTOR = 0.8


def corrected(place: int, term: Term, size: Collection, *, next_found: bool) -> list[Needle]:
    """The needles that stand for a word which the collection lacks; none for a word of Spanish."""
    if term.joined_word is not None and not (term.found and next_found):
        return [_spaced(place, term.joined_word, size)]
    if term.found:
        return []
    found = corrections(term.word, term.similar)
    if found and (not term.split or found[0].distance <= 1.0):
        return [
            replacement_needle(
                place, choice.similar, size, factor=choice.factor, family=_family(choice, term)
            )
            for choice in found
        ]
    return [_spaced(place, word, size) for word in term.split]


def _family(choice: Correction, term: Term) -> tuple[str, ...]:
    return tuple(word.word for word in term.similar if word.stem == choice.similar.stem)


def _spaced(place: int, word: str, size: Collection) -> Needle:
    # How many entries hold it is not known here: as rare as the rarest.
    return replacement_needle(place, Similar(word, word, 1), size, factor=_SPACING_FACTOR)


async def similar(
    connection: Connection,
    words: Sequence[str],
    *,
    collection: str,
    filters: tuple[str | None, Sequence[str] | None, str | None],
    documents: Sequence[int] | None = None,
    one_per_document: bool = False,
    rows: int,
    timeout_s: float,
) -> list[asyncpg.Record]:
    """Entries whose title or aliases look like the whole question, best first.

    Each row has `total`, pg_trgm's word_similarity (0..1).
    """
    return await fetch(
        connection,
        "similar_entries",
        collection,
        " ".join(words),
        *filters,
        rows,
        documents,
        one_per_document,
        timeout_s=timeout_s,
    )
