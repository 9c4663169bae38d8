"""`server`: the embedded PostgreSQL."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from kb_search import servers
from kb_search.cli.command import DATABASE_FAILED, DONE, Commands, Parser, add_command
from kb_search.settings import load_settings

if TYPE_CHECKING:
    from kb_search.cli.output import Output


def register(commands: Commands) -> None:
    """Add the command and its own commands."""
    parser = add_command(commands, "server", "look after the embedded PostgreSQL")
    own = parser.add_subparsers(
        dest="server_command", metavar="COMMAND", required=True, parser_class=Parser
    )
    add_command(own, "status", "tell whether it runs, where, as whom and for whom", _status)
    stop = add_command(own, "stop", "stop it (it stops by itself after its last user)", _stop)
    stop.add_argument("--force", action="store_true", help="even while processes use it")
    add_command(own, "path", "print its data folder", _path)
    psql = add_command(
        own, "psql", "open psql on it", _psql, epilog="After -- come psql's own options."
    )
    psql.add_argument("arguments", nargs="*", metavar="ARGUMENT", help="handed on to psql")
    backup = add_command(own, "backup", "write the database to a file", _backup)
    backup.add_argument("file", type=Path, metavar="FILE")
    restore = add_command(own, "restore", "replace the database by a backup", _restore)
    restore.add_argument("file", type=Path, metavar="FILE")
    upgrade = add_command(own, "upgrade", "carry data over from an older major", _upgrade)
    upgrade.add_argument(
        "--old-binaries", type=Path, metavar="FOLDER", help="where the older PostgreSQL lies"
    )


def _data_dir() -> Path | None:
    return load_settings().data_dir


async def _status(args: argparse.Namespace, out: Output) -> int:  # noqa: ARG001 - as all handlers
    status = await servers.server_status(_data_dir())
    out.document(status)
    out.line("running" if status.running else "not running", "bold")
    out.line(f"data folder: {status.data_dir}")
    out.line(f"PostgreSQL installed: {status.installed}")
    out.line(f"data of PostgreSQL: {', '.join(map(str, status.majors)) or 'none yet'}")
    if status.running:
        out.line(f"runs as the user: {status.user}")
        out.line(f"process: {status.pid}, supervisor: {status.supervisor_pid}")
        out.line(f"used by process: {', '.join(map(str, status.users)) or 'none'}")
        out.line(f"socket folder: {status.socket_dir or 'none (loopback)'}")
        out.line(f"log: {status.log}")
    return DONE


async def _stop(args: argparse.Namespace, out: Output) -> int:
    stopped = await servers.stop_server(_data_dir(), force=args.force)
    out.document({"stopped": stopped})
    out.line("stopped" if stopped else "it was not running")
    return DONE


async def _path(args: argparse.Namespace, out: Output) -> int:  # noqa: ARG001 - as all handlers
    path = servers.server_path(_data_dir())
    out.document({"path": path})
    out.line(str(path))
    return DONE


async def _psql(args: argparse.Namespace, out: Output) -> int:  # noqa: ARG001, RET503
    async with await servers.open_embedded_server(_data_dir()) as server:
        command = servers.psql_command(server, args.arguments)
        environment = server.environment()
        if sys.platform == "win32":
            process = await asyncio.create_subprocess_exec(*command, env=environment)
            return DONE if await process.wait() == 0 else DATABASE_FAILED
        # psql takes over this process, and with it what keeps the server running.
        server.connection.set_inheritable(True)
        os.execve(command[0], command, environment)  # noqa: S606 - never returns


async def _backup(args: argparse.Namespace, out: Output) -> int:
    written = await servers.backup(_data_dir(), args.file)
    out.document({"file": args.file, "bytes": written})
    out.line(f"{args.file}: {written} bytes")
    return DONE


async def _restore(args: argparse.Namespace, out: Output) -> int:
    await servers.restore(_data_dir(), args.file)
    out.document({"restored": args.file})
    out.line("restored")
    return DONE


async def _upgrade(args: argparse.Namespace, out: Output) -> int:
    done = await servers.upgrade(_data_dir(), old_binaries=args.old_binaries)
    out.document(done)
    out.line(f"carried over from PostgreSQL {done.old} to {done.new}")
    out.line(f"the old data are kept in {done.old_cluster}")
    return DONE
