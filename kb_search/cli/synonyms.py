"""`synonyms`: words that mean the same in a collection."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from kb_search.cli.command import DONE, Commands, Parser, add_command, opened, text
from kb_search.cli.output import counted

if TYPE_CHECKING:
    from kb_search.cli.output import Output
    from kb_search.models import Synonym


def register(commands: Commands) -> None:
    """Add the command and its own commands."""
    parser = add_command(commands, "synonyms", "words that mean the same in a collection")
    own = parser.add_subparsers(
        dest="synonyms_command", metavar="COMMAND", required=True, parser_class=Parser
    )
    add = add_command(
        own,
        "add",
        "make two expressions find the same",
        _add,
        epilog='Several words in quotes: kb-search synonyms add "darse de baja" cancelar',
    )
    remove = add_command(own, "remove", "take a pair away again", _remove)
    for pair in (add, remove):
        pair.add_argument("phrase", type=text, help="what people type")
        pair.add_argument("synonym", type=text, help="what the entries say")
    add.add_argument(
        "--one-way", action="store_true", help="only from the first to the second expression"
    )
    add_command(own, "list", "list the pairs", _list)


async def _add(args: argparse.Namespace, out: Output) -> int:
    async with opened(args) as kb:
        pair = await kb.add_synonym(args.phrase, args.synonym, one_way=args.one_way)
    out.document(pair)
    _show(pair, out)
    return DONE


async def _remove(args: argparse.Namespace, out: Output) -> int:
    async with opened(args) as kb:
        removed = await kb.remove_synonym(args.phrase, args.synonym)
    out.document({"removed": removed})
    out.line(f"{counted(removed, 'pair')} removed")
    return DONE


async def _list(args: argparse.Namespace, out: Output) -> int:
    async with opened(args) as kb:
        found = await kb.synonyms()
    out.document({"synonyms": found})
    for pair in found:
        _show(pair, out)
    return DONE


def _show(pair: Synonym, out: Output) -> None:
    out.line(f"{pair.phrase} {'↔' if pair.both_ways else '→'} {pair.synonym}")
