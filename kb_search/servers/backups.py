"""A backup of the database in one file, and back: pg_dump's custom format."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from kb_search.errors import QueryError
from kb_search.servers.embedded import EmbeddedServer, open_embedded_server
from kb_search.servers.upkeep import (
    majors_in,
    program_in,
    server_path,
    server_status,
)

_RESTORING = "kb_search_restoring"
_UNCHANGED = ". The database is as it was."
_SQL = Path(__file__).parent


async def backup(data_dir: Path | None, file: Path) -> int:
    """Write the whole database to the file, complete under its name or not at all; its bytes.

    Raises:
        QueryError: there is nothing to back up, or the file cannot be written.
    """
    folder = server_path(data_dir)
    if not majors_in(folder):
        raise QueryError(f"There is no embedded server's data in {folder}: nothing to back up.")
    file = absolute(file)
    partial = file.with_name(f"{file.name}.partial")
    async with await open_embedded_server(folder) as server:
        try:
            target = f"--dbname={server.address()}"
            await run_program(server, "pg_dump", target, "--format=custom", f"--file={partial}")
            return await asyncio.to_thread(_publish, partial, file)
        except OSError as error:
            raise QueryError(f"{file} cannot be written: {error.strerror}") from error
        finally:
            partial.unlink(missing_ok=True)


async def restore(data_dir: Path | None, file: Path) -> None:
    """Replace the database by the backup's, all or nothing.

    Raises:
        QueryError: the file is no backup, or other processes use the server; nothing changed.
    """
    file = absolute(file)
    if not os.access(file, os.R_OK):
        raise QueryError(f"There is no file {file} that can be read.")
    async with await open_embedded_server(server_path(data_dir)) as server:
        others = len((await server_status(server.data_dir)).users) - 1
        if others > 0:
            raise QueryError(
                f"{others} other process(es) use the server (kb-search server status names them): "
                "end them before a restore."
            )
        await _run_sql(server, "restore_begin.sql")
        try:
            # With every error the end, and rights and owners those of this server.
            rules = ("--exit-on-error", "--no-owner", "--no-privileges", "--single-transaction")
            target = f"--dbname={server.address(_RESTORING)}"
            await run_program(server, "pg_restore", target, *rules, str(file), cure=_UNCHANGED)
            await _run_sql(server, "restore_swap.sql", "--single-transaction")
        finally:
            await _run_sql(server, "restore_end.sql")


async def run_program(
    server: EmbeddedServer, name: str, *arguments: str, bin_dir: Path | None = None, cure: str = ""
) -> str:
    """Run one of PostgreSQL's client programs; what it wrote to standard error.

    `bin_dir` is where it lies, when not beside the server's own programs; `cure` is a sentence
    for the message of a failure.

    Raises:
        QueryError: it failed; its own words are in the message.
    """
    process = await asyncio.create_subprocess_exec(
        program_in(bin_dir or server.bin_dir, name),
        *arguments,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        env={**server.environment(), "LC_ALL": "C"},
    )
    try:
        _, said = await process.communicate()
    except asyncio.CancelledError:
        process.kill()
        await process.wait()
        raise
    text = said.decode("utf-8", "replace").strip()
    if process.returncode != 0:
        raise QueryError(f"{name} failed: {'; '.join(text.splitlines()[-3:])}{cure}")
    return text


async def _run_sql(server: EmbeddedServer, file: str, *options: str) -> None:
    await run_program(
        server,
        "psql",
        f"--dbname={server.address('postgres')}",
        "--no-psqlrc",
        "--quiet",
        "--set=ON_ERROR_STOP=1",
        *options,
        f"--file={_SQL / file}",
    )


def absolute(file: Path) -> Path:
    """The path as the programs are given it: it cannot look like an option."""
    return file.expanduser().absolute()


def _publish(partial: Path, file: Path) -> int:
    """Give the finished backup its name, its bytes on the disk; how many they are."""
    with partial.open("rb") as written:
        os.fsync(written.fileno())
    partial.replace(file)
    return file.stat().st_size
