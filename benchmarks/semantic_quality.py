"""How good the search is by words, by meaning and by both, over folders as `kb-search eval` reads.

    python benchmarks/semantic_quality.py [--no-aliases] [--out-of-scope F] [--queries NAME] DIR...

A folder with alias_split.tsv is asked its test questions, its aliases loaded. KB_SEARCH_DSN names
the database, KB_SEARCH_EMBEDDER the embedder. The last lines are plain means over the folders.
"""

import argparse
import asyncio
from collections.abc import Sequence
from pathlib import Path

from kb_search.evaluation.folder import read_task
from kb_search.evaluation.measures import Evaluation
from kb_search.evaluation.run import evaluate
from kb_search.knowledge_base import KnowledgeBase
from kb_search.models import Mode

MODES: tuple[Mode, ...] = ("lexical", "semantic", "hybrid")


def row(name: str, mode: str, of: Sequence[Evaluation]) -> str:
    def mean(values: Sequence[float]) -> float:
        return sum(values) / len(values)

    flagged = [e.out_of_scope.flagged for e in of if e.out_of_scope is not None]
    return (
        f"{name[:24]:24} {mode:9} MRR@10 {mean([e.mrr_at_10 for e in of]):.4f}"
        f"  hit@4 {mean([e.hit_at_4 for e in of]):.4f}"
        f"  confident {mean([e.confident for e in of]):.3f}"
        + (f"  flagged {mean(flagged):.3f}" if flagged else "")
        + f"  p50 {mean([e.p50_ms for e in of]):.1f} ms"
    )


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--no-aliases", action="store_true")
    parser.add_argument("--queries", default="queries.jsonl")
    parser.add_argument("--out-of-scope", type=Path)
    args = parser.parse_args()
    found: dict[Mode, list[Evaluation]] = {mode: [] for mode in MODES}
    async with KnowledgeBase.open() as kb:
        for folder in args.folders:
            roles = folder / "alias_split.tsv"
            task = read_task(
                folder,
                queries=folder / args.queries,
                roles=roles if roles.exists() else None,
                aliases=not args.no_aliases,
                out_of_scope=args.out_of_scope,
            )
            for mode in MODES:
                found[mode].append(await evaluate(kb, task, mode=mode))
                print(row(folder.name, mode, found[mode][-1:]), flush=True)
    for mode in MODES:
        print(row("mean", mode, found[mode]))


if __name__ == "__main__":
    asyncio.run(main())
