"""Which files of the given paths are candidates for reading."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pathspec

from kb_search.documents.sniffing import SUFFIXES, mentions_api
from kb_search.errors import DocumentError

# Hidden files and folders, what programs install, and the lock files of office programs.
DEFAULT_IGNORE = (".*", "node_modules/", "__pycache__/", "~$*")


@dataclass(frozen=True)
class Found:
    """A file to read.

    `root` is the folder (or the file) that was given, `source` the path below it with forward
    slashes (of a file that was given itself: its name); `source` is what names the document.
    """

    path: Path
    root: Path
    source: str


def walk(
    paths: Iterable[Path],
    *,
    ignore: Iterable[str] = (),
    default_ignore: Iterable[str] = DEFAULT_IGNORE,
) -> Iterator[Found | DocumentError]:
    """The files below the paths, each once, folder by folder in the order of their names.

    A file that is given itself is taken whatever its name; in a folder those with an ending that
    can be read are taken, and of JSON and YAML those that may be an API description. `ignore`
    are patterns as in a `.gitignore`, relative to the folder; they win over the default ones,
    which `!pattern` takes back. Links are followed when given themselves; in a folder, one that
    stays inside leads to what is read anyway, and one that leads out of it is an error, as are
    broken links and folders that may not be listed.
    """
    spec = pathspec.GitIgnoreSpec.from_lines([*default_ignore, *ignore])
    seen: set[tuple[int, int]] = set()
    for path in paths:
        try:
            status = path.stat()
        except OSError as error:
            yield DocumentError(_no_access(error), path=path)
            continue
        if stat.S_ISDIR(status.st_mode):
            found = _folder(path, spec)
        elif stat.S_ISREG(status.st_mode):
            found = iter([Found(path, path, path.name)])
        else:
            found = iter([DocumentError("not a regular file", path=path)])
        yield from _unseen(found, seen)


def _unseen(
    found: Iterator[Found | DocumentError], seen: set[tuple[int, int]]
) -> Iterator[Found | DocumentError]:
    """Without the files that came before: paths given may overlap."""
    for item in found:
        if isinstance(item, Found):
            try:
                status = item.path.stat()
            except OSError as error:
                yield DocumentError(_no_access(error), path=item.path)
                continue
            # Where a file system knows no inode numbers, nothing is taken for seen.
            if status.st_ino and (status.st_dev, status.st_ino) in seen and _is_twin(status):
                continue
            seen.add((status.st_dev, status.st_ino))
        yield item


def _is_twin(status: os.stat_result) -> bool:
    return status.st_nlink == 1  # two hard links are two documents


def _folder(root: Path, spec: pathspec.GitIgnoreSpec) -> Iterator[Found | DocumentError]:
    real_root = root.resolve()
    waiting = [root]
    while waiting:
        folder = waiting.pop()
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError as error:
            yield DocumentError(_no_access(error), path=folder)
            continue
        below: list[Path] = []
        for entry in entries:
            path = Path(entry.path)
            source = path.relative_to(root).as_posix()
            is_folder = entry.is_dir(follow_symlinks=False)
            if spec.match_file(f"{source}/" if is_folder else source):
                continue
            if is_folder:
                below.append(path)
            elif entry.is_symlink():
                yield from _link(path, real_root)
            elif entry.is_file(follow_symlinks=False) and _is_candidate(path):
                yield Found(path, root, source)
        waiting.extend(reversed(below))


def _link(path: Path, real_root: Path) -> Iterator[DocumentError]:
    try:
        target = path.resolve(strict=True)
    except (OSError, RuntimeError):
        if path.suffix.lower() in SUFFIXES:
            yield DocumentError("broken link", path=path)
        return
    if not target.is_relative_to(real_root) and (target.is_dir() or _is_candidate(target)):
        yield DocumentError("link that leads out of the folder: not followed", path=path)


def _is_candidate(path: Path) -> bool:
    kind = SUFFIXES.get(path.suffix.lower())
    if kind != "openapi":
        return kind is not None
    try:
        with path.open("rb") as file:
            return mentions_api(file.read(1 << 20))
    except OSError:
        return True  # reading it will say what is wrong


def _no_access(error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return "not found"
    if isinstance(error, PermissionError):
        return "unreadable: no right to read it"
    return f"unreadable: {error.strerror}"
