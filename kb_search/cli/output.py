"""Where a command's words go: the answer to standard output, everything else to standard error.

Colours and progress bars come from rich, only where it is installed and only on a terminal.
"""

from __future__ import annotations

import dataclasses
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

Advance = Callable[[int, int], None]

# Shorter work needs no bar.
_BAR_AFTER_S = 1.0
# An entry's control characters must not reach a terminal; each becomes one space, so that
# offsets into the text stay right.
_PRINTABLE = {code: " " for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t"}
_NOTHING = object()


class Output:
    """The output of one run. With `as_json` standard output gets exactly one document."""

    def __init__(self, *, as_json: bool) -> None:
        self.as_json = as_json
        self._document: object = _NOTHING
        self._console = None if as_json else _console(sys.stdout)
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="replace")

    def document(self, value: object) -> None:
        """The answer for programs; printed when the command ends, the last one wins."""
        self._document = value

    def line(
        self,
        text: str = "",
        style: str = "",
        *,
        marked: tuple[tuple[int, int], ...] = (),
        indent: str = "",
    ) -> None:
        """The answer for people, with some of its characters marked where there are colours."""
        if self.as_json:
            return
        text = text.translate(_PRINTABLE)
        if self._console is None:
            print(indent + text.replace("\n", "\n" + indent))
            return
        from rich.text import Text

        shown = Text(text, style=style)
        for start, end in marked:
            shown.stylize("bold yellow", start, end)
        for row in shown.split("\n", allow_blank=True):
            self._console.print(Text(indent) + row, soft_wrap=True)

    def note(self, text: str) -> None:
        """A word to whoever runs the command."""
        print(text.translate(_PRINTABLE), file=sys.stderr)

    def failure(self, error: BaseException, message: str, *, type_name: str | None = None) -> None:
        """An error: its message for people, and the document for programs."""
        self.note(f"kb-search: {message}")
        details: dict[str, object] = {
            "type": type_name or type(error).__name__,
            "message": message,
        }
        for name in ("path", "line", "sqlstate"):
            if getattr(error, name, None) is not None:
                details[name] = getattr(error, name)
        self.document({"error": details})

    def finish(self) -> None:
        """Print the document, where one is wanted, and hand everything over."""
        if self.as_json and self._document is not _NOTHING:
            encoding = (sys.stdout.encoding or "").lower().replace("-", "")
            ascii_only = encoding != "utf8"
            print(json.dumps(plain(self._document), ensure_ascii=ascii_only, indent=2))
        sys.stdout.flush()

    @contextmanager
    def progress(self, label: str) -> Iterator[Advance]:
        """A bar on standard error for work over a second, told of it as (done, total)."""
        console = _console(sys.stderr)
        if console is None:
            yield lambda _done, _total: None
            return
        bar = _Bar(console, label)
        try:
            yield bar.advance
        finally:
            bar.close()


class _Bar:
    def __init__(self, console: Console, label: str) -> None:
        self._console = console
        self._label = label
        self._since = time.monotonic()
        self._progress: Progress | None = None

    def advance(self, done: int, total: int) -> None:
        if self._progress is None:
            if time.monotonic() - self._since < _BAR_AFTER_S:
                return
            from rich.progress import Progress

            self._progress = Progress(console=self._console, transient=True)
            self._progress.add_task(self._label)
            self._progress.start()
        self._progress.update(self._progress.task_ids[0], completed=done, total=total)

    def close(self) -> None:
        if self._progress is not None:
            self._progress.stop()


def counted(number: int, one: str, many: str | None = None) -> str:
    """A number with its noun: 1 file, 2 files."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def plain(value: object) -> Any:
    """A value as JSON has it: objects for dataclasses and mappings, lists for tuples."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)
        }
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    if isinstance(value, Path):
        return str(value)
    return value


def _console(stream: TextIO) -> Console | None:
    if not stream.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return None
    try:
        from rich.console import Console
    except ModuleNotFoundError:
        return None
    return Console(file=stream, highlight=False, markup=False, emoji=False)
