"""The process that reads files for `read_many`.

It takes one JSON request a line on standard input (`path`, `max_bytes`, `max_section_chars`) and
answers each with a length (8 bytes, big-endian) and a JSON object on standard output: `document`
or `reason`, and `last`, which says that this process ends here. JSON, not pickle: what comes
from a process that parsed a hostile file must be able to carry data only.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import sys
from pathlib import Path
from typing import Any, BinaryIO

from kb_search.documents.reading import read_document
from kb_search.errors import DocumentError

# After a file that took this much, a fresh process takes less than what the allocator keeps.
_RETIRE_BYTES = 400_000_000


def main(memory_bytes: int) -> None:
    """Answer requests until standard input ends, with at most so much address space (0: any)."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent is told as well, and ends this
    _limit_memory(memory_bytes)
    with os.fdopen(os.dup(1), "wb") as answers:
        os.dup2(2, 1)  # whatever a library prints must not fall between the answers
        for line in sys.stdin.buffer:
            answer = _answer(json.loads(line))
            answer["last"] = _peak_bytes() > _RETIRE_BYTES
            _send(answers, answer)
            if answer["last"]:
                return


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    try:
        document = read_document(
            Path(request["path"]),
            max_bytes=request["max_bytes"],
            max_section_chars=request["max_section_chars"],
        )
    except DocumentError as error:
        return {"reason": error.reason}
    return {"document": document.as_json()}


def _send(answers: BinaryIO, answer: dict[str, Any]) -> None:
    data = json.dumps(answer).encode()
    answers.write(len(data).to_bytes(8, "big") + data)
    answers.flush()


def _limit_memory(limit_bytes: int) -> None:
    if limit_bytes <= 0 or sys.platform == "win32":
        return
    import resource

    with contextlib.suppress(ValueError, OSError):  # not every system has the limit
        resource.setrlimit(resource.RLIMIT_AS, (limit_bytes, limit_bytes))


def _peak_bytes() -> int:
    """The most memory that this program held, 0 where the system does not say.

    On Linux not `ru_maxrss`, which starts from what the parent held when it forked.
    """
    status = Path("/proc/self/status")
    if status.exists():
        text = status.read_text(encoding="ascii", errors="replace")
        found = re.search(r"^VmHWM:\s+(\d+) kB", text, re.MULTILINE)
        return int(found[1]) * 1024 if found else 0
    if sys.platform == "win32":
        return 0
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
