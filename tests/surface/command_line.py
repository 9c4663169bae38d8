"""Running `kb-search` in this process, and what it answered."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

from kb_search.cli import main


@dataclass(frozen=True)
class Answer:
    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """Standard output as JSON; an error where it is not exactly one document."""
        return json.loads(self.out)

    @property
    def error(self) -> Any:
        return self.document["error"]


class CommandLine:
    """Each call is one run of the program; `options` stand before the command."""

    def __init__(self, capsys: pytest.CaptureFixture[str], *options: str) -> None:
        self.capsys = capsys
        self.options = options

    def __call__(self, *arguments: object) -> Answer:
        self.capsys.readouterr()
        code = main([*self.options, *map(str, arguments)])
        captured = self.capsys.readouterr()
        assert "Traceback" not in captured.out + captured.err
        return Answer(code, captured.out, captured.err)
