"""What the collection knows about the words of a question, and what each is worth."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import asyncpg

# Rarity, measured over eight FAQ collections, XQuAD and XQuAD-R (benchmarks/quality.py): general
# Spanish counts as this many texts read before the collection's own, and a word stands in at most
# this share of them ...
_PRIOR_TEXTS = 60
_PRIOR_SHARE_FACTOR = 1.0
_MOST_SHARE = 0.9
# ... idf to this power (1 favours common words, 2 the rarest alone) ...
_RARITY_POWER = 1.75
# ... and the word as typed counts this much beside its stem.
_SURFACE = 0.4

# From this share of short texts on a word carries a question's form rather than its subject.
COMMON_SHARE = 0.12


@dataclass(frozen=True)
class Similar:
    """A word of the collection that looks or sounds like an unknown one."""

    word: str
    stem: str
    entries: int


@dataclass(frozen=True)
class Term:
    """A word of the question, with what the collection holds of it.

    `stem_entries` and `word_entries` count entries; `family` are the collection's words of that
    stem; `share` and `stem_share` (0..1) are general Spanish's, 0 where it lacks them; `split` are
    the two words it is when taken apart, `joined_word` is this word and the next written together.
    """

    word: str
    stem: str
    stem_entries: int
    word_entries: int
    family: tuple[str, ...]
    share: float
    stem_share: float
    similar: tuple[Similar, ...] = ()
    split: tuple[str, ...] = ()
    joined_word: str | None = None

    @property
    def found(self) -> bool:
        return self.stem_entries > 0

    @property
    def common(self) -> bool:
        return self.share >= COMMON_SHARE


@dataclass(frozen=True)
class Collection:
    """How much a collection holds: entries, and words of their contents."""

    entries: int
    content_words: int

    @property
    def average_words(self) -> float:
        return self.content_words / self.entries if self.entries else 1.0


@dataclass(frozen=True)
class Needle:
    """A word to look for: with the place (from 0) of the term it stands for, and its weights.

    `stands_for` says why: the word as typed, one meant by a slip, a synonym.
    """

    term: int
    word: str
    stem_weight: float
    word_weight: float
    family: tuple[str, ...]
    entries: int
    stands_for: Literal["typed", "slip", "synonym"] = "typed"

    @property
    def weight(self) -> float:
        return self.stem_weight + self.word_weight


def rarity(entries: int, total: int, share: float) -> float:
    """What a word is worth that `entries` of `total` entries hold: 0 or more, no unit.

    Source: BM25's idf, with a prior of general Spanish.
    """
    held = entries + _PRIOR_TEXTS * min(_MOST_SHARE, _PRIOR_SHARE_FACTOR * share)
    texts = total + _PRIOR_TEXTS
    return math.pow(math.log(1 + (texts - held + 0.5) / (held + 0.5)), _RARITY_POWER)


def typed_needle(place: int, term: Term, size: Collection) -> Needle:
    """The needle of a word as typed."""
    return Needle(
        term=place,
        word=term.word,
        stem_weight=rarity(term.stem_entries, size.entries, term.stem_share),
        word_weight=_SURFACE
        * rarity(term.word_entries, size.entries, max(term.share, term.stem_share / 2)),
        family=term.family,
        entries=term.stem_entries,
    )


def replacement_needle(
    place: int,
    similar: Similar,
    size: Collection,
    *,
    factor: float,
    family: tuple[str, ...] = (),
    stands_for: Literal["slip", "synonym"] = "slip",
) -> Needle:
    """The needle of a word that stands for the one typed, at `factor` (0..1) of its worth."""
    worth = rarity(similar.entries, size.entries, 0.0) * factor
    return Needle(
        term=place,
        word=similar.word,
        stem_weight=worth,
        word_weight=_SURFACE * worth,
        family=family or (similar.word,),
        entries=similar.entries,
        stands_for=stands_for,
    )


def read_terms(records: Sequence[asyncpg.Record]) -> tuple[tuple[Term, ...], Collection]:
    """The rows of the statement `question_terms`, at least one, as values."""
    terms = tuple(
        Term(
            word=record["word"],
            stem=record["stem"],
            stem_entries=record["stem_entries"],
            word_entries=record["word_entries"],
            family=tuple(record["family"] or ()),
            share=record["share"],
            stem_share=record["stem_share"] or 0.0,
            similar=tuple(_similar(record)),
            split=tuple(record["split_words"] or ()),
            joined_word=record["joined_word"],
        )
        for record in records
    )
    return terms, Collection(records[0]["total_entries"], records[0]["total_words"])


def _similar(record: asyncpg.Record) -> Iterable[Similar]:
    columns = (record["similar"], record["similar_stems"], record["similar_entries"])
    if columns[0] is None:
        return ()
    return (Similar(*values) for values in zip(*columns, strict=True))
