"""What every command is made of: its parser, the options of all, an open knowledge base.

A module of commands has `register(subparsers)`, which calls `add_command`; it is listed in
`kb_search.cli.program`. A handler gets the parsed arguments and the output, and returns the exit
code:

    0  done, or answered confidently
    1  not answered confidently
    2  wrong usage or input
    3  the database
    4  part of the input failed
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

if TYPE_CHECKING:
    from kb_search.cli.output import Output
    from kb_search.knowledge_base import KnowledgeBase

DONE = 0
NOT_CONFIDENT = 1
WRONG_INPUT = 2
DATABASE_FAILED = 3
PARTLY_FAILED = 4

Handler: TypeAlias = "Callable[[argparse.Namespace, Output], Awaitable[int]]"
Commands: TypeAlias = "argparse._SubParsersAction[Parser]"  # noqa: SLF001 - it has no other name


class UsageError(Exception):
    """The command line cannot be understood; `usage` is the short help of the command."""

    def __init__(self, message: str, usage: str = "") -> None:
        self.usage = usage
        super().__init__(message)


class Parser(argparse.ArgumentParser):
    """A parser that raises instead of leaving the process, and takes no shortened options."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"allow_abbrev": False, **options})

    def error(self, message: str) -> NoReturn:
        raise UsageError(message, self.format_usage())


def options_of_all(*, default: Any = None) -> Parser:
    """The options that stand before or after the command.

    After it they are added with `default=SUPPRESS`, so that what stood before is kept.
    """
    parser = Parser(add_help=False)
    group = parser.add_argument_group("options of every command")
    group.add_argument(
        "--dsn",
        type=text,
        default=default,
        help="PostgreSQL to use (default: KB_SEARCH_DSN, else the embedded server)",
    )
    group.add_argument(
        "--collection",
        type=text,
        default=default,
        help="collection to use (default: KB_SEARCH_COLLECTION, else 'default')",
    )
    group.add_argument(
        "--json",
        action="store_true",
        default=default if default is not None else False,
        help="print one JSON document",
    )
    return parser


def add_command(
    commands: Commands, name: str, summary: str, handler: Handler | None = None, **options: Any
) -> Parser:
    """A new command with the options of all; without a handler it has commands of its own."""
    parser = commands.add_parser(
        name,
        help=summary,
        description=options.pop("description", f"{summary[0].upper()}{summary[1:]}."),
        parents=[options_of_all(default=argparse.SUPPRESS)],
        **options,
    )
    if handler is not None:
        parser.set_defaults(handler=handler)
    return parser


def opened(args: argparse.Namespace) -> AbstractAsyncContextManager[KnowledgeBase]:
    """The knowledge base that the options name, to be entered with `async with`."""
    from kb_search.knowledge_base import KnowledgeBase

    return KnowledgeBase.open(dsn=args.dsn, collection=args.collection)


def text(value: str) -> str:
    """An argument as text; bytes that are not UTF-8 become replacement characters."""
    return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def json_object(value: str) -> dict[str, Any]:
    """An argument that is a JSON object."""
    try:
        found = json.loads(text(value))
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise argparse.ArgumentTypeError('must be a JSON object, such as \'{"idioma": "es"}\'')
    return found


def count(value: str) -> int:
    """An argument that is a number of rows, at least 1."""
    return _number(value, range(1, 2**31))


def row_id(value: str) -> int:
    """An argument that can be the id of a row."""
    return _number(value, range(2**63))


def _number(value: str, allowed: range) -> int:
    try:
        if (number := int(value)) in allowed:
            return number
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(
        f"must be a whole number from {allowed.start} to {allowed.stop - 1}"
    )
