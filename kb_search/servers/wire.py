"""What a user of the embedded server and its supervisor say to each other.

One JSON object a line, over a Unix socket (loopback TCP where there is none). The standard
library alone: the supervisor imports this without the rest of the package.
"""

from __future__ import annotations

import errno
import json
import socket
from pathlib import Path
from typing import Any, Literal

FaultKind = Literal["config", "unreachable", "query"]
Message = dict[str, Any]
# An upgrade dumps the data of an old major, then fills a new cluster, alone on the server.
Purpose = Literal["serve", "dump", "fill"]

_MOST_BYTES = 1 << 20
_MEANING = {
    errno.EROFS: "the disk is read-only",
    errno.ENOSPC: "no space is left on the disk",
    errno.EDQUOT: "the disk quota is used up",
    errno.EACCES: "permission denied",
    errno.EPERM: "the operation is not permitted",
    errno.ENOTDIR: "a part of the path is a file, not a folder",
    errno.ENAMETOOLONG: "the path is too long for this file system",
    errno.ELOOP: "the path runs through too many symbolic links",
}


class ServerFault(Exception):
    """Something that keeps the server from serving; `kind` says which public error it becomes."""

    def __init__(self, message: str, *, kind: FaultKind = "config") -> None:
        self.kind: FaultKind = kind
        super().__init__(message)


def disk_fault(error: OSError, path: Path | str) -> ServerFault:
    """The operating system's refusal as a sentence that says what to do."""
    meaning = _MEANING.get(error.errno or 0, error.strerror or str(error))
    return ServerFault(
        f"The embedded server cannot use {path}: {meaning}. Make room there, or choose another "
        "folder with KB_SEARCH_DATA_DIR (or set KB_SEARCH_DSN to a PostgreSQL of your own)."
    )


def encode(message: Message) -> bytes:
    return json.dumps(message).encode() + b"\n"


def decode(line: bytes) -> Message | None:
    """The message in a line; None where the other side does not speak this language."""
    try:
        message = json.loads(line)
    except ValueError:
        return None
    return message if isinstance(message, dict) else None


def receive(connection: socket.socket) -> Message | None:
    """The next message within the connection's own time limit; None at its end.

    Raises:
        TimeoutError: nothing came in time.
    """
    line = b""
    while not line.endswith(b"\n") and len(line) < _MOST_BYTES:
        try:
            chunk = connection.recv(65_536)
        except (ConnectionError, BrokenPipeError):
            return None
        if not chunk:
            return None
        line += chunk
    return decode(line)
