"""`unanswered` and `alias`: what nothing answered, and making an entry answer it."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from kb_search.cli.command import DONE, Commands, add_command, count, opened, text
from kb_search.cli.output import counted

if TYPE_CHECKING:
    from kb_search.cli.output import Output


def register(commands: Commands) -> None:
    """Add the commands."""
    unanswered = add_command(
        commands,
        "unanswered",
        "list questions that were not answered confidently, near-equal ones as one",
        _unanswered,
        epilog="Questions are logged where KB_SEARCH_QUESTION_LOG is text (or hash: then they are"
        " counted, and their text is not kept).",
    )
    unanswered.add_argument("--days", type=count, help="of the last days (default: all kept)")
    unanswered.add_argument("--limit", type=count, default=50, help="groups at most (default: 50)")
    alias = add_command(
        commands,
        "alias",
        "give an entry another way to ask for it",
        _alias,
        epilog='kb-search alias "envios/Gastos de envío" "¿los portes van aparte?"',
    )
    alias.add_argument("entry", type=text, metavar="ENTRY", help="its id, or section/title")
    alias.add_argument("alias", type=text, metavar="ALIAS", help="the question, in quotes")


async def _unanswered(args: argparse.Namespace, out: Output) -> int:
    async with opened(args) as kb:
        groups = await kb.unanswered(days=args.days, limit=args.limit)
        logged = kb.settings.question_log != "none"
    out.document({"unanswered": groups})
    if not groups:
        out.line("no unanswered question is logged")
        if not logged:
            out.line("(nothing is logged by this process: KB_SEARCH_QUESTION_LOG=text turns it on)")
    for group in groups:
        first, *others = group.questions or (
            f"(only its digest is kept: {group.digests[0][:12]}…)",
        )
        out.line(f"{group.times} × {first}  (best {group.confidence:.0%})", "bold")
        for question in others:
            out.line(question, indent="     ")
    return DONE


async def _alias(args: argparse.Namespace, out: Output) -> int:
    entry = int(args.entry) if args.entry.isdecimal() else args.entry
    async with opened(args) as kb:
        stored = await kb.add_alias(entry, args.alias, collection=args.collection)
    out.document(stored)
    out.line(f"{stored.section}/{stored.title}: {counted(len(stored.aliases), 'alias', 'aliases')}")
    return DONE
