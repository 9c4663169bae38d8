"""Splitting an SQL script into statements, by the rules of PostgreSQL's own scanner.

Source: PostgreSQL manual 4.1 "Lexical Structure"; psql's scanner for semicolons in parentheses
and in the body of an SQL-standard function.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass

_TOKEN = re.compile(
    r"""
      (?P<space>\s+)
    | (?P<comment>--[^\r\n]*)
    | (?P<block>/\*)
    | (?P<string>
          [eE]'(?:[^'\\]++|\\.|'')*+'(?:[^\S\n]*+\n\s*+'(?:[^'\\]++|\\.|'')*+')*+
        | (?:[uU]&|[bBxXnN])?'(?:[^']++|'')*+'
        | (?:[uU]&)?"(?:[^"]++|"")*+")
    | (?P<open_quote>[eE]'|(?:[uU]&|[bBxXnN])?'|(?:[uU]&)?")
    | (?P<dollar>\$(?:[^\W\d]\w*)?\$)
    | (?P<word>[^\W\d][\w$]*)
    | (?P<number>\$?\d[\w.]*)
    | (?P<mark>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_BLOCK_EDGE = re.compile(r"/\*|\*/")

# One transaction holds all files of a call: a script that ended it would break all or nothing.
_TRANSACTION_WORDS = frozenset(
    ("ABORT", "BEGIN", "COMMIT", "END", "RELEASE", "ROLLBACK", "SAVEPOINT", "START")
)


class ScriptError(ValueError):
    """A script that cannot be split or may not be run; `line` counts from 1."""

    def __init__(self, message: str, line: int) -> None:
        self.line = line
        super().__init__(message)


@dataclass(frozen=True)
class SqlStatement:
    """One statement without its semicolon; `line` (from 1) is where its first word stands."""

    text: str
    line: int

    def line_at(self, position: int) -> int:
        """The line in the script of a character position (from 1) in `text`."""
        return self.line + self.text.count("\n", 0, max(position - 1, 0))


class _Splitter:
    def __init__(self, script: str) -> None:
        self.script = script
        self.at = 0
        self.line = 1
        self.statements: list[SqlStatement] = []
        self._reset()

    def _reset(self) -> None:
        self.start: int | None = None
        self.end = 0
        self.start_line = self.line
        self.words: list[str] = []
        self.parentheses = 0
        self.bodies = 0

    def split(self) -> list[SqlStatement]:
        while self.at < len(self.script):
            token = _TOKEN.match(self.script, self.at)
            assert token is not None  # the last alternative matches anything
            self._take(str(token.lastgroup), token.group())
        self._finish()
        return self.statements

    def _take(self, kind: str, text: str) -> None:
        if kind == "block":
            text = self._block_comment()
        elif kind == "dollar":
            text = self._dollar_quoted(text)
        elif kind == "open_quote":
            what = "quoted name" if text.endswith('"') else "string"
            raise ScriptError(f"the {what} that starts here is never closed", self.line)
        if text == ";" and not self.parentheses and not self.bodies:
            self._finish()
        elif kind not in ("space", "comment", "block"):
            self._part_of_statement(kind, text)
        self.at += len(text)
        self.line += text.count("\n")

    def _part_of_statement(self, kind: str, text: str) -> None:
        if self.start is None:
            self.start, self.start_line = self.at, self.line
        self.end = self.at + len(text)
        if kind == "word":
            self._word(text.upper())
        elif text == "(":
            self.parentheses += 1
        elif text == ")":
            self.parentheses = max(self.parentheses - 1, 0)
        elif text == "\\":
            raise ScriptError(
                "psql commands (\\…) cannot be run here: remove it, or load the file with psql",
                self.line,
            )

    def _word(self, word: str) -> None:
        self.words.append(word)
        if word in ("BEGIN", "CASE", "END") and self._defines_function():
            if word == "BEGIN" or (word == "CASE" and self.bodies):
                self.bodies += 1
            elif word == "END" and self.bodies:
                self.bodies -= 1

    def _defines_function(self) -> bool:
        opening = [word for word in self.words[:4] if word not in ("OR", "REPLACE")]
        return opening[:2] in (["CREATE", "FUNCTION"], ["CREATE", "PROCEDURE"])

    def _block_comment(self) -> str:
        depth, at = 1, self.at + 2
        while depth:
            edge = _BLOCK_EDGE.search(self.script, at)
            if edge is None:
                raise ScriptError("the comment that starts here is never closed", self.line)
            depth += 1 if edge.group() == "/*" else -1
            at = edge.end()
        return self.script[self.at : at]

    def _dollar_quoted(self, mark: str) -> str:
        end = self.script.find(mark, self.at + len(mark))
        if end < 0:
            raise ScriptError(f"the string that starts here with {mark} is never closed", self.line)
        return self.script[self.at : end + len(mark)]

    def _finish(self) -> None:
        if self.start is not None:
            _refuse(self.words, self.start_line)
            self.statements.append(
                SqlStatement(self.script[self.start : self.end], self.start_line)
            )
        self._reset()


def _refuse(words: list[str], line: int) -> None:
    first, second = (*words[:2], "", "")[:2]
    if first in _TRANSACTION_WORDS or (first in ("PREPARE", "SET") and second == "TRANSACTION"):
        shown = f"{first} {second}" if second == "TRANSACTION" else first
        raise ScriptError(
            f"{shown} cannot be used here: all files are loaded in one transaction; remove it",
            line,
        )
    if first == "COPY":
        for preposition, stream in (("FROM", "STDIN"), ("TO", "STDOUT")):
            if (preposition, stream) in itertools.pairwise(words):
                raise ScriptError(
                    f"COPY … {preposition} {stream} cannot be used here: write INSERT statements"
                    " (pg_dump --inserts), or use a .csv or .jsonl file",
                    line,
                )


def split_statements(script: str) -> list[SqlStatement]:
    """The statements of a script, in order, the empty ones left out.

    Raises:
        ScriptError: something is never closed, or a statement needs psql or would end the
            transaction.
    """
    return _Splitter(script).split()
