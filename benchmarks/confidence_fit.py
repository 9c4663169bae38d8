"""The fit behind the numbers of kb_search/confidence.py, and its error on collections left out.

    python benchmarks/confidence_fit.py --data DIR [--without NAME ...] [--evidence FILE]

DIR is as for benchmarks/quality.py. The evidence is that of the real search: what
`kb_search.confidence.evidence` gives while the public search answers. Two logistic models are
fitted, that the collection answers the question, and that its first hit is right; their product
is told in steps. Each FAQ is then left out in turn, fitted on the rest, and tested. Takes minutes;
`--evidence` keeps what was gathered in a file, and reads it where it is there. Needs
`pip install 'kb-search[bench]'`; uses KB_SEARCH_DSN, else an embedded server in a temporary folder.
"""

from __future__ import annotations

import argparse
import asyncio
import math
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from sklearn.linear_model import LogisticRegression

from confidence_examples import Example, gathered, read, write
from kb_search.confidence import Evidence, probability
from kb_search.evaluation.measures import Outcome, calibration_error
from quality_collections import PLAIN
from quality_measures import calibration_floor

Numbers: TypeAlias = "np.ndarray[Any, np.dtype[np.float64]]"
Models: TypeAlias = "tuple[Logistic, Logistic]"

# The aim of the fit: an FAQ as its users will keep it has aliases.
WITHOUT_ALIASES = 0.7
# One question out of scope beside two in scope would already be a chatty public.
OUTSIDE = 2.0
# How many out of scope are thought of where the steps get their probability.
OUTSIDE_OF_STEPS = 0.15
# Where the product is cut, chosen on all collections: confident, and sure.
EDGES = (0.26, 0.65)
CONFIDENT = EDGES[0]

ANSWERED: Mapping[str, Callable[[Evidence], float]] = {
    "strength": lambda e: e.strength,
    "coverage": lambda e: e.coverage,
    "lead": lambda e: e.lead,
    "likeness": lambda e: e.likeness,
    "part_coverage": lambda e: e.part_coverage,
    "part_matched": lambda e: e.part_matched,
    "log1p(rarity)": lambda e: math.log1p(e.rarity),
    "log(words)": lambda e: math.log(e.words),
}
RIGHT: Mapping[str, Callable[[Evidence], float]] = {
    "clearness": lambda e: e.clearness,
    "coverage": lambda e: e.coverage,
}


@dataclass(frozen=True)
class Logistic:
    """A logistic model over named features of the evidence."""

    features: Mapping[str, Callable[[Evidence], float]]
    coefficients: Numbers
    intercept: float

    def __call__(self, found: Evidence) -> float:
        values = [feature(found) for feature in self.features.values()]
        return float(1 / (1 + np.exp(-(self.coefficients @ values + self.intercept))))

    def __str__(self) -> str:
        terms = zip(self.coefficients, self.features, strict=True)
        return f"{self.intercept:+.2f} " + " ".join(f"{c:+.2f}*{name}" for c, name in terms)


def fit(examples: Sequence[Example]) -> Models:
    """The models (answered, right)."""
    found = [one for one in examples if one.evidence is not None]
    in_scope = [one for one in found if one.in_scope]
    return (
        _fitted(ANSWERED, found, [one.in_scope for one in found], OUTSIDE),
        _fitted(RIGHT, in_scope, [one.right for one in in_scope], OUTSIDE),
    )


def _fitted(
    features: Mapping[str, Callable[[Evidence], float]],
    examples: Sequence[Example],
    said: Sequence[bool],
    outside: float,
) -> Logistic:
    x = np.array(
        [[take(one.evidence) for take in features.values()] for one in examples if one.evidence]
    )
    mean, spread = x.mean(axis=0), x.std(axis=0) + 1e-9
    model = LogisticRegression(C=1.0, max_iter=3000).fit(
        (x - mean) / spread, said, sample_weight=1000 * _weights(examples, outside)
    )
    coefficients = model.coef_[0] / spread
    return Logistic(features, coefficients, float(model.intercept_[0] - coefficients @ mean))


def _weights(examples: Sequence[Example], outside: float) -> Numbers:
    """Each group of questions counts once, whatever its size."""
    sizes = Counter(one.group for one in examples)
    return np.array(
        [
            (1.0 if one.in_scope else outside)
            * (1.0 if one.aliases else WITHOUT_ALIASES)
            / sizes[one.group]
            for one in examples
        ]
    )


def product(models: Models, one: Example) -> float:
    """The probability before the steps; 0 where no word was found."""
    return math.prod(model(one.evidence) for model in models) if one.evidence else 0.0


def steps(models: Models, examples: Sequence[Example]) -> Numbers:
    """The share of right first hits in each step of the product."""
    place = np.searchsorted(EDGES, [product(models, one) for one in examples])
    right = np.array([float(one.right) for one in examples])
    weights = _weights(examples, OUTSIDE_OF_STEPS)
    return np.array(
        [
            np.average(right[place == step], weights=weights[place == step])
            for step in range(len(EDGES) + 1)
        ]
    )


def told(models: Models, values: Numbers, examples: Iterable[Example]) -> list[Outcome]:
    """The outcomes as the search would tell them."""
    products = [(product(models, one), one.right) for one in examples]
    return [
        _outcome(float(values[np.searchsorted(EDGES, value)]), right, confident=value >= CONFIDENT)
        for value, right in products
    ]


def shipped(examples: Iterable[Example]) -> list[Outcome]:
    """The outcomes by the numbers that kb_search has."""
    probabilities = [
        (probability(one.evidence) if one.evidence else 0.0, one.right) for one in examples
    ]
    return [_outcome(p, right, confident=p >= 0.5) for p, right in probabilities]


def _outcome(confidence: float, right: bool, *, confident: bool) -> Outcome:
    return Outcome(
        rank=1 if right else None,
        layer="fts",
        confident=confident,
        confidence=confidence,
        took_ms=0.0,
    )


def report(examples: Sequence[Example], *, refit: bool) -> None:
    """A table over the FAQs, by the kind of question; each FAQ is left out of its own fit."""
    names = sorted({one.collection for one in examples if one.faq})
    tell: dict[str, Callable[[Iterable[Example]], list[Outcome]]] = dict.fromkeys(names, shipped)
    if refit:
        for name in names:
            rest = [one for one in examples if one.collection != name]
            models = fit(rest)
            values = steps(models, rest)
            tell[name] = lambda some, models=models, values=values: told(models, values, some)  # type: ignore[misc]
    print("| | in scope, answered | out of scope, flagged | calibration error | floor |")
    print("|---|--:|--:|--:|--:|")
    every: list[list[float]] = []
    for name in names:
        mine = [one for one in examples if one.collection == name]
        every.append(_judged(tell[name], [one for one in mine if one.aliases], PLAIN))
        print(f"| {name} | {' | '.join(f'{value:.3f}' for value in every[-1])} |")
    print(f"| mean | {' | '.join(f'{value:.3f}' for value in np.mean(every, axis=0))} |")
    for label, aliases, variant in (("slips", True, "noaccent_typo"), ("no aliases", False, PLAIN)):
        some = [
            [o for o in examples if o.collection == name and o.aliases == aliases] for name in names
        ]
        mean = np.mean(
            [_judged(tell[n], s, variant) for n, s in zip(names, some, strict=True)], axis=0
        )
        print(f"| mean, {label} | {' | '.join(f'{value:.3f}' for value in mean)} |")


def _judged(
    tell: Callable[[Iterable[Example]], list[Outcome]], examples: Sequence[Example], variant: str
) -> list[float]:
    inside = tell(one for one in examples if one.in_scope and one.variant == variant)
    outside = tell(one for one in examples if not one.in_scope)
    return [
        float(np.mean([outcome.confident for outcome in inside])),
        float(np.mean([not outcome.confident for outcome in outside])) if outside else math.nan,
        calibration_error(inside),
        calibration_floor([outcome.confidence for outcome in inside]),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--data", type=Path, required=True, metavar="DIR")
    parser.add_argument("--without", nargs="+", default=(), metavar="NAME", help="not these")
    parser.add_argument("--evidence", type=Path, metavar="FILE", help="keep the evidence there")
    arguments = parser.parse_args()
    if arguments.evidence and arguments.evidence.exists():
        examples = read(arguments.evidence)
    else:
        with tempfile.TemporaryDirectory() as folder:
            examples = asyncio.run(gathered(arguments.data, Path(folder)))
        if arguments.evidence:
            write(arguments.evidence, examples)
    examples = [one for one in examples if one.collection not in arguments.without]
    models = fit(examples)
    print(f"{len(examples)} questions\n")
    print(f"answered  {models[0]}")
    print(f"right     {models[1]}")
    print(f"right first hits below, between and from {EDGES}: {steps(models, examples).round(3)}")
    print("\nFitted again without the FAQ that is tested:\n")
    report(examples, refit=True)
    print("\nThe numbers in kb_search/confidence.py, which have seen them all:\n")
    report(examples, refit=False)


if __name__ == "__main__":
    main()
