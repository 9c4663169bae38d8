"""What a starter asks of the supervisor that it starts. The standard library alone."""

from __future__ import annotations

import json
import os
import socket
from dataclasses import asdict, dataclass
from pathlib import Path

from kb_search.servers.wire import Purpose


@dataclass(frozen=True, kw_only=True)
class Order:
    """Which server is to be run, by which binaries, for what.

    `cluster` is the name of the cluster's folder. The first user is the socket with the number
    `descriptor`, or waits at the loopback port `call_back`; for an upgrade (see `Purpose`) it
    stays the only one. Paths are text as `portable` makes it.
    """

    data_dir: str
    bin_dir: str
    roots: list[str]
    version: str
    cluster: str
    loopback: bool
    purpose: Purpose
    descriptor: int | None = None
    call_back: int | None = None

    @property
    def major(self) -> int:
        return int(self.version.split(".")[0])

    def as_text(self) -> str:
        return json.dumps(asdict(self))

    def first_connection(self) -> socket.socket:
        if self.descriptor is None:
            return socket.create_connection(("127.0.0.1", self.call_back or 0), timeout=10)
        os.set_inheritable(self.descriptor, False)  # not for the programs that are started
        return socket.socket(fileno=self.descriptor)


def portable(path: Path) -> str:
    """The path's bytes as text that a process under UTF-8 turns into the same bytes."""
    return os.fsencode(path).decode("utf-8", "surrogateescape")
