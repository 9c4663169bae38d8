"""How good the answers are, beside what people use instead, with bootstrap intervals.

    python benchmarks/quality.py --data DIR [--quick] [--only NAME ...] [--alone] [--json FILE]

DIR holds collections (`corpus.jsonl`, `queries.jsonl`, `qrels.tsv`; FAQs with `alias_split.tsv`;
the questions written otherwise in `queries.noaccent.jsonl` and the like). Measured in the same run:
kb_search by its public search, the usual recipe on the same PostgreSQL, bm25s with PyStemmer, and
tantivy. Needs `pip install 'kb-search[bench]'`; uses KB_SEARCH_DSN, whose schema is applied, else
an embedded server in a temporary folder. Tables go to standard output, progress to the other.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from kb_search import KnowledgeBase, Settings
from kb_search.evaluation.folder import Question
from kb_search.evaluation.measures import Outcome
from quality_collections import PLAIN, Load, loads
from quality_engines import Bm25s, Engine, KbSearch, Tantivy, UsualRecipe
from quality_measures import RESAMPLES, SEED
from quality_table import Asked, as_json, judgements, print_judged, print_rows, rows

QUICK = 60
PACKAGES = ("bm25s", "PyStemmer", "tantivy")


async def ask_all(engine: Engine, load: Load) -> dict[str, list[Outcome]]:
    """{variant: outcomes}; those of the questions out of scope under an empty name."""
    began = time.perf_counter()
    await engine.load(load.entries)
    try:
        outcomes = {
            variant: await engine.ask(questions) for variant, questions in load.asked.items()
        }
        if load.out_of_scope and engine.judges:
            outside = [
                Question(id=str(nr), text=text, right=frozenset())
                for nr, text in enumerate(load.out_of_scope)
            ]
            outcomes[""] = await engine.ask(outside)
    finally:
        await engine.drop()
    asked = sum(len(one) for one in outcomes.values())
    took_s = time.perf_counter() - began
    aliases = "" if load.aliases else ", no aliases"
    print(f"{load.name}{aliases}: {engine.name}, {asked} in {took_s:.0f} s", file=sys.stderr)
    return outcomes


async def measure(load: Load, engines: Sequence[Engine]) -> list[Asked]:
    found = {engine.name: await ask_all(engine, load) for engine in engines}
    return [
        Asked(
            collection=load.name,
            kind=load.kind,
            aliases=load.aliases,
            variant=variant,
            entries=len(load.entries),
            outcomes={name: outcomes[variant] for name, outcomes in found.items()},
            out_of_scope={name: outcomes[""] for name, outcomes in found.items() if "" in outcomes}
            if variant == PLAIN
            else {},
        )
        for variant in load.asked
    ]


async def run(arguments: argparse.Namespace, folder: Path) -> dict[str, Any]:
    began = time.perf_counter()
    settings = Settings() if os.environ.get("KB_SEARCH_DSN") else Settings(data_dir=folder)
    asked: list[Asked] = []
    async with KnowledgeBase.open(settings) as kb:
        await kb.initialise()
        engines: list[Engine] = [KbSearch(kb)]
        if not arguments.alone:
            engines += [UsualRecipe(kb), Bm25s(), Tantivy()]
        server = await kb.pool.fetchval("SHOW server_version")
        most = QUICK if arguments.quick else None
        for load in loads(arguments.data, only=arguments.only, most=most):
            asked += await measure(load, engines)
    if not asked:
        sys.exit(
            f"nothing to measure in {arguments.data}: no folder with corpus.jsonl and qrels.tsv"
        )
    tables = list(rows(asked))
    judged = judgements(asked, [engine.name for engine in engines if engine.judges])
    packages = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    print(f"kb_search {version('kb-search')}, PostgreSQL {server}; {packages}")
    print(f"{RESAMPLES} resamples, seed {SEED}; {time.perf_counter() - began:.0f} s")
    for title, table in tables[:2]:
        print_rows(title, table)
    print_judged(judged)
    for title, table in tables[2:]:
        print_rows(title, table)
    return {"server": server, "packages": packages, **as_json(tables, judged)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--data", type=Path, required=True, metavar="DIR")
    parser.add_argument("--quick", action="store_true", help=f"at most {QUICK} questions of a kind")
    parser.add_argument("--only", nargs="+", default=(), metavar="NAME", help="these collections")
    parser.add_argument("--alone", action="store_true", help="kb_search alone")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every number there too")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        document = asyncio.run(run(arguments, Path(folder)))
    if arguments.json:
        arguments.json.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
