"""Joining the users of a data folder's server: by its supervisor's door, or by starting one.

Blocking code, free of threads of its own; `embedded.py` is the asynchronous face.
"""

from __future__ import annotations

import contextlib
import socket
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Any

from kb_search.errors import ConfigError, KbError, QueryError, Unreachable
from kb_search.servers.binaries import Binaries
from kb_search.servers.folders import Home, home_of
from kb_search.servers.launching import disown_in_children, launch
from kb_search.servers.locks import is_locked
from kb_search.servers.orders import Order, portable
from kb_search.servers.wire import Message, Purpose, ServerFault, decode, encode, receive

_POLL_S = 0.01
_SLICE_S = 0.25
_MOST_DEATHS = 3
_LAST_WORDS_S = 2.0

_PUBLIC_ERRORS: dict[str, type[KbError]] = {
    "config": ConfigError,
    "unreachable": Unreachable,
    "query": QueryError,
}


@dataclass(frozen=True)
class Joined:
    """A connection that keeps the server running while it is open, and the server's address."""

    connection: socket.socket
    description: Message = field(repr=False)  # it holds the password


@dataclass(frozen=True, kw_only=True)
class Request:
    """Which server to join, for what."""

    data_dir: Path
    binaries: Binaries
    cluster: str
    timeout_s: float
    loopback: bool = sys.platform == "win32"
    purpose: Purpose = "serve"


def public_error(fault: ServerFault | Message) -> KbError:
    if isinstance(fault, ServerFault):
        return _PUBLIC_ERRORS[fault.kind](str(fault))
    return _PUBLIC_ERRORS.get(str(fault.get("kind")), Unreachable)(str(fault["error"]))


def join(request: Request, given_up: Event) -> Joined:
    """Wait until the server takes connections, starting it if nobody has.

    Raises:
        ConfigError: the data folder, the binaries or the user cannot be used as they are.
        Unreachable: the server did not get ready in time.
    """
    home = home_of(request.data_dir)
    deadline = time.monotonic() + request.timeout_s
    deaths = 0
    while not given_up.is_set():
        running = _is_supervised(home)
        if running and request.purpose != "serve":
            raise QueryError(
                f"The server in {request.data_dir} is in use (kb-search server status names the "
                "processes): end them first."
            )
        connection = _knock(home, request.cluster) if running else launch(_order(request))
        answer = None
        if connection is not None:
            answer = _wait_for_answer(connection, deadline, given_up)
            if answer and answer.get("ok"):
                disown_in_children(connection)
                connection.settimeout(None)
                return Joined(connection, answer)
            if refusal := _refusal(answer):
                if not running:
                    wait_for_end(connection, _LAST_WORDS_S)  # nothing of it is left then
                connection.close()
                raise refusal
            connection.close()
        if answer is None and not running:
            deaths += 1
        if deaths >= _MOST_DEATHS:
            raise Unreachable(
                f"The embedded server's supervisor ended at once, {deaths} times (log: {home.log})."
            )
        if time.monotonic() > deadline:
            raise Unreachable(
                f"The embedded server in {request.data_dir} was not ready within "
                f"{request.timeout_s:g} s. Another process holds the folder's lock, or the server "
                f"recovers from a crash (log: {home.log})."
            )
        given_up.wait(_POLL_S)
    raise Unreachable("Opening the embedded server was given up.")


def _refusal(answer: Message | None) -> KbError | None:
    """The error in an answer that says that there will be no server."""
    if answer and "error" in answer:
        return public_error(answer)
    if answer and "stopped" in answer:
        return Unreachable("The server was stopped (kb-search server stop) while it started.")
    return None


def ask(home: Home, operation: str, **details: Any) -> tuple[socket.socket, Message] | None:
    """A supervisor's answer, with the connection; None where none runs."""
    connection = _connect(home, {"op": operation, **details}) if _is_supervised(home) else None
    if connection is None:
        return None
    connection.settimeout(10)
    try:
        answer = receive(connection)
    except TimeoutError:
        answer = None
    if answer is None:
        connection.close()
        return None
    return connection, answer


def wait_for_end(connection: socket.socket, timeout_s: float) -> bool:
    """Whether the other side closed in time."""
    connection.settimeout(timeout_s)
    try:
        while connection.recv(4096):
            pass
    except TimeoutError:
        return False
    except OSError:
        return True
    return True


def _order(request: Request) -> Order:
    return Order(
        data_dir=portable(request.data_dir),
        bin_dir=portable(request.binaries.bin_dir),
        roots=[portable(root) for root in request.binaries.roots],
        version=request.binaries.version,
        cluster=request.cluster,
        loopback=request.loopback,
        purpose=request.purpose,
    )


def _is_supervised(home: Home) -> bool:
    try:
        return is_locked(home.lock)
    except OSError:
        return False  # a supervisor of our own will say what is wrong with the folder


def _knock(home: Home, cluster: str) -> socket.socket | None:
    return _connect(home, {"op": "use", "cluster": cluster})


def _connect(home: Home, message: Message) -> socket.socket | None:
    """A connection on which the message was sent; None while no supervisor listens."""
    try:
        address = decode(home.control.read_bytes()) or {}
        door = address["door"]
    except (OSError, KeyError):
        return None
    unix = isinstance(door, str)
    connection = socket.socket(socket.AF_UNIX if unix else socket.AF_INET, socket.SOCK_STREAM)
    try:
        connection.settimeout(10)
        connection.connect(door if unix else ("127.0.0.1", int(door)))
        connection.sendall(encode({"token": address.get("token"), **message}))
    except PermissionError as error:
        connection.close()
        raise ConfigError(
            f"The server in {home.path} is another user's: work as that user, or choose another "
            "folder with KB_SEARCH_DATA_DIR."
        ) from error
    except OSError:
        connection.close()
        return None
    return connection


def _wait_for_answer(connection: socket.socket, deadline: float, given_up: Event) -> Message | None:
    """None where the supervisor ended without a word, or nothing came in time."""
    connection.settimeout(_SLICE_S)
    while time.monotonic() < deadline and not given_up.is_set():
        with contextlib.suppress(TimeoutError):
            return receive(connection)
    return {}
