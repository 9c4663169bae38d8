"""From outcomes to the rows of the table: measures with intervals, engines side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from kb_search.evaluation.measures import Outcome, calibration_error
from quality_collections import PLAIN, Kind
from quality_measures import (
    Interval,
    calibration_floor,
    differences,
    hits_at,
    mean_interval,
    reciprocal_ranks,
)

OURS = "kb_search"
MRR, HIT = "MRR@10", "hit@4"
# What is told of each FAQ; the mean has the other ways to write as well.
_OF_EACH = (PLAIN, "noaccent_typo")
MEASURES: Mapping[str, Callable[[Sequence[Outcome]], list[float]]] = {
    MRR: reciprocal_ranks,
    HIT: lambda outcomes: hits_at(outcomes, 4),
}


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What every engine found for the questions of one variant of one collection.

    `out_of_scope` has the outcomes of the questions that nothing there answers, where asked.
    """

    collection: str
    kind: Kind
    aliases: bool
    variant: str
    entries: int
    outcomes: Mapping[str, Sequence[Outcome]]
    out_of_scope: Mapping[str, Sequence[Outcome]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Row:
    """{engine: {measure: interval}}, over `questions` questions of `collections` collections;
    `ahead` is how far kb_search's MRR is before each other engine's, question by question.
    """

    label: str
    collections: int
    questions: int
    values: Mapping[str, Mapping[str, Interval]]
    ahead: Mapping[str, Interval]


@dataclass(frozen=True, kw_only=True)
class Judged:
    """How far an engine's own judgement can be trusted, shares 0..1; None where it has none.

    `answered`: questions in scope that were answered confidently; `flagged`: those out of scope
    that were not; `error`: the calibration error, `floor`: what a perfect confidence would show.
    """

    label: str
    engine: str
    answered: Interval
    flagged: Interval | None
    error: float | None
    floor: float | None


def find_rows(asked: Sequence[Asked], label: str) -> Row:
    """One row over the collections, each counted once."""
    engines = list(asked[0].outcomes)
    ranks = {name: [reciprocal_ranks(one.outcomes[name]) for one in asked] for name in engines}
    return Row(
        label=label,
        collections=len(asked),
        questions=sum(len(one.outcomes[OURS]) for one in asked),
        values={
            name: {
                measure: mean_interval([take(one.outcomes[name]) for one in asked])
                for measure, take in MEASURES.items()
            }
            for name in engines
        },
        ahead={
            name: mean_interval(
                [differences(a, b) for a, b in zip(ranks[OURS], ranks[name], strict=True)]
            )
            for name in engines
            if name != OURS
        },
    )


def judge(asked: Sequence[Asked], label: str, engine: str) -> Judged:
    """The judgement over the collections, each counted once."""
    told = [one.outcomes[engine] for one in asked]
    outside = [one.out_of_scope[engine] for one in asked if engine in one.out_of_scope]
    calibrated = engine == OURS
    return Judged(
        label=label,
        engine=engine,
        answered=mean_interval([[float(o.confident) for o in outcomes] for outcomes in told]),
        flagged=mean_interval([[float(not o.confident) for o in outcomes] for outcomes in outside])
        if outside
        else None,
        error=float(np.mean([calibration_error(outcomes) for outcomes in told]))
        if calibrated
        else None,
        floor=float(np.mean([calibration_floor([o.confidence for o in one]) for one in told]))
        if calibrated
        else None,
    )


def rows(asked: Sequence[Asked]) -> Iterator[tuple[str, list[Row]]]:
    """The tables of rankings: (title, rows)."""
    faqs = [one for one in asked if one.kind == "faq"]
    ways = sorted({(one.aliases, one.variant): None for one in faqs}, key=lambda way: not way[0])
    yield (
        "FAQ mean",
        [
            find_rows([one for one in faqs if (one.aliases, one.variant) == way], _way(*way))
            for way in ways
        ],
    )
    yield (
        "Other collections",
        [
            find_rows([one], f"{one.collection}, {_written(one)}")
            for one in asked
            if one not in faqs
        ],
    )
    yield (
        "Each FAQ",
        [
            find_rows([one], f"{one.collection}, {_way(one.aliases, one.variant)}")
            for one in faqs
            if one.variant in _OF_EACH
        ],
    )


def judgements(asked: Sequence[Asked], engines: Sequence[str]) -> list[Judged]:
    """The FAQ mean, as written for all engines that judge, then kb_search's for the rest."""
    faqs = [one for one in asked if one.kind == "faq"]
    found = []
    for aliases, variant in dict.fromkeys((one.aliases, one.variant) for one in faqs):
        same = [one for one in faqs if (one.aliases, one.variant) == (aliases, variant)]
        label = f"FAQ mean, {_way(aliases, variant)}"
        judges = engines if aliases and variant == PLAIN else (OURS,)
        found += [judge(same, label, engine) for engine in judges]
    return found + [
        judge([one], f"{one.collection} ({one.entries} entries)", OURS)
        for one in asked
        if one.variant == PLAIN and one.out_of_scope
    ]


def _way(aliases: bool, variant: str) -> str:
    return f"{'with' if aliases else 'without'} aliases, {variant}"


def _written(one: Asked) -> str:
    return f"asked by {one.variant}" if one.kind == "mixture" else one.variant


def print_rows(title: str, table: Sequence[Row]) -> None:
    """A Markdown table: MRR@10 with its interval / hit@4, and how far before the next best."""
    if not table:
        return
    engines = list(table[0].values)
    print(f"\n### {title}: MRR@10 [95 %] / hit@4\n")
    print(f"| | questions | {' | '.join(engines)} | before the best other |")
    print(f"|---|--:|{'--:|' * (len(engines) + 1)}")
    for row in table:
        cells = [f"{_shown(v[MRR])} / {_bare(v[HIT].value)}" for v in row.values.values()]
        least = min(row.ahead.values(), key=lambda lead: lead.value, default=None)
        lead = _shown(least, sign=True) if least else ""
        print(f"| {row.label} | {row.questions} | {' | '.join(cells)} | {lead} |")


def print_judged(table: Sequence[Judged]) -> None:
    """A Markdown table of how sure the engines were, and whether rightly."""
    if not table:
        return
    print("\n### Confidence at the default threshold\n")
    print("| | engine | in scope, answered | out of scope, flagged | calibration error | floor |")
    print("|---|---|--:|--:|--:|--:|")
    for one in table:
        numbers = ["" if n is None else _bare(n) for n in (one.error, one.floor)]
        flagged = _shown(one.flagged) if one.flagged else ""
        cells = [one.label, one.engine, _shown(one.answered), flagged, *numbers]
        print(f"| {' | '.join(cells)} |")


def as_json(tables: Sequence[tuple[str, list[Row]]], judged: Sequence[Judged]) -> dict[str, Any]:
    """Everything that was printed, as JSON values."""
    return {
        "tables": {title: [asdict(row) for row in table] for title, table in tables},
        "confidence": [asdict(one) for one in judged],
    }


def _shown(interval: Interval, *, sign: bool = False) -> str:
    low, high = _bare(interval.low, sign=sign), _bare(interval.high, sign=sign)
    return f"{_bare(interval.value, sign=sign)} [{low}, {high}]"


def _bare(value: float, *, sign: bool = False) -> str:
    text = f"{value:+.3f}" if sign else f"{value:.3f}"
    return text.replace("0.", ".", 1) if abs(value) < 1 else text
