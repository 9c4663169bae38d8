"""The program: parsing, running, and what becomes of errors."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
import traceback
from collections.abc import Awaitable, Sequence
from contextlib import suppress
from importlib.metadata import version

from kb_search.cli import (
    ask,
    content,
    documents,
    embed,
    evaluate,
    mcp,
    questions,
    server,
    synonyms,
    upkeep,
)
from kb_search.cli.command import (
    DATABASE_FAILED,
    WRONG_INPUT,
    Parser,
    UsageError,
    options_of_all,
)
from kb_search.cli.output import Output
from kb_search.errors import DatabaseError, KbError

# One line for each module of commands.
COMMAND_MODULES = (
    upkeep,
    content,
    ask,
    synonyms,
    questions,
    mcp,
    evaluate,
    documents,
    embed,
    server,
)

_INTERRUPTED = 128 + signal.SIGINT
_TERMINATED = 128 + signal.SIGTERM
# As a shell reports a program that SIGPIPE ended; Windows has no such signal.
_BROKEN_PIPE = 141


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit codes are told in `kb_search.cli.command`."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    out = Output(as_json="--json" in _before_dashes(arguments))
    try:
        code = _run(arguments, out)
        out.finish()
    except BrokenPipeError:
        # The reader has gone; what is left to write must not fail again at exit.
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _BROKEN_PIPE
    return code


def _run(arguments: list[str], out: Output) -> int:
    try:
        args = _parse(arguments)
        return asyncio.run(_until_terminated(args.handler(args, out)))
    except SystemExit as stop:  # --help and --version
        return stop.code if isinstance(stop.code, int) else 0
    except UsageError as error:
        if error.usage:
            out.note(error.usage.rstrip())
        out.failure(error, str(error))
        return WRONG_INPUT
    except DatabaseError as error:
        out.failure(error, str(error))
        return DATABASE_FAILED
    except KbError as error:
        out.failure(error, str(error))
        return WRONG_INPUT
    except KeyboardInterrupt as error:
        out.failure(error, "interrupted")
        return _INTERRUPTED
    except _Terminated as error:
        out.failure(error, "terminated", type_name="Terminated")
        return _TERMINATED
    except BrokenPipeError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever it is, the user gets a sentence
        frame = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{os.path.basename(frame.filename)}:{frame.lineno}"  # noqa: PTH119
        out.failure(error, f"unexpected {type(error).__name__} at {where}: {error}")
        return WRONG_INPUT


class _Terminated(Exception):
    """The process was asked to end (SIGTERM)."""


async def _until_terminated(work: Awaitable[int]) -> int:
    """Run a command; SIGTERM ends it like Ctrl-C, so that nothing is left behind."""
    task = asyncio.ensure_future(work)
    asked = False

    def end() -> None:
        nonlocal asked
        asked = True
        task.cancel()

    # Only the main thread takes signals, and not on Windows.
    with suppress(NotImplementedError, RuntimeError, ValueError):
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, end)
    try:
        return await task
    except asyncio.CancelledError:
        if asked:
            raise _Terminated from None
        raise


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = _parser()
    before = _before_dashes(arguments)
    args, left = parser.parse_known_args(before)
    if args.command is None:
        raise UsageError("name a command (kb-search --help lists them)", parser.format_usage())
    if not hasattr(args, "question"):
        return parser.parse_args(arguments)
    # A question: its words may stand between the options, and after `--` they may be anything.
    options = [word for word in left if word.startswith("-")]
    if options:
        raise UsageError(
            f"unknown option {options[0]} (words of a question that start with '-' go after --)",
            parser.format_usage(),
        )
    args.question += left + arguments[len(before) + 1 :]
    return args


def _before_dashes(arguments: list[str]) -> list[str]:
    return arguments[: arguments.index("--")] if "--" in arguments else arguments


def _parser() -> Parser:
    parser = Parser(
        prog="kb-search",
        description="Search a curated knowledge base in Spanish, on nothing but PostgreSQL.",
        parents=[options_of_all()],
        epilog="Exit codes: 0 done, or answered confidently; 1 not confident; 2 wrong usage or"
        " input; 3 the database; 4 part of the input failed.",
    )
    parser.add_argument("--version", action="version", version=f"kb-search {version('kb-search')}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=Parser)
    for module in COMMAND_MODULES:
        module.register(commands)
    return parser
