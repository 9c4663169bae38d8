"""`seed`, `entries` and `remove`: what is in the knowledge base."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from kb_search.bundled import bundled_seed
from kb_search.cli.command import (
    DONE,
    Commands,
    UsageError,
    add_command,
    count,
    opened,
    row_id,
    text,
)
from kb_search.cli.output import counted

if TYPE_CHECKING:
    from kb_search.cli.output import Output
    from kb_search.seeds.load import SeedReport


def register(commands: Commands) -> None:
    """Add the commands."""
    seed = add_command(
        commands,
        "seed",
        "load seed files, all or nothing",
        _seed,
        epilog=".jsonl: an object a line; .csv: a header line, aliases and tags separated by |;"
        " .yaml: a list; each with section, title, content and, where wanted, aliases, tags,"
        " metadata, source. .sql: statements.",
    )
    seed.add_argument("files", nargs="*", type=Path, metavar="FILE")
    seed.add_argument(
        "--sample",
        action="append",
        default=[],
        metavar="NAME",
        help="a sample that ships with kb_search: portfolio or tienda",
    )
    entries = add_command(commands, "entries", "list the entries, by id", _entries)
    entries.add_argument("--id", type=row_id, dest="ids", action="append", help="only this entry")
    entries.add_argument("--section", type=text, help="only entries of this section")
    entries.add_argument("--limit", type=count, help="entries at most (default: all)")
    entries.add_argument("--after-id", type=row_id, help="only entries with a greater id")
    remove = add_command(
        commands,
        "remove",
        "remove entries",
        _remove,
        epilog="With --collection and nothing else the whole collection is emptied.",
    )
    remove.add_argument("ids", nargs="*", type=row_id, metavar="ID")
    remove.add_argument("--section", type=text, help="the entries of this section")
    remove.add_argument(
        "--document", type=row_id, metavar="ID", help="the entries of this document"
    )


async def _seed(args: argparse.Namespace, out: Output) -> int:
    paths = [*(bundled_seed(name) for name in args.sample), *args.files]
    if not paths:
        raise UsageError("name at least one seed file, or --sample portfolio")
    async with opened(args) as kb:
        with out.progress("Loading") as advance:
            report = await kb.seed(*paths, collection=args.collection, on_progress=advance)
    out.document(report)
    out.line(_told(report))
    return DONE


def _told(report: SeedReport) -> str:
    parts = []
    if report.statements:
        parts.append(f"{counted(report.statements, 'SQL statement')} run")
    if report.added or report.updated or report.unchanged or not parts:
        parts.append(
            f"{counted(report.added, 'entry', 'entries')} added, {report.updated} updated,"
            f" {report.unchanged} unchanged"
        )
    return f"{counted(report.files, 'file')}: {'; '.join(parts)}"


async def _entries(args: argparse.Namespace, out: Output) -> int:
    async with opened(args) as kb:
        if args.ids:
            found = [await kb.get(id_) for id_ in args.ids]
        else:
            found = await kb.entries(section=args.section, limit=args.limit, after_id=args.after_id)
    out.document({"entries": found})
    for entry in found:
        out.line(f"{entry.id}\t{entry.section}\t{' '.join(entry.title.split())}")
        if args.ids:
            out.line(entry.content, indent="    ")
    return DONE


async def _remove(args: argparse.Namespace, out: Output) -> int:
    async with opened(args) as kb:
        removed = await kb.remove(
            ids=args.ids or None,
            section=args.section,
            document=args.document,
            collection=args.collection,
        )
    out.document({"removed": removed})
    out.line(f"{counted(removed, 'entry', 'entries')} removed")
    return DONE
