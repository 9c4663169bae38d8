"""`eval`: how well the search does on questions whose right entries are known."""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from kb_search.cli.command import DONE, Commands, add_command, opened
from kb_search.evaluation.folder import read_task
from kb_search.evaluation.run import evaluate
from kb_search.models import Mode

if TYPE_CHECKING:
    from kb_search.cli.output import Output
    from kb_search.evaluation.measures import Evaluation


def register(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "eval",
        "measure the search on a folder of questions with known answers",
        _eval,
        epilog="DIR holds corpus.jsonl (_id, title, text), queries.jsonl (_id, text) and qrels.tsv"
        " (query-id, corpus-id, score). They are loaded into a collection of their own, which is"
        " dropped again.",
    )
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--queries", type=Path, metavar="FILE", help="ask these instead")
    parser.add_argument(
        "--roles",
        type=Path,
        metavar="FILE",
        help="a table 'query-id role': those marked alias are loaded, those marked test asked",
    )
    parser.add_argument("--no-aliases", action="store_true", help="load no aliases")
    parser.add_argument(
        "--out-of-scope", type=Path, metavar="FILE", help="questions that nothing here answers"
    )
    parser.add_argument("--mode", choices=get_args(Mode), default="auto", help="default: auto")


async def _eval(args: argparse.Namespace, out: Output) -> int:
    task = await asyncio.to_thread(
        read_task,
        args.folder,
        queries=args.queries,
        roles=args.roles,
        aliases=not args.no_aliases,
        out_of_scope=args.out_of_scope,
    )
    async with opened(args) as kb:
        with out.progress("Measuring") as advance:
            evaluation = await evaluate(kb, task, mode=args.mode, on_progress=advance)
    document = _document(evaluation)
    out.document(document)
    for name, value in document.items():
        out.line(f"{name:18} {_shown(value)}")
    return DONE


def _document(evaluation: Evaluation) -> dict[str, Any]:
    out_of_scope = evaluation.out_of_scope
    return {
        "queries": evaluation.queries,
        "mrr@10": evaluation.mrr_at_10,
        "hit@1": evaluation.hit_at_1,
        "hit@4": evaluation.hit_at_4,
        "p50_ms": evaluation.p50_ms,
        "p95_ms": evaluation.p95_ms,
        "layers": evaluation.layers,
        "confident": evaluation.confident,
        "precision": evaluation.precision,
        "calibration_error": evaluation.calibration_error,
        "out_of_scope": out_of_scope
        and {"queries": out_of_scope.queries, "flagged": out_of_scope.flagged},
    }


def _shown(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_shown(inner)}" for name, inner in value.items())
    if isinstance(value, float):
        return f"{value:.3f}"
    return "-" if value is None else str(value)
