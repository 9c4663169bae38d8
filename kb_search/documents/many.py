"""Many files, read in processes of their own that may crash, hang or run out of memory."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections import deque
from collections.abc import AsyncGenerator, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kb_search.documents.model import Document
from kb_search.documents.reading import MAX_BYTES
from kb_search.documents.sections import MAX_SECTION_CHARS
from kb_search.errors import DocumentError

# Address space of one process: the tree of a large office file takes some ten times its XML.
MEMORY_BYTES = 3 << 30
TIMEOUT_S = 120.0
# The package's root imports the driver and the settings, which no reader needs: standing in for
# it, a process is ready in a third of the time.
_START = (
    "import sys, types;"
    " package = types.ModuleType('kb_search');"
    " package.__path__ = [sys.argv[1]];"
    " sys.modules['kb_search'] = package;"
    " from kb_search.documents.worker import main;"
    " main(int(sys.argv[2]))"
)


async def read_many(
    paths: Iterable[Path],
    *,
    workers: int = 2,
    timeout_s: float = TIMEOUT_S,
    max_bytes: int = MAX_BYTES,
    max_section_chars: int = MAX_SECTION_CHARS,
    memory_bytes: int = MEMORY_BYTES,
) -> AsyncGenerator[tuple[Path, Document | DocumentError], None]:
    """Each path with its document, or with the error that says why not, in the order given.

    `workers` processes read side by side, each one file at a time; at most as many documents
    again wait for the caller. A file that crashes its process or takes longer than `timeout_s`
    is an error of its own; the rest goes on in a new process. Close the iterator
    (`contextlib.aclosing`) when leaving it early.
    """
    request = {"max_bytes": max_bytes, "max_section_chars": max_section_chars}
    processes = [_Process(timeout_s, memory_bytes) for _ in range(max(workers, 1))]
    idle: asyncio.Queue[_Process] = asyncio.Queue()
    for process in processes:
        idle.put_nowait(process)

    async def read(path: Path) -> tuple[Path, Document | DocumentError]:
        process = await idle.get()
        try:
            return path, await process.read(path, request)
        finally:
            idle.put_nowait(process)

    waiting: deque[asyncio.Task[tuple[Path, Document | DocumentError]]] = deque()
    try:
        for path in paths:
            waiting.append(asyncio.create_task(read(path)))
            if len(waiting) >= 2 * len(processes):
                yield await waiting.popleft()
        while waiting:
            yield await waiting.popleft()
    finally:
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        for process in processes:
            await process.stop()


@dataclass
class _Process:
    """One reading process, started when the first file comes and again after a crash."""

    timeout_s: float
    memory_bytes: int
    _child: asyncio.subprocess.Process | None = None

    async def read(self, path: Path, request: dict[str, Any]) -> Document | DocumentError:
        answer: dict[str, Any] = {}
        try:
            if self._child is None:
                self._child = await _started(self.memory_bytes)
            async with asyncio.timeout(self.timeout_s):
                answer = await _asked(self._child, {**request, "path": os.fspath(path)})
        except TimeoutError:
            return DocumentError(f"reading it took longer than {self.timeout_s:g} s", path=path)
        except (asyncio.IncompleteReadError, ConnectionError):
            return DocumentError(f"reading it ended in a crash ({await self._end()})", path=path)
        except OSError as error:
            return DocumentError(f"no process to read it: {error.strerror}", path=path)
        finally:
            if answer.get("last", True):
                await self.stop()
        if "document" in answer:
            return Document.from_json(answer["document"])
        return DocumentError(answer["reason"], path=path)

    async def _end(self) -> str:
        """How the process came to its end, in a word or two."""
        code = await self._child.wait() if self._child else 0
        if code >= 0:
            return f"exit code {code}"
        with contextlib.suppress(ValueError):
            return signal.Signals(-code).name
        return f"signal {-code}"

    async def stop(self) -> None:
        child, self._child = self._child, None
        if child is None:
            return
        with contextlib.suppress(ProcessLookupError):
            child.kill()
        await child.communicate()  # until its pipes are closed and it is waited for


async def _started(memory_bytes: int) -> asyncio.subprocess.Process:
    # A process of our own, not multiprocessing: that would run the caller's main module again.
    # -P keeps the working folder, which may be the one being read, out of the import path.
    package = Path(__file__).parents[1]
    search_path = dict.fromkeys([*(entry for entry in sys.path if entry), str(package.parent)])
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",
        "-c",
        _START,
        str(package),
        str(memory_bytes),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={**_without_secrets(os.environ), "PYTHONPATH": os.pathsep.join(search_path)},
    )


def _without_secrets(environment: Mapping[str, str]) -> dict[str, str]:
    """A file that takes a reader over finds no DSN and no key there."""
    return {
        name: value
        for name, value in environment.items()
        if not name.upper().startswith(("KB_SEARCH_", "PG"))
    }


async def _asked(child: asyncio.subprocess.Process, request: dict[str, Any]) -> dict[str, Any]:
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdin.write(json.dumps(request).encode() + b"\n")
    await child.stdin.drain()
    length = int.from_bytes(await child.stdout.readexactly(8), "big")
    answer: dict[str, Any] = json.loads(await child.stdout.readexactly(length))
    return answer
