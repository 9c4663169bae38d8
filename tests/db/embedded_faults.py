"""What the tests of the embedded server do to it, and see of it from outside."""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Self

from kb_search.servers.binaries import find_binaries

USER = Path(__file__).with_name("embedded_user.py")
PATIENCE_S = 60  # for a machine with much else to do


class UserProcess:
    """A process of its own that uses a data folder's server (see `embedded_user`)."""

    def __init__(
        self,
        data_dir: Path,
        binaries: Path | None = None,
        *,
        env: dict[str, str] | None = None,
        prefix: tuple[str, ...] = (),
    ) -> None:
        arguments = [str(data_dir)] + ([str(binaries)] if binaries else [])
        self.process = subprocess.Popen(
            [*prefix, sys.executable, str(USER), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **(env or {})},
            text=True,
            encoding="utf-8",
        )

    def tell(self, line: str) -> None:
        assert self.process.stdin
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()

    def hear(self) -> str:
        assert self.process.stdout
        ready, _, _ = select.select([self.process.stdout], [], [], PATIENCE_S)
        assert ready, "the user process says nothing"
        return self.process.stdout.readline().strip()

    def ask(self, line: str) -> str:
        self.tell(line)
        return self.hear()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        for stream in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(BrokenPipeError):
                if stream:
                    stream.close()


def processes_of(data_dir: Path) -> list[int]:
    """The supervisors and servers of a folder whose path needs no escapes; the latter first."""
    found: list[tuple[bool, int]] = []
    for process in Path("/proc").iterdir():
        if not process.name.isdecimal():
            continue
        with contextlib.suppress(OSError):
            words = (process / "cmdline").read_bytes().split(b"\0")
            supervises = b"-I" in words and os.fsencode(f'"{data_dir}"') in b"".join(words)
            serves = b"-D" in words and os.fsencode(f"{data_dir}/") in b"".join(words)
            if supervises or serves:
                found.append((supervises, int(process.name)))
    return [pid for _, pid in sorted(found)]


def postmasters_of(data_dir: Path) -> list[int]:
    """The servers; a child of theirs looks the same until it has given itself a title."""
    found = [pid for pid in processes_of(data_dir) if _program_of(pid) == "postgres"]
    return [pid for pid in found if _parent_of(pid) not in found]


def supervisors_of(data_dir: Path) -> list[int]:
    return [pid for pid in processes_of(data_dir) if _program_of(pid) != "postgres"]


def _parent_of(pid: int) -> int:
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return 0
    return int(status.partition("PPid:")[2].split()[0])


def _program_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text(encoding="ascii").strip()
    except OSError:
        return ""


def kill_all(pids: list[int], number: signal.Signals = signal.SIGKILL) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def wait_for_end_of(pids: list[int]) -> None:
    """Return when all of these processes have ended; fails when one does not."""
    for pid in pids:
        try:
            descriptor = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        try:
            assert select.select([descriptor], [], [], PATIENCE_S)[0], f"process {pid} goes on"
        finally:
            os.close(descriptor)


def wait_until_stopped(data_dir: Path) -> None:
    """Return when nothing of the folder's server runs any more; fails when it goes on."""
    while running := processes_of(data_dir):
        wait_for_end_of(running)


async def eventually(holds: Callable[[], bool]) -> None:
    """Return as soon as it holds; fails when it does not."""
    async with asyncio.timeout(PATIENCE_S):
        while not holds():
            await asyncio.to_thread(select.select, [], [], [], 0.005)


class Announcement:
    """A FIFO by which a program tells that it has come to a certain point."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "announcement"
        os.mkfifo(self.path)
        self.path.chmod(0o666)
        self._reader = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK)

    def wait(self) -> None:
        assert select.select([self._reader], [], [], PATIENCE_S)[0], "it did not come to that point"

    def close(self) -> None:
        os.close(self._reader)


def binaries_that_hang(folder: Path, program: str, at: Announcement) -> Path:
    """A bin folder in which one program announces itself and hangs (postgres: as a server)."""
    real = find_binaries().bin_dir
    bin_dir = folder / "bin"
    bin_dir.mkdir()
    for name in ("initdb", "postgres"):
        script = bin_dir / name
        hang = f"echo here > '{at.path}'; exec sleep 600" if name == program else ""
        script.write_text(
            f'#!/bin/sh\n[ "$1" = --single ] || {{ :; {hang}\n}}\nexec "{real}/{name}" "$@"\n',
            encoding="utf-8",
        )
        script.chmod(0o755)
    return bin_dir


@contextlib.contextmanager
def reachable_folder() -> Iterator[Path]:
    """A folder that every user may enter, as pytest's own are not."""
    folder = Path(tempfile.mkdtemp(prefix="kb-embedded-", dir="/tmp"))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        left = processes_of(folder)
        kill_all(left)
        wait_for_end_of(left)
        shutil.rmtree(folder, ignore_errors=True)
