"""Serving over standard input and output, and ending when asked to."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from contextlib import suppress
from typing import Any

from mcp.server import MCPServer

_CHUNK_BYTES = 65_536


async def serve_stdio(server: MCPServer[Any]) -> None:
    """Serves until standard input ends or the process is asked to end.

    The SDK reads standard input in a thread that nothing can wake, so that a process asked to end
    would wait for its client's next line. It is given a pipe instead, which can be closed.
    """
    pump = _Pump()
    serving = asyncio.ensure_future(server.run_stdio_async())
    try:
        await asyncio.shield(serving)
    except asyncio.CancelledError:
        pump.end()
        await serving
        raise


class _Pump:
    """Hands standard input on through a pipe, which takes its place."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._source = os.dup(sys.stdin.fileno())
        read_end, self._write_end = os.pipe()
        os.dup2(read_end, sys.stdin.fileno())
        os.close(read_end)
        self._open = True
        threading.Thread(target=self._run, daemon=True, name="kb_search stdin").start()

    def end(self) -> None:
        """Lets the reader of the pipe see the end of the input."""
        with self._lock:
            if self._open:
                self._open = False
                os.close(self._write_end)

    def _run(self) -> None:
        with suppress(OSError):
            while chunk := os.read(self._source, _CHUNK_BYTES):
                rest = memoryview(chunk)
                while rest and self._open:
                    rest = rest[os.write(self._write_end, rest) :]
        self.end()
