"""Starting the programs so that they die with the supervisor, and reading what they print.

The standard library alone.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from kb_search.servers.cluster import clean_environment

_PR_SET_PDEATHSIG = 1
_LOG_BYTES = 2_000_000
_TAIL_BYTES = 4_000
_NO_WINDOW = 0x08000000 if sys.platform == "win32" else 0  # CREATE_NO_WINDOW


class Output:
    """What the programs print: into the log, two files of bounded size, and its end in memory.

    A pipe, so that a full disk stops neither server nor message. `fileno` is its reading end,
    a program gets `writer`. On Windows, where no pipe can be waited for, it is the log itself.
    """

    def __init__(self, log: Path) -> None:
        self._log = log
        self._tail = b""
        if sys.platform == "win32":
            self._turn_over()
            self.writer = os.open(log, os.O_RDWR | os.O_CREAT | os.O_APPEND)
            self._seen = os.fstat(self.writer).st_size
        else:
            self._reader, self.writer = os.pipe()
            os.set_blocking(self._reader, False)

    def fileno(self) -> int:
        return self._reader

    def drain(self) -> None:
        if sys.platform == "win32":
            with self._log.open("rb") as file:
                file.seek(self._seen)
                chunk = file.read()
            self._seen += len(chunk)
            self._tail = (self._tail + chunk)[-_TAIL_BYTES:]
            return
        while True:
            try:
                chunk = os.read(self._reader, 65_536)
            except BlockingIOError:
                return
            self._tail = (self._tail + chunk)[-_TAIL_BYTES:]
            with contextlib.suppress(OSError):  # a full disk must not take the server down
                self._turn_over()
                with self._log.open("ab") as file:
                    file.write(chunk)

    def take_tail(self) -> str:
        """The end of what was printed since the last call."""
        self.drain()
        text, self._tail = self._tail.decode("utf-8", "replace").strip(), b""
        return text

    def _turn_over(self) -> None:
        if self._log.exists() and self._log.stat().st_size > _LOG_BYTES:
            self._log.replace(self._log.with_suffix(".log.1"))


def start(
    command: list[str],
    output: Output,
    *,
    dies_by: signal.Signals,
    text_in: bytes = b"",
    own_group: bool = False,
) -> subprocess.Popen[bytes]:
    """Start a program that gets the signal `dies_by` when this process ends, however it ends.

    `text_in` is all it can read. The signal follows the thread that starts the child: call this
    from the main thread of a process that has no other.
    """
    reader, writer = os.pipe()
    try:
        os.write(writer, text_in)  # short: it fits into the pipe
        os.close(writer)
        child = subprocess.Popen(  # noqa: S603 - arguments as a list, no shell
            command,
            stdin=reader,
            stdout=output.writer,
            stderr=output.writer,
            env=clean_environment(),
            cwd="/" if sys.platform != "win32" else None,
            start_new_session=own_group,
            creationflags=_NO_WINDOW,
            preexec_fn=_bind_to_parent(dies_by),  # noqa: PLW1509 - this process has one thread
        )
    finally:
        os.close(reader)
    if sys.platform == "win32":
        from kb_search.servers.windows import die_with_this_process

        die_with_this_process(child)
    return child


def end_group(child: subprocess.Popen[bytes]) -> None:
    """Kill a program started with `own_group`, and its own children, at once."""
    if child.poll() is None:
        if sys.platform == "win32":
            child.kill()
        else:
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def _bind_to_parent(dies_by: signal.Signals) -> Callable[[], None] | None:
    if sys.platform != "linux":
        return None
    libc = ctypes.CDLL(None)
    parent = os.getpid()

    def bind() -> None:
        libc.prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(dies_by), 0, 0, 0)
        if os.getppid() != parent:  # it ended between fork and prctl
            os._exit(1)

    return bind
