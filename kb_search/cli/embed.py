"""`embed`: the vectors of the semantic part."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from kb_search.cli.command import DONE, PARTLY_FAILED, Commands, add_command, opened
from kb_search.cli.output import counted

if TYPE_CHECKING:
    from kb_search.cli.output import Output
    from kb_search.semantic import EmbedReport


def register(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "embed",
        "make the vectors that the search by meaning needs",
        _embed,
        epilog="Without --collection all collections get vectors, later ones too. Entries added or"
        " changed afterwards wait in a queue: run this again, keep --watch running, or set"
        " KB_SEARCH_EMBED_WORKER=true in the application.",
    )
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--watch", action="store_true", help="go on making them until interrupted")
    how.add_argument("--status", action="store_true", help="only say how far they are")
    how.add_argument(
        "--forget-model", metavar="MODEL", help="remove the vectors of a model no longer used"
    )


async def _embed(args: argparse.Namespace, out: Output) -> int:
    async with opened(args) as kb:
        if args.status:
            return await _status(args, out)
        if args.forget_model is not None:
            gone = await kb.meaning.forget_model(args.forget_model)
            out.document({"model": args.forget_model, "vectors": gone})
            out.line(f"{counted(gone, 'vector')} of {args.forget_model} removed")
            return DONE
        if args.watch:
            out.note(f"making vectors with {kb.meaning.embedder.model} until interrupted")
            await kb.meaning.watch(collection=args.collection)
        with out.progress("Making vectors") as advance:
            report = await kb.embed(collection=args.collection, on_progress=advance)
    out.document(report)
    out.line(_told(report))
    if report.last_error is not None:
        out.note(report.last_error)
    return PARTLY_FAILED if report.failed else DONE


async def _status(args: argparse.Namespace, out: Output) -> int:
    async with opened(args) as kb:
        model = kb.meaning.embedder.model
        found = await kb.meaning.progress(collection=args.collection)
        models = await kb.meaning.models()
    out.document({"model": model, "collections": found, "models": models})
    out.line(model, "bold")
    for each in found:
        out.line(
            f"{each.collection}: {counted(each.entries, 'entry', 'entries')},"
            f" {counted(each.vectors, 'vector')}, {each.waiting} waiting"
            + (f", {each.failed} failed before" if each.failed else ""),
            indent="  ",
        )
        if each.last_error:
            out.line(each.last_error, indent="    ")
    for other in models:
        if other != model:
            out.line(f"{other}: of another embedder (--forget-model removes its vectors)", "dim")
    return DONE


def _told(report: EmbedReport) -> str:
    done = counted(report.entries, "entry", "entries")
    told = f"{counted(report.vectors, 'vector')} of {done} made with {report.model}"
    return f"{told}; {report.waiting} waiting" if report.waiting else told
