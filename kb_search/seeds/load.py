"""Loading seed files: everything in one transaction, so that all is loaded or nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import asyncpg

from kb_search.database import Database, fetch
from kb_search.entries import write_entries
from kb_search.errors import QueryError, SeedError
from kb_search.models import Entry
from kb_search.seeds.files import SeedFile, read_seed
from kb_search.seeds.sql_script import SqlStatement

if TYPE_CHECKING:
    from kb_search.database import Connection

# Entries written by one statement: a report of progress a second or so, few round trips.
_BATCH = 500

# What a statement itself can be blamed for, by class of SQLSTATE: features, cardinality, data,
# constraints, transactions, names, syntax, checks, limits, states, exceptions raised.
_BLAMED_ON_THE_FILE = ("0A", "0L", "21", "22", "23", "25", "2D", "3F", "42", "44", "54", "55", "P0")
# ... but not: a read-only server, a missing right, a lock.
_NOT_BLAMED = ("25006", "42501", "55P03")

Progress = Callable[[int, int], None]


@dataclass(frozen=True, kw_only=True)
class SeedReport:
    """What a load did: numbers of files, entries and SQL statements.

    What SQL statements add or change is not counted as entries.
    """

    files: int
    added: int
    updated: int
    unchanged: int
    statements: int


async def load_seeds(
    database: Database,
    paths: Sequence[Path],
    *,
    collection: str,
    sql_allowed: bool = True,
    on_progress: Progress | None = None,
) -> SeedReport:
    """Load seed files in the given order, all or nothing.

    The entries of files that follow one another count as one list: the same section and title
    twice, and the last wins. `on_progress` is told what is done and how much there is, in
    entries and statements. `sql_allowed=False` refuses SQL, which chooses its own collections.

    Raises:
        SeedError: a file cannot be read, or a row or statement of it cannot be loaded.
        QueryError: no file is given.
        DatabaseError: PostgreSQL cannot be reached or may not be written to.
    """
    if not paths:
        raise QueryError("name at least one seed file")
    files = [await asyncio.to_thread(read_seed, path) for path in paths]
    for file in files:
        if file.statements and not sql_allowed:
            raise SeedError(
                "an SQL file names its collections itself: leave --collection out",
                path=file.path,
                line=file.statements[0].line,
            )

    async def load(connection: Connection) -> SeedReport:
        await fetch(connection, "lock_seeds")
        return await _Load(files, collection, on_progress).run(connection)

    return await database.in_transaction(load)


def _steps(files: Iterable[SeedFile]) -> list[SeedFile | list[Entry]]:
    steps: list[SeedFile | list[Entry]] = []
    pending: dict[tuple[str, str], Entry] = {}
    for file in files:
        if file.statements:
            steps += [list(pending.values()), file]
            pending = {}
        pending.update({(entry.section, entry.title): entry for entry in file.entries})
    return [*steps, list(pending.values())]


class _Load:
    """The counts of one load under way."""

    def __init__(
        self, files: Sequence[SeedFile], collection: str, on_progress: Progress | None
    ) -> None:
        self.files = files
        self.collection = collection
        self.total = sum(len(file.entries) + len(file.statements) for file in files)
        self.on_progress = on_progress
        self.done = 0
        self.statements = 0
        self.counts = {"added": 0, "updated": 0, "unchanged": 0}

    async def run(self, connection: Any) -> SeedReport:
        for step in _steps(self.files):
            if isinstance(step, SeedFile):
                for statement in step.statements:
                    await self._execute(connection, step.path, statement)
            else:
                for first in range(0, len(step), _BATCH):
                    await self._write(connection, step[first : first + _BATCH])
        return SeedReport(files=len(self.files), statements=self.statements, **self.counts)

    async def _write(self, connection: Any, entries: list[Entry]) -> None:
        report = await write_entries(connection, entries, collection=self.collection)
        for name in self.counts:
            self.counts[name] += getattr(report, name)
        self._advance(len(entries))

    async def _execute(self, connection: Any, path: Path, statement: SqlStatement) -> None:
        try:
            await connection.execute(statement.text)
        except asyncpg.PostgresError as error:
            if not _to_blame(error):
                raise
            line = statement.line_at(int(getattr(error, "position", None) or 1))
            raise SeedError(f"PostgreSQL says: {error}", path=path, line=line) from error
        except asyncpg.InterfaceError as error:
            if connection.is_closed():
                raise
            raise SeedError(f"cannot be run: {error}", path=path, line=statement.line) from error
        self.statements += 1
        self._advance(1)

    def _advance(self, steps: int) -> None:
        self.done += steps
        if self.on_progress is not None:
            self.on_progress(self.done, self.total)


def _to_blame(error: asyncpg.PostgresError) -> bool:
    state = error.sqlstate or ""
    schema_missing = state in ("3F000", "42P01") and (
        '"kb_search"' in str(error) or '"kb_search.entry"' in str(error)
    )
    return state.startswith(_BLAMED_ON_THE_FILE) and state not in _NOT_BLAMED and not schema_missing
