"""The embedded server as its users see it: open, an address, close."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import sys
from pathlib import Path
from threading import Event
from types import TracebackType
from typing import Self
from urllib.parse import quote

from kb_search.errors import KbError
from kb_search.servers.binaries import find_binaries
from kb_search.servers.folders import DATABASE, ROLE, full_data_dir
from kb_search.servers.starting import Joined, Request, join, public_error
from kb_search.servers.wire import Message, ServerFault, decode, encode

DEFAULT_TIMEOUT_S = 120.0
_CLOSE_S = 5.0
_MOST_REVIVALS = 5


class EmbeddedServer:
    """One process's share in the server of a data folder.

    The server runs until the last share is closed, or its process has ended in whatever way.
    """

    def __init__(self, request: Request, joined: Joined) -> None:
        self._request = request
        self._joined = joined
        self._watch: asyncio.Task[None] | None = None

    @property
    def data_dir(self) -> Path:
        return self._request.data_dir

    @property
    def dsn(self) -> str:
        """The address, with the password where there is one; it stays the same on a socket."""
        return dsn_of(self._joined.description)

    def address(self, database: str = DATABASE) -> str:
        """A database's address for PostgreSQL's own programs: other users can see arguments.

        It goes with `environment`, which holds the password where there is one.
        """
        return dsn_of({**self._joined.description, "password": None}, database=database)

    def environment(self) -> dict[str, str]:
        """The caller's environment with no PG* variable of its own, which would lead astray."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
        password = self._joined.description.get("password")
        return {**kept, "PGPASSWORD": str(password)} if password else kept

    @property
    def socket_dir(self) -> Path | None:
        """The private folder of the server's socket; None where it listens on loopback."""
        return path_of(self._joined.description, "socket_dir")

    @property
    def bin_dir(self) -> Path:
        return path_of(self._joined.description, "bin_dir") or self._request.binaries.bin_dir

    @property
    def user(self) -> str:
        """The operating system's user that the server runs as."""
        return str(self._joined.description["user"])

    @property
    def supervisor_pid(self) -> int:
        return int(self._joined.description["supervisor_pid"])

    @property
    def version(self) -> str:
        return str(self._joined.description["version"])

    @property
    def connection(self) -> socket.socket:
        """What keeps the server running while it is open, in this process or a later one."""
        return self._joined.connection

    def begin_watch(self) -> None:
        """The second half of opening: come back where the supervisor is killed."""
        self._joined.connection.setblocking(False)
        self._watch = asyncio.create_task(self._revive_when_lost())

    async def _revive_when_lost(self) -> None:
        """Start the server again if its supervisor was killed while this process uses it."""
        loop = asyncio.get_running_loop()
        for _ in range(_MOST_REVIVALS):
            try:
                said = await loop.sock_recv(self._joined.connection, 4096)
            except ConnectionError:
                said = b""
            if said and (decode(said.split(b"\n")[0]) or {}).get("stopped"):
                return  # by `kb-search server stop --force`
            if said:
                continue
            try:
                joined = await _join(self._request)
            except KbError:
                return  # the next statement says that the server is gone
            self._joined.connection.close()
            self._joined = joined
            joined.connection.setblocking(False)

    async def promote(self, name: str) -> None:
        """Let the cluster take this name when the server has stopped (the end of an upgrade)."""
        address = {"token": self._joined.description["token"], "op": "promote", "name": name}
        await asyncio.get_running_loop().sock_sendall(self._joined.connection, encode(address))

    async def close(self) -> None:
        """Give up this share; of the last one it returns when the server has stopped."""
        if self._watch is not None:
            self._watch.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._watch
            self._watch = None
        connection = self._joined.connection
        if connection.fileno() < 0:
            return
        try:
            connection.shutdown(socket.SHUT_WR)
            async with asyncio.timeout(_CLOSE_S):
                while await asyncio.get_running_loop().sock_recv(connection, 4096):
                    pass
        except (OSError, TimeoutError):
            pass  # it has gone already, or goes on stopping without us
        finally:
            connection.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()


async def open_embedded_server(
    data_dir: Path | None = None,
    *,
    timeout_s: float = DEFAULT_TIMEOUT_S,
    loopback: bool = sys.platform == "win32",
) -> EmbeddedServer:
    """Share in the server of the data folder, started if it does not run.

    `data_dir` None is the user's own data folder. `loopback` serves on TCP with a password
    instead of a private Unix socket, as everywhere where there are none; a data folder keeps
    the way it was made for.

    Raises:
        ConfigError: the extra is missing, or the folder or the user cannot be used.
        Unreachable: the server did not get ready within `timeout_s`.
    """
    return await open_requested(make_request(data_dir, timeout_s=timeout_s, loopback=loopback))


async def open_requested(request: Request) -> EmbeddedServer:
    server = EmbeddedServer(request, await _join(request))
    server.begin_watch()
    return server


def make_request(
    data_dir: Path | None,
    *,
    timeout_s: float = DEFAULT_TIMEOUT_S,
    loopback: bool = sys.platform == "win32",
) -> Request:
    """The ordinary request: the installed binaries and their own major's cluster."""
    binaries = find_binaries()
    try:
        folder = full_data_dir(data_dir)
    except ServerFault as fault:
        raise public_error(fault) from fault
    return Request(
        data_dir=folder,
        binaries=binaries,
        cluster=str(binaries.major),
        timeout_s=timeout_s,
        loopback=loopback,
    )


def dsn_of(description: Message, *, database: str = DATABASE) -> str:
    """A libpq address of the server that a supervisor describes."""
    port = int(description["port"])
    socket_dir = path_of(description, "socket_dir")
    if socket_dir is None:
        password = description.get("password")
        login = f"{ROLE}:{quote(str(password), safe='')}" if password else ROLE
        return f"postgresql://{login}@127.0.0.1:{port}/{database}?sslmode=disable"
    host = quote(os.fsencode(socket_dir), safe="")
    return f"postgresql://{ROLE}@/{database}?host={host}&port={port}&sslmode=disable"


def path_of(description: Message, name: str) -> Path | None:
    text = description.get(name)
    if text is None:
        return None
    return Path(os.fsdecode(str(text).encode("utf-8", "surrogateescape")))


async def _join(request: Request) -> Joined:
    """`join` in a thread, which plays no part once it has returned."""
    given_up = Event()
    joining = asyncio.get_running_loop().run_in_executor(None, join, request, given_up)
    try:
        return await asyncio.shield(joining)
    except asyncio.CancelledError:
        given_up.set()
        joining.add_done_callback(_close_unwanted)
        raise


def _close_unwanted(joining: asyncio.Future[Joined]) -> None:
    if not joining.cancelled() and joining.exception() is None:
        joining.result().connection.close()
