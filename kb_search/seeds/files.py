"""Reading seed files: JSON lines, CSV, YAML and SQL, with the line of whatever is wrong.

- `.jsonl`: one object a line.
- `.csv`: a header line; separated by commas (or by semicolons or tabs, where the header has no
  comma); aliases and tags separated by `|` inside their cell; metadata as a JSON object.
- `.yaml`: a list of mappings.
- `.sql`: statements.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from kb_search.errors import SeedError
from kb_search.models import Entry
from kb_search.seeds.rows import RowError, check_keys, entry_from_row
from kb_search.seeds.sql_script import ScriptError, SqlStatement, split_statements

_LONGEST_CELL = 1 << 26
_LIST_SEPARATOR = "|"


@dataclass(frozen=True)
class SeedFile:
    """What a file holds: entries, or statements where it is SQL."""

    path: Path
    entries: tuple[Entry, ...] = ()
    statements: tuple[SqlStatement, ...] = ()


def read_seed(path: Path) -> SeedFile:
    """A seed file's entries or statements, in order.

    Raises:
        SeedError: the file cannot be read, is of another kind, or has a bad row.
    """
    suffix = path.suffix.lower()
    if suffix == ".sql":
        return SeedFile(path, statements=_read_sql(path))
    reader = _READERS.get(suffix)
    if reader is None:
        raise SeedError(
            f"a seed file ends in .sql, .jsonl, .csv, .yaml or .yml, not in {suffix or 'nothing'}",
            path=path,
        )
    return SeedFile(path, entries=tuple(reader(path, read_text(path))))


def read_text(path: Path) -> str:
    """A file as text, without a byte order mark.

    Raises:
        SeedError: it cannot be read, is not UTF-8, or holds NUL bytes.
    """
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            raise SeedError("is no plain file: give the name of a file", path=path)
        data = path.read_bytes()
    except FileNotFoundError:
        raise SeedError("there is no such file", path=path) from None
    except OSError as error:
        raise SeedError(f"cannot be read: {error.strerror}", path=path) from error
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise SeedError("is UTF-16: save it as UTF-8", path=path, line=1)
    at = data.find(b"\0")
    if at >= 0:
        raise SeedError(
            "holds a NUL byte: it is not a text file in UTF-8", path=path, line=_line(data, at)
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SeedError(
            f"is not UTF-8 (byte 0x{data[error.start]:02x}; perhaps Windows-1252 or Latin-1):"
            " save it as UTF-8",
            path=path,
            line=_line(data, error.start),
        ) from None


def read_json_lines(path: Path) -> Iterator[tuple[int, Any]]:
    """The line number (from 1) and value of each line of a JSON lines file, blank ones left out.

    Raises:
        SeedError: a line is not JSON.
    """
    return _json_lines(path, read_text(path))


def _json_lines(path: Path, text: str) -> Iterator[tuple[int, Any]]:
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                yield number, _parse_json(line)
            except _BadJson as error:
                raise SeedError(str(error), path=path, line=number) from None


def _read_jsonl(path: Path, text: str) -> Iterator[Entry]:
    for number, value in _json_lines(path, text):
        yield _entry(path, number, value)


def _entry(path: Path, line: int, row: object) -> Entry:
    try:
        return entry_from_row(row)
    except RowError as error:
        raise SeedError(str(error), path=path, line=line) from None


def _read_csv(path: Path, text: str) -> Iterator[Entry]:
    limit = csv.field_size_limit(_LONGEST_CELL)  # the module's own 128 KiB refuse a long content
    try:
        yield from _csv_entries(path, text)
    finally:
        csv.field_size_limit(limit)


def _csv_entries(path: Path, text: str) -> Iterator[Entry]:
    rows = _csv_rows(path, text)
    header_line, header = next(rows, (1, []))
    names = [name.strip() for name in header]
    try:
        check_keys(names)
    except RowError as error:
        raise SeedError(f"header: {error}", path=path, line=header_line) from None
    for name in names:
        if names.count(name) > 1:
            raise SeedError(f"header: {name!r} is there twice", path=path, line=header_line)
    for line, cells in rows:
        if len(cells) != len(names):
            raise SeedError(
                f"has {len(cells)} cells, the header has {len(names)}"
                " (a text that holds the separator goes in double quotes)",
                path=path,
                line=line,
            )
        yield _entry(path, line, _csv_row(path, line, dict(zip(names, cells, strict=True))))


def _csv_rows(path: Path, text: str) -> Iterator[tuple[int, list[str]]]:
    first = text.lstrip("\r\n").split("\n", 1)[0]
    separator = next((mark for mark in ",;\t" if mark in first), ",")
    reader = csv.reader(text.splitlines(keepends=True), delimiter=separator, strict=True)
    while True:
        line = reader.line_num + 1
        try:
            cells = next(reader, None)
        except csv.Error as error:
            raise SeedError(f"invalid CSV: {error}", path=path, line=line) from None
        if cells is None:
            return
        if any(cell.strip() for cell in cells):
            yield line, cells


def _csv_row(path: Path, line: int, cells: dict[str, str]) -> dict[str, object]:
    row: dict[str, object] = dict(cells)
    for key in ("aliases", "tags"):
        parts = (part.strip() for part in cells.get(key, "").split(_LIST_SEPARATOR))
        row[key] = [part for part in parts if part]
    row["source"] = cells.get("source") or None
    try:
        metadata = cells.get("metadata", "").strip()
        row["metadata"] = _parse_json(metadata) if metadata else {}
    except _BadJson as error:
        raise SeedError(f"'metadata': {error}", path=path, line=line) from None
    return row


def _read_yaml(path: Path, text: str) -> Iterator[Entry]:
    try:
        from kb_search.seeds.yaml_rows import YamlError, yaml_rows
    except ModuleNotFoundError:
        raise SeedError(
            "reading YAML needs PyYAML: pip install 'kb-search[cli]'", path=path
        ) from None
    try:
        for row in yaml_rows(text):
            try:
                yield entry_from_row(row.value)
            except RowError as error:
                line = row.lines.get(error.key or "", row.line)
                raise SeedError(str(error), path=path, line=line) from None
    except YamlError as error:
        raise SeedError(str(error), path=path, line=error.line) from None


def _read_sql(path: Path) -> tuple[SqlStatement, ...]:
    try:
        return tuple(split_statements(read_text(path)))
    except ScriptError as error:
        raise SeedError(str(error), path=path, line=error.line) from None


_READERS: dict[str, Callable[[Path, str], Iterator[Entry]]] = {
    ".jsonl": _read_jsonl,
    ".csv": _read_csv,
    ".yaml": _read_yaml,
    ".yml": _read_yaml,
}


class _BadJson(ValueError):
    """Why a text is not the JSON that PostgreSQL would take."""


def _parse_json(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise _BadJson(f"invalid JSON: {error.msg} (column {error.colno})") from None
    except RecursionError:
        raise _BadJson("invalid JSON: nested too deeply") from None
    except _BadJson:
        raise
    except ValueError as error:  # an integer with more digits than Python reads
        raise _BadJson(f"invalid JSON: {error}") from None


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    row = dict(pairs)
    if len(row) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _BadJson(f"the key {twice!r} is there twice")
    return row


def _no_constant(name: str) -> NoReturn:
    raise _BadJson(f"invalid JSON: {name} is no JSON number")


def _line(data: bytes, at: int) -> int:
    return data.count(b"\n", 0, at) + 1
