"""What an operator asks of the embedded server: its state, its end, a shell in it."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass
from pathlib import Path

from kb_search.errors import ConfigError, Unreachable
from kb_search.servers.binaries import find_binaries
from kb_search.servers.embedded import EmbeddedServer, dsn_of, path_of
from kb_search.servers.folders import full_data_dir, home_of
from kb_search.servers.starting import ask, public_error, wait_for_end
from kb_search.servers.wire import Message, ServerFault

_STOP_S = 10.0


@dataclass(frozen=True, kw_only=True)
class ServerStatus:
    """The state of a data folder's server.

    `installed` is the version of the installed binaries, `majors` the PostgreSQL majors that
    have data here, ascending. The rest is None or empty while the server does not run: `user`
    is who it runs as, `users` the processes that use it (0 where the system does not tell);
    a password in `dsn` is masked.
    """

    data_dir: Path
    installed: str
    majors: tuple[int, ...]
    running: bool
    version: str | None = None
    user: str | None = None
    pid: int | None = None
    supervisor_pid: int | None = None
    users: tuple[int, ...] = ()
    socket_dir: Path | None = None
    dsn: str | None = None
    log: Path | None = None


async def server_status(data_dir: Path | None) -> ServerStatus:
    """The state of the server, which is neither started nor kept running by this.

    Raises:
        ConfigError: the extra is missing, or the folder is another user's.
    """
    binaries, folder = find_binaries(), server_path(data_dir)
    home = home_of(folder).path
    if home.exists() and not os.access(home, os.R_OK | os.X_OK):
        raise ConfigError(f"{home} is another user's ({home.owner()}): ask as that user, or root.")
    said = await asyncio.to_thread(_described, folder)
    status = ServerStatus(
        data_dir=folder,
        installed=binaries.version,
        majors=tuple(majors_in(folder)),
        running=False,
    )
    if said is None:
        return status
    return ServerStatus(
        data_dir=folder,
        installed=status.installed,
        majors=status.majors,
        running=bool(said["ready"]),
        version=str(said["version"]),
        user=str(said["user"]),
        pid=said["pid"],
        supervisor_pid=int(said["supervisor_pid"]),
        users=tuple(said["users"]),
        socket_dir=path_of(said, "socket_dir"),
        dsn=dsn_of({**said, "password": "********"}),
        log=home_of(folder).log,
    )


async def stop_server(data_dir: Path | None, *, force: bool = False) -> bool:
    """Stop the server and wait until it has stopped; false when none runs.

    Raises:
        QueryError: processes use it, and `force` is not given; they are named.
        Unreachable: it did not stop in time.
    """
    return await asyncio.to_thread(_stop, server_path(data_dir), force=force)


def server_path(data_dir: Path | None) -> Path:
    """The data folder that is used for this one: absolute, the default for None."""
    try:
        return full_data_dir(data_dir)
    except ServerFault as fault:
        raise public_error(fault) from fault


def psql_command(server: EmbeddedServer, arguments: list[str]) -> list[str]:
    """psql on the server's database, to be run with `server.environment()`."""  # noqa: D403
    return [str(program_in(server.bin_dir, "psql")), f"--dbname={server.address()}", *arguments]


def program_in(bin_dir: Path, name: str) -> Path:
    return bin_dir / (f"{name}.exe" if os.name == "nt" else name)


def majors_in(data_dir: Path) -> list[int]:
    try:
        return home_of(data_dir).majors()
    except OSError:
        return []


def _described(folder: Path) -> Message | None:
    found = ask(home_of(folder), "status")
    if found is None:
        return None
    connection, answer = found
    connection.close()
    return answer


def _stop(folder: Path, *, force: bool) -> bool:
    found = ask(home_of(folder), "stop", force=force)
    if found is None:
        return False
    connection, answer = found
    with connection:
        if "error" in answer:
            raise public_error({**answer, "error": f"{answer['error']} Stop it with --force."})
        if not wait_for_end(connection, _STOP_S):
            raise Unreachable(f"The server did not stop within {_STOP_S:g} s.")
    return True
