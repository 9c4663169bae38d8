"""From ranked rows to hits: scores, matched words, snippets, explanation."""

from __future__ import annotations

import json
from collections.abc import Sequence

import asyncpg

from kb_search.layers import fts
from kb_search.models import Hit, Layer, TermTrace, as_tuple
from kb_search.passages import Text, matched_on, snippet
from kb_search.reading import Reading


def ranked_hit(reading: Reading, ranked: fts.Ranked, *, snippet_chars: int) -> Hit:
    """The hit of an entry that holds words of the question, or words that stand for them."""
    needles = reading.needles
    needle_of = matched_words(reading, ranked)
    notes = {
        place: f"typed {reading.typed(needles[place].term)}"
        if needles[place].stands_for == "slip"
        else f"for {reading.typed(needles[place].term)}"
        for place in ranked.parts
        if needles[place].stands_for != "typed"
    }
    row = ranked.row
    content = Text(row["content"], needle_of)
    fields = (
        (
            "title",
            [Text(text, needle_of) for text in (row["title"], *as_tuple(row["heading_path"]))],
        ),
        ("alias", [Text(text, needle_of) for text in as_tuple(row["aliases"])]),
        ("tag", [Text(text, needle_of) for text in as_tuple(row["tags"])]),
        ("content", [content]),
    )
    passage = snippet(content, [needle.weight for needle in needles], chars=snippet_chars)
    return _hit(
        row,
        layer=_layer(reading, ranked),
        score=score(reading, ranked),
        matched=matched_on(fields, notes),
        snippet=passage.text,
        highlights=passage.highlights,
    )


def matched_words(reading: Reading, ranked: fts.Ranked) -> dict[str, int]:
    """{folded word of the collection: place of the needle that it matches} of one entry."""
    needles = reading.needles
    found: dict[str, int] = {}
    for place in sorted(ranked.parts, key=lambda place: needles[place].stands_for != "typed"):
        for word in needles[place].family:
            found.setdefault(word, place)
    return found


def plain_hit(
    row: asyncpg.Record,
    *,
    layer: Layer,
    score: float | None,
    matched: str = "",
    snippet_chars: int,
) -> Hit:
    """The hit of an entry in which no word matched: its snippet is the start of its text."""
    passage = snippet(Text(row["content"], {}), (), chars=snippet_chars)
    return _hit(row, layer=layer, score=score, matched=matched, snippet=passage.text, highlights=())


def score(reading: Reading, ranked: fts.Ranked) -> float:
    """The total over that of an entry that says every word of the question once in its title."""
    return min(1.0, ranked.total / (fts.WHOLE_MATCH * reading.mass)) if reading.mass else 0.0


def explanation(reading: Reading, first: fts.Ranked | None) -> tuple[TermTrace, ...]:
    """A trace a word of the question, in order; the shares are those of the first hit."""
    parts = first.parts if first else {}
    total = sum(parts.values()) or 1.0
    traces = []
    for place, term in enumerate(reading.terms):
        mine = [(n, needle) for n, needle in enumerate(reading.needles) if needle.term == place]
        traces.append(
            TermTrace(
                word=reading.typed(place),
                lexemes=(term.stem,),
                entries=term.stem_entries,
                weight=sum(needle.weight for _, needle in mine if needle.stands_for == "typed"),
                corrected_to=tuple(n.word for _, n in mine if n.stands_for == "slip"),
                synonyms=tuple(n.word for _, n in mine if n.stands_for == "synonym"),
                share=sum(parts.get(n, 0.0) for n, _ in mine) / total,
            )
        )
    return tuple(traces)


def _layer(reading: Reading, ranked: fts.Ranked) -> Layer:
    """`typo` where the entry holds none of the question's own words but their corrections."""
    needles = [reading.needles[place] for place in ranked.parts]
    as_typed = any(
        needle.stands_for != "slip"
        and (reading.all_common or not reading.terms[needle.term].common)
        for needle in needles
    )
    corrected = any(needle.stands_for == "slip" for needle in needles)
    return "fts" if as_typed or not corrected else "typo"


def _hit(
    row: asyncpg.Record,
    *,
    layer: Layer,
    score: float | None,
    matched: str,
    snippet: str,
    highlights: Sequence[tuple[int, int]],
) -> Hit:
    return Hit(
        id=row["id"],
        collection=row["collection"],
        section=row["section"],
        title=row["title"],
        content=row["content"],
        tags=as_tuple(row["tags"]),
        metadata=json.loads(row["metadata"]),
        score=score,
        matched_on=matched,
        snippet=snippet,
        highlights=tuple(highlights),
        layer=layer,
        source=row["source"],
        document_id=row["document_id"],
        heading_path=as_tuple(row["heading_path"]),
        position=row["position"],
    )
