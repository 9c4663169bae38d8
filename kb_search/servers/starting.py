"""Joining the users of a data folder's server: by its supervisor's door, or by starting one.

Blocking code, free of threads of its own; `embedded.py` is the asynchronous face.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
import weakref
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any

import kb_search.servers
from kb_search.errors import ConfigError, KbError, QueryError, Unreachable
from kb_search.servers.binaries import Binaries
from kb_search.servers.folders import Home, home_of
from kb_search.servers.locks import is_locked
from kb_search.servers.wire import Message, Purpose, ServerFault, decode, encode, receive

_POLL_S = 0.01
_SLICE_S = 0.25
_MOST_DEATHS = 3
_LAST_WORDS_S = 2.0

# Gives the supervisor this package's modules without running kb_search/__init__.py, whose
# imports (the driver, the settings) would take longer than the server's start.
_BOOT = """
import sys, types
for name in ("kb_search", "kb_search.servers"):
    module = types.ModuleType(name)
    module.__path__ = [sys.argv[1] + name.removeprefix("kb_search").replace(".", "/")]
    sys.modules[name] = module
from kb_search.servers.supervisor import main
main(sys.argv[2])
"""

_PUBLIC_ERRORS: dict[str, type[KbError]] = {
    "config": ConfigError,
    "unreachable": Unreachable,
    "query": QueryError,
}


@dataclass(frozen=True)
class Joined:
    """A connection that keeps the server running while it is open, and the server's address."""

    connection: socket.socket
    description: Message


@dataclass(frozen=True, kw_only=True)
class Request:
    """Which server to join, for what."""

    data_dir: Path
    binaries: Binaries
    cluster: str
    timeout_s: float
    loopback: bool = sys.platform == "win32"
    purpose: Purpose = "serve"


# A child by fork() is no user of the server, and must not keep it running after its parent.
_open_connections: weakref.WeakSet[socket.socket] = weakref.WeakSet()


def _close_in_child() -> None:
    for connection in list(_open_connections):
        connection.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_in_child)


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
        connection = _knock(home, request.cluster) if running else _start(request)
        answer = None
        if connection is not None:
            answer = _wait_for_answer(connection, deadline, given_up)
            if answer and answer.get("ok"):
                _open_connections.add(connection)
                connection.settimeout(None)
                return Joined(connection, answer)
            if answer and "error" in answer:
                if not running:
                    wait_for_end(connection, _LAST_WORDS_S)  # nothing of it is left then
                connection.close()
                raise public_error(answer)
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


def _start(request: Request) -> socket.socket:
    """Start a supervisor; this process is its first user, on the connection returned."""
    if not sys.executable:
        raise ConfigError(
            "The embedded server needs a Python interpreter to run its supervisor, and "
            "sys.executable is empty: set KB_SEARCH_DSN to a PostgreSQL of your own."
        )
    if sys.platform == "win32":
        return _start_by_call_back(request)
    mine, its = socket.socketpair()
    with its:
        try:
            process = _spawn(request, descriptor=its.fileno())
            process.wait()  # it forks the supervisor and ends
        except OSError as error:
            mine.close()
            raise Unreachable(f"The embedded server could not be started: {error}") from error
    return mine


def _start_by_call_back(request: Request) -> socket.socket:
    """Where a socket cannot be handed down, the supervisor connects back."""
    with socket.create_server(("127.0.0.1", 0)) as door:
        door.settimeout(30)
        _spawn(request, call_back=int(door.getsockname()[1]))
        connection, _ = door.accept()
        return connection


def _spawn(
    request: Request, *, descriptor: int | None = None, call_back: int | None = None
) -> subprocess.Popen[bytes]:
    order = {
        "data_dir": _portable(request.data_dir),
        "bin_dir": _portable(request.binaries.bin_dir),
        "roots": [_portable(root) for root in request.binaries.roots],
        "version": request.binaries.version,
        "cluster": request.cluster,
        "descriptor": descriptor,
        "call_back": call_back,
        "loopback": request.loopback,
        "purpose": request.purpose,
    }
    kept = ("HOME", "XDG_CACHE_HOME", "TZ", "SYSTEMROOT", "LD_LIBRARY_PATH")
    detached: dict[str, Any] = (
        {"creationflags": 0x00000008 | 0x00000200}  # DETACHED_PROCESS, CREATE_NEW_PROCESS_GROUP
        if sys.platform == "win32"
        else {"start_new_session": True, "pass_fds": [descriptor], "cwd": "/"}
    )
    package = Path(str(kb_search.servers.__file__)).parent.parent
    return subprocess.Popen(  # noqa: S603 - arguments as a list, no shell
        [
            sys.executable, "-I", "-S", "-X", "utf8", "-c", _BOOT,
            str(package), json.dumps(order),
        ],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={name: os.environ[name] for name in kept if name in os.environ},
        **detached,
    )  # fmt: skip


def _portable(path: Path) -> str:
    """The path's bytes as text that a process under UTF-8 turns into the same bytes."""
    return os.fsencode(path).decode("utf-8", "surrogateescape")
