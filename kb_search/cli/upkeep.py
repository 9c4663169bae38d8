"""`init`, `stats`, `doctor` and `rebuild`: the state of the database."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kb_search.cli.command import DATABASE_FAILED, DONE, Commands, add_command, opened

if TYPE_CHECKING:
    from kb_search.cli.output import Output

_MARKS = {"ok": ("ok", "green"), "warning": ("warning", "yellow"), "error": ("ERROR", "bold red")}


def register(commands: Commands) -> None:
    """Add the commands."""
    add_command(commands, "init", "set the database up, or bring it up to date", _init)
    add_command(commands, "stats", "count what each collection holds", _stats)
    add_command(commands, "doctor", "check the server, the schema and the data", _doctor)
    add_command(commands, "rebuild", "derive everything from the entries again", _rebuild)


async def _init(args: argparse.Namespace, out: Output) -> int:
    async with opened(args) as kb:
        await kb.initialise()
    out.document({"initialised": True})
    out.line("the database is ready")
    return DONE


async def _stats(args: argparse.Namespace, out: Output) -> int:
    async with opened(args) as kb:
        found = await kb.stats(collection=args.collection)
        names = [collection.collection for collection in found if collection.documents]
        documents = [await kb.corpus_stats(collection=name) for name in names]
    out.document({"collections": found, "documents": documents})
    if not found:
        out.line("no entries")
    for collection in found:
        _show_fields(collection, out)
    for corpus in documents:
        out.line(f"documents of {corpus.collection}", "bold")
        for field in dataclasses.fields(corpus)[1:]:
            out.line(f"{field.name}: {_shown(getattr(corpus, field.name))}", indent="  ")
    return DONE


async def _doctor(args: argparse.Namespace, out: Output) -> int:
    async with opened(args) as kb:
        checks = await kb.doctor()
    well = all(check.ok for check in checks)
    out.document({"ok": well, "checks": checks})
    for check in checks:
        mark, style = _MARKS[check.level]
        out.line(f"{mark:8} {check.name}: {check.message}", style)
    return DONE if well else DATABASE_FAILED


async def _rebuild(args: argparse.Namespace, out: Output) -> int:
    async with opened(args) as kb:
        report = await kb.rebuild(collection=args.collection)
    out.document(report)
    _show_fields(report, out)
    return DONE


def _show_fields(value: Any, out: Output) -> None:
    first, *rest = dataclasses.fields(value)
    out.line(f"{first.name}: {_shown(getattr(value, first.name))}", "bold")
    for field in rest:
        out.line(f"{field.name}: {_shown(getattr(value, field.name))}", indent="  ")


def _shown(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {count}" for name, count in value.items())
    return "-" if value is None else str(value)
