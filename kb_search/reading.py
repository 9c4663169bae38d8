"""A question as the collection understands it: terms, and the needles to look for."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from kb_search.database import fetch
from kb_search.layers import typo
from kb_search.terms import (
    Collection,
    Needle,
    Similar,
    Term,
    read_terms,
    replacement_needle,
    typed_needle,
)
from kb_search.words import Question, typed_forms

if TYPE_CHECKING:
    from kb_search.database import Connection

# In a collection of some size a word worth less than this share of the question changes no order
# worth telling (measured on XQuAD-R and SQuAD-es), and such words would cost most of the time. In a
# small one they cost little and decide much: "what is it" against "how is it done".
_NEGLIGIBLE = 0.015
_SMALL = 250
# A synonym that people wrote down counts nearly as much as the word itself.
_SYNONYM_FACTOR = 0.9


@dataclass(frozen=True)
class Reading:
    """The words of a question, as typed and as looked for.

    `mass` is what the question would weigh if every word were found as typed.
    """

    question: Question
    terms: tuple[Term, ...]
    size: Collection
    needles: tuple[Needle, ...]
    mass: float

    @cached_property
    def all_common(self) -> bool:
        return all(term.common for term in self.terms)

    @cached_property
    def _typed_forms(self) -> dict[str, str]:
        return typed_forms(self.question.typed)

    def typed(self, place: int) -> str:
        """The term's word as it was typed."""
        word = self.terms[place].word
        return self._typed_forms.get(word, word)

    @property
    def corrections(self) -> dict[str, str]:
        """{word as typed: words used instead}."""
        used: dict[str, list[str]] = {}
        for needle in self.needles:
            if needle.stands_for == "slip":
                used.setdefault(self.typed(needle.term), []).append(needle.word)
        return {typed: " ".join(words) for typed, words in used.items()}


async def read_question(
    connection: Connection,
    question: Question,
    *,
    collection: str,
    most_words: int,
    timeout_s: float,
) -> Reading:
    """The question's terms and needles; neither where it has no word."""
    # one more than is used tells whether there are more
    records = await fetch(
        connection, "question_terms", collection, question.text, most_words + 1, timeout_s=timeout_s
    )
    if len(records) > most_words:
        records = records[:most_words]
        question = replace(question, truncated=True)
    if not records:
        return Reading(question, (), Collection(0, 0), (), 0.0)
    terms, size = read_terms(records)
    needles: list[Needle] = []
    for place, term in enumerate(terms):
        needles.append(typed_needle(place, term, size))
        next_found = place + 1 < len(terms) and terms[place + 1].found
        needles += typo.corrected(place, term, size, next_found=next_found)
    needles += _synonym_needles(json.loads(records[0]["synonyms"] or "[]"), terms, size)
    mass = sum(needle.weight for needle in needles if needle.stands_for == "typed")
    least = 0.0 if size.entries <= _SMALL else _NEGLIGIBLE * mass
    telling = tuple(
        needle
        for needle in needles
        # a word that is no common one may stand in every entry, and decide by the few titles
        if needle.weight >= least or (needle.weight > 0 and not terms[needle.term].common)
    )
    return Reading(question, terms, size, telling, mass)


def _synonym_needles(
    pairs: Sequence[Mapping[str, Any]], terms: Sequence[Term], size: Collection
) -> list[Needle]:
    """A needle a word of a synonym, standing for the first term of the phrase that it replaces."""
    places = {term.word: place for place, term in enumerate(terms)}
    stems = {term.stem: place for place, term in enumerate(terms)}
    needles = []
    for pair in pairs:
        words = pair["phrase"].split()
        place = next((places[word] for word in words if word in places), None)
        if place is None:
            place = min(stems.values())
        if pair["stem"] not in stems:
            needles.append(
                replacement_needle(
                    place,
                    Similar(pair["word"], pair["stem"], pair["entries"]),
                    size,
                    factor=_SYNONYM_FACTOR,
                    family=tuple(pair["family"]),
                    stands_for="synonym",
                )
            )
    return needles
