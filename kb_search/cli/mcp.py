"""`mcp`: the knowledge base for agents, over the Model Context Protocol."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from kb_search.cli.command import DONE, Commands, UsageError, add_command, opened, text
from kb_search.errors import ConfigError

if TYPE_CHECKING:
    from kb_search.cli.output import Output

_FROM_THE_COMMAND_LINE = "command-line"


def register(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "mcp",
        "serve the knowledge base to agents over MCP (stdio, or --http)",
        _mcp,
        epilog="Who may read what over HTTP is set in KB_SEARCH_MCP_TOKENS. Other users of this"
        " machine can see a --token among its processes.",
    )
    parser.add_argument(
        "--http", action="store_true", help="streamable HTTP instead of standard input and output"
    )
    parser.add_argument("--host", type=text, help="address to listen on (default: 127.0.0.1)")
    parser.add_argument("--port", type=int, help="port to listen on (default: 8765)")
    parser.add_argument(
        "--token", type=text, help="bearer token that clients must send, at least 16 characters"
    )
    parser.add_argument(
        "--allowed-host",
        type=text,
        action="append",
        dest="allowed_hosts",
        metavar="HOST",
        help="name by which clients call this server, such as kb.example.com:*",
    )
    parser.add_argument(
        "--allowed-origin",
        type=text,
        action="append",
        dest="allowed_origins",
        metavar="ORIGIN",
        help="web page that may call it, such as https://example.com",
    )
    parser.add_argument(
        "--memory", action="store_true", default=None, help="offer the tool `remember`"
    )
    parser.add_argument("--max-chars", type=int, help="characters of an answer at most")


async def _mcp(args: argparse.Namespace, out: Output) -> int:  # noqa: ARG001 - as all handlers
    if args.json:
        raise UsageError("mcp speaks its own protocol: leave --json out")
    try:
        import mcp  # noqa: F401 - to tell what is missing
    except ModuleNotFoundError:
        raise ConfigError(
            "the MCP server needs the extra mcp: pip install 'kb-search[mcp]'"
        ) from None
    from kb_search.mcp.server import build_server
    from kb_search.mcp.settings import load_mcp_settings

    given = _overrides(args)
    async with opened(args) as kb:
        if args.token is not None:
            offered = load_mcp_settings().collections or (kb.settings.collection,)
            given["tokens"] = (
                {"token": args.token, "name": _FROM_THE_COMMAND_LINE, "collections": offered},
            )
        settings = load_mcp_settings(**given)
        if args.http:
            from kb_search.mcp.http import serve_http

            await serve_http(build_server(kb, settings), settings)
        else:
            from kb_search.mcp.stdio import serve_stdio

            # Whoever started this process has its rights; tokens are for HTTP.
            await serve_stdio(build_server(kb, settings.model_copy(update={"tokens": ()})))
    return DONE


def _overrides(args: argparse.Namespace) -> dict[str, Any]:
    given: dict[str, Any] = {
        "host": args.host,
        "port": args.port,
        "memory": args.memory,
        "max_chars": args.max_chars,
        "allowed_hosts": None if args.allowed_hosts is None else tuple(args.allowed_hosts),
        "allowed_origins": None if args.allowed_origins is None else tuple(args.allowed_origins),
    }
    if not args.http:
        unused = [name for name in ("host", "port", "token") if getattr(args, name) is not None]
        if unused:
            raise UsageError(f"--{unused[0]} goes with --http")
    # --collection is what everyone may read, whatever the environment offers.
    if args.collection is not None:
        given["collections"] = (args.collection,)
    return given
