"""Choosing the private folder of the sockets: short and plain, and the same at every start.

The standard library alone.
"""

from __future__ import annotations

import os
import socket
import stat
import tempfile
from pathlib import Path

from kb_search.servers.folders import Home, fits_socket
from kb_search.servers.wire import ServerFault

CONTROL_NAME = "control"
_SHORT_BASE = Path("/tmp")  # noqa: S108 - only for a 0700 folder of our own


def socket_folder(home: Home, *, bound: bool) -> Path:
    """A 0700 folder of this user's, existing, for the server's and the supervisor's sockets.

    Inside the data folder where its path fits a socket address; else a short folder whose
    random name the data folder remembers, so that the address stays the same.
    """
    # Through a mount of its own the supervisor sees a path that its users do not.
    if not bound and fits_socket(home.run) and _takes_sockets(home.run):
        return home.run
    try:
        remembered = Path(home.run_elsewhere.read_text(encoding="utf-8").strip())
    except (OSError, ValueError):
        remembered = Path()
    if remembered.parent == _SHORT_BASE and fits_socket(remembered) and _make_private(remembered):
        return remembered
    chosen = Path(tempfile.mkdtemp(prefix="kb-search-", dir=_SHORT_BASE))
    home.run_elsewhere.write_text(str(chosen), encoding="utf-8")
    return chosen


def _make_private(folder: Path) -> bool:
    """Whether the folder is there and ours alone; a link or another's folder is not."""
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        found = folder.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
            return False
        folder.chmod(0o700)
    return True


def _takes_sockets(folder: Path) -> bool:
    """Some shared and network file systems hold no sockets."""
    if not _make_private(folder):
        raise ServerFault(f"{folder} is not a folder of this user's: remove it.")
    trial = folder / "trial"
    trial.unlink(missing_ok=True)
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as door:
            door.bind(str(trial))
    except OSError:
        return False
    finally:
        trial.unlink(missing_ok=True)
    return True


def remove_sockets(folder: Path) -> None:
    """Take away what an earlier server left; call it only where none runs."""
    for name in [CONTROL_NAME, *(entry.name for entry in folder.glob(".s.PGSQL.*"))]:
        (folder / name).unlink(missing_ok=True)
