"""Starting a supervisor: a process of its own that outlives its starter."""

from __future__ import annotations

import dataclasses
import os
import socket
import subprocess
import sys
import weakref
from pathlib import Path
from typing import Any

import kb_search.servers
from kb_search.errors import ConfigError, Unreachable
from kb_search.servers.orders import Order

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
_KEPT_VARIABLES = ("HOME", "XDG_CACHE_HOME", "TZ", "SYSTEMROOT", "LD_LIBRARY_PATH")

# A child by fork() is no user of the server, and must not keep it running after its parent.
_own_sockets: weakref.WeakSet[socket.socket] = weakref.WeakSet()


def disown_in_children(*sockets: socket.socket) -> None:
    """Close these in every child that this process forks from now on."""
    _own_sockets.update(sockets)


def _close_in_child() -> None:
    for connection in list(_own_sockets):
        connection.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_in_child)


def launch(order: Order) -> socket.socket:
    """Start a supervisor; this process is its first user, on the connection returned.

    Raises:
        ConfigError: there is no interpreter to run it.
        Unreachable: the system would not start it.
    """
    if not sys.executable:
        raise ConfigError(
            "The embedded server needs a Python interpreter to run its supervisor, and "
            "sys.executable is empty: set KB_SEARCH_DSN to a PostgreSQL of your own."
        )
    try:
        return _launch_called_back(order) if sys.platform == "win32" else _launch(order)
    except OSError as error:
        raise Unreachable(f"The embedded server could not be started: {error}") from error


def _launch(order: Order) -> socket.socket:
    mine, its = socket.socketpair()
    disown_in_children(mine, its)
    with its:
        try:
            process = _spawn(dataclasses.replace(order, descriptor=its.fileno()))
            process.wait()  # it forks the supervisor and ends
        except OSError:
            mine.close()
            raise
    return mine


def _launch_called_back(order: Order) -> socket.socket:
    """Where a socket cannot be handed down, the supervisor connects back."""
    with socket.create_server(("127.0.0.1", 0)) as door:
        door.settimeout(30)
        _spawn(dataclasses.replace(order, call_back=int(door.getsockname()[1])))
        connection, _ = door.accept()
        return connection


def _spawn(order: Order) -> subprocess.Popen[bytes]:
    detached: dict[str, Any] = (
        {"creationflags": 0x00000008 | 0x00000200}  # DETACHED_PROCESS, CREATE_NEW_PROCESS_GROUP
        if sys.platform == "win32"
        else {"start_new_session": True, "pass_fds": [order.descriptor], "cwd": "/"}
    )
    package = Path(str(kb_search.servers.__file__)).parent.parent
    isolated = [sys.executable, "-I", "-S", "-X", "utf8", "-c", _BOOT]
    return subprocess.Popen(  # noqa: S603 - arguments as a list, no shell
        [*isolated, str(package), order.as_text()],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ},
        **detached,
    )
