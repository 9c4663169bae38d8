"""The supervisor's side of its connections: who is there, and what they ask.

The standard library alone.
"""

from __future__ import annotations

import contextlib
import secrets
import selectors
import socket
import struct
import sys
from dataclasses import dataclass
from pathlib import Path

from kb_search.servers.wire import Message, decode, encode

_MOST_BYTES = 65_536


@dataclass(eq=False)
class Peer:
    """One connection. It keeps the server running from the moment that `uses` is true."""

    connection: socket.socket
    pid: int
    uses: bool = False
    answered: bool = False
    received: bytes = b""

    def send(self, message: Message) -> None:
        with contextlib.suppress(OSError):
            self.connection.sendall(encode(message))

    def read(self) -> tuple[list[Message], bool]:
        """The messages that came in, and whether the other side has gone."""
        try:
            chunk = self.connection.recv(_MOST_BYTES)
        except BlockingIOError:
            return [], False
        except OSError:
            return [], True
        *lines, self.received = (self.received + chunk).split(b"\n")
        messages = [message for line in lines if (message := decode(line)) is not None]
        return messages, not chunk or len(self.received) > _MOST_BYTES


class Peers:
    """All connections, and the door at which new ones arrive."""

    def __init__(self, selector: selectors.BaseSelector) -> None:
        self._selector = selector
        self._door: socket.socket | None = None
        self._all: list[Peer] = []
        self._leaving: list[Peer] = []
        self.token = secrets.token_hex(16)

    def open_door(self, socket_path: Path | None) -> str | int:
        """Listen on a Unix socket, or on loopback; the path or the port."""
        if socket_path is not None:
            with contextlib.suppress(FileNotFoundError):
                socket_path.unlink()
            self._door = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self._door.bind(str(socket_path))
        else:
            self._door = socket.create_server(("127.0.0.1", 0))
        self._door.listen(256)
        self._door.setblocking(False)
        self._selector.register(self._door, selectors.EVENT_READ, self)
        return str(socket_path) if socket_path else int(self._door.getsockname()[1])

    def close_door(self) -> None:
        if self._door is not None:
            self._selector.unregister(self._door)
            self._door.close()
            self._door = None

    def accept(self) -> None:
        """Let in everybody who waits at the door."""
        while self._door is not None:
            try:
                connection, _ = self._door.accept()
            except OSError:
                return
            self.add(connection)

    def add(self, connection: socket.socket, *, uses: bool = False) -> Peer:
        connection.setblocking(False)
        peer = Peer(connection, _pid_of(connection), uses=uses)
        self._all.append(peer)
        self._selector.register(connection, selectors.EVENT_READ, peer)
        return peer

    def remove(self, peer: Peer) -> None:
        """Forget one that has gone. Its connection stays open for now: it may wait for its end."""
        self._all.remove(peer)
        self._selector.unregister(peer.connection)
        self._leaving.append(peer)

    def dismiss(self) -> None:
        """Let those go who wait for the end of their connection, while others stay."""
        for peer in self._leaving:
            peer.connection.close()
        self._leaving.clear()

    def everybody(self) -> list[Peer]:
        return list(self._all)

    def users(self) -> list[Peer]:
        return [peer for peer in self._all if peer.uses]


def _pid_of(connection: socket.socket) -> int:
    """The process at the other end, 0 where the system does not tell."""
    if sys.platform != "linux" or connection.family != socket.AF_UNIX:
        return 0
    credentials = connection.getsockopt(
        socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i")
    )
    return int(struct.unpack("3i", credentials)[0])
