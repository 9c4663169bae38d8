"""Which files have to be read: what is there, what is kept, and what became of it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from kb_search.documents import DocumentError, Found, walk
from kb_search.errors import QueryError
from kb_search.ingest.sections import storable_path
from kb_search.ingest.values import FailedFile

if TYPE_CHECKING:
    import asyncpg


@dataclass
class Digests:
    """The SHA-256 of files. Kept by one process that watches: a file whose size and time are as
    they were is not hashed again. Between runs nothing is remembered, since times may lie.
    """

    workers: int = 2
    max_bytes: int = 100_000_000
    remember: bool = False
    _known: dict[Path, tuple[tuple[int, int, int], str]] = field(default_factory=dict)

    def of(self, paths: Sequence[Path]) -> list[str | None]:
        """A digest a path, in hex; None for a file too large or not to be opened."""
        with ThreadPoolExecutor(self.workers) as pool:
            return list(pool.map(self._digest, paths))

    def _digest(self, path: Path) -> str | None:
        try:
            with path.open("rb") as file:
                status = os.fstat(file.fileno())
                if status.st_size > self.max_bytes:
                    return None  # reading it will say so
                state = (status.st_size, status.st_mtime_ns, status.st_ino)
                if self.remember and self._known.get(path, (None, ""))[0] == state:
                    return self._known[path][1]
                digest = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError:
            return None
        if self.remember:
            self._known[path] = (state, digest)
        return digest


@dataclass(frozen=True)
class KeptFile:
    """What is kept of a file."""

    id: int
    source: str
    path: str
    sha256: str
    reading: str

    @classmethod
    def of(cls, record: asyncpg.Record) -> KeptFile:
        return cls(**record)


@dataclass(frozen=True)
class Plan:
    """What a run has to do.

    `to_read` are files with the document that each is already, None for a new one; `relocated`
    are documents unchanged but for where they are (the folder is somewhere else now); `vanished`
    are those below the paths given whose files are there no more, or ignored now.
    """

    to_read: tuple[tuple[Found, KeptFile | None], ...]
    relocated: tuple[tuple[int, str], ...]
    skipped: int
    failed: tuple[FailedFile, ...]
    vanished: tuple[KeptFile, ...]

    @property
    def files(self) -> int:
        return len(self.to_read) + self.skipped


def place_of(found: Found) -> str:
    """Where a file is, without links: what knows it again."""
    if found.path == found.root:
        return storable_path(found.path.resolve())
    return storable_path(found.root.resolve() / found.path.relative_to(found.root))


def find(
    paths: Sequence[Path], *, ignore: Iterable[str]
) -> tuple[list[Found], list[FailedFile], list[str]]:
    """The files below the paths; what failed, and the places below which nothing is known.

    Raises:
        QueryError: a pattern is none.
    """
    found: list[Found] = []
    failed: list[FailedFile] = []
    unknown: list[str] = []
    try:
        for item in walk(paths, ignore=ignore):
            if isinstance(item, DocumentError):
                failed.append(FailedFile(path=storable_path(item.path), reason=item.reason))
                unknown.append(storable_path(item.path.parent.resolve() / item.path.name))
            else:
                found.append(item)
    except ValueError as error:
        raise QueryError(f"a pattern to ignore is none: {error}") from None
    return found, failed, unknown


def plan(
    paths: Sequence[Path],
    kept: Sequence[KeptFile],
    *,
    ignore: Iterable[str],
    reading: str,
    digests: Digests,
) -> Plan:
    """Compares the files below the paths with what is kept of the collection."""
    found, failed, unknown = find(paths, ignore=ignore)
    places = [place_of(item) for item in found]
    hashes = digests.of([item.path for item in found])
    known = _Known.of(kept, here=set(places))
    to_read: list[tuple[Found, KeptFile | None]] = []
    relocated: list[tuple[int, str]] = []
    skipped = 0
    for item, place, sha256 in zip(found, places, hashes, strict=True):
        old = known.claim(place, storable_path(item.source), sha256)
        same = old is not None and (old.sha256, old.reading) == (sha256, reading)
        if same and old is not None and old.path == place:
            skipped += 1
        elif same and old is not None and Path(old.path).name == Path(place).name:
            skipped += 1
            relocated.append((old.id, place))
        else:
            to_read.append((item, old))
    roots = [storable_path(path.resolve()) for path in paths]
    return Plan(
        to_read=tuple(to_read),
        relocated=tuple(relocated),
        skipped=skipped,
        failed=tuple(failed),
        vanished=tuple(
            row
            for row in kept
            if row.id not in known.claimed
            and any(_is_below(row.path, root) for root in roots)
            and not any(_is_below(row.path, place) for place in unknown)
        ),
    )


def _is_below(path: str, folder: str) -> bool:
    return Path(path).is_relative_to(folder)


@dataclass
class _Known:
    """The documents there are, by what tells a file again; each is claimed by one file."""

    by_path: Mapping[str, KeptFile]
    gone_by_source: Mapping[str, KeptFile]
    gone_by_sha256: Mapping[str, list[KeptFile]]
    claimed: set[int] = field(default_factory=set)

    @classmethod
    def of(cls, kept: Sequence[KeptFile], *, here: set[str]) -> _Known:
        gone = [row for row in kept if row.path not in here and not Path(row.path).is_file()]
        by_sha256: dict[str, list[KeptFile]] = {}
        for row in gone:
            by_sha256.setdefault(row.sha256, []).append(row)
        return cls(
            by_path={row.path: row for row in kept},
            gone_by_source={row.source: row for row in gone},
            gone_by_sha256=by_sha256,
        )

    def claim(self, place: str, source: str, sha256: str | None) -> KeptFile | None:
        candidates: list[KeptFile | None] = [
            self.by_path.get(place),
            self.gone_by_source.get(source),
            *self.gone_by_sha256.get(sha256 or "", ()),
        ]
        for row in candidates:
            if row is not None and row.id not in self.claimed:
                self.claimed.add(row.id)
                return row
        return None
