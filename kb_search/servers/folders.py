"""Where the embedded server keeps its things.

`DATA_DIR/server/` is the server's own folder: `lock` (held by the one supervisor), `control.json`
(how to reach it), `server.log`, `run/` (the sockets, where its path is short and plain), and one
folder a PostgreSQL major with its cluster (`18/`). Nothing else in DATA_DIR is read or changed.
The standard library alone: the supervisor imports this without the rest of the package.
"""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from kb_search.servers.wire import ServerFault

ROLE = "kb_search"
DATABASE = "kb_search"
PORT = 5432
# struct sockaddr_un holds 108 bytes on Linux and 104 on macOS, the final NUL included.
LONGEST_SOCKET_PATH = 103
_LONGEST_DATA_DIR = 900  # PostgreSQL's own paths end at 1,023 bytes, its files' names included
SOCKET_NAME = f".s.PGSQL.{PORT}"
_PLAIN_PATH = re.compile(r"[A-Za-z0-9/._+-]+")
_CONTROL_CHARACTERS = re.compile(r"[\x00-\x1f\x7f]")


@dataclass(frozen=True)
class Home:
    """The server's own folder."""

    path: Path

    @property
    def lock(self) -> Path:
        return self.path / "lock"

    @property
    def control(self) -> Path:
        return self.path / "control.json"

    @property
    def log(self) -> Path:
        return self.path / "server.log"

    @property
    def run(self) -> Path:
        return self.path / "run"

    @property
    def run_elsewhere(self) -> Path:
        """The file that remembers the socket folder where `run` cannot be it."""
        return self.path / "run.path"

    @property
    def unsynced(self) -> Path:
        """There while the first files of a new cluster may not be on the disk yet."""
        return self.path / "unsynced"

    @property
    def password(self) -> Path:
        return self.path / "password"

    def cluster(self, name: str) -> Path:
        return self.path / name

    def majors(self) -> list[int]:
        """The PostgreSQL majors that have a finished cluster here, ascending."""
        entries = [entry for entry in self.path.iterdir() if entry.name.isdecimal()]
        return sorted(int(entry.name) for entry in entries if (entry / "PG_VERSION").exists())


def home_of(data_dir: Path) -> Home:
    return Home(data_dir / "server")


def full_data_dir(data_dir: Path | None) -> Path:
    """The data folder as an absolute path without symbolic links.

    Raises:
        ServerFault: the path cannot be one, or no home folder is known.
    """
    try:
        chosen = default_data_dir() if data_dir is None else data_dir.expanduser()
        path = Path(os.path.realpath(chosen))
    except (RuntimeError, ValueError, OSError) as error:
        raise ServerFault(
            f"No folder for the embedded server: {error}. Set KB_SEARCH_DATA_DIR."
        ) from error
    if _CONTROL_CHARACTERS.search(str(path)):
        raise ServerFault(
            "KB_SEARCH_DATA_DIR holds a line break or another control character, which "
            f"PostgreSQL's own files cannot hold: {str(path)!r}. Choose another folder."
        )
    length = len(os.fsencode(path))
    if length > _LONGEST_DATA_DIR:
        raise ServerFault(
            f"The path of KB_SEARCH_DATA_DIR has {length} bytes, and PostgreSQL takes "
            f"{_LONGEST_DATA_DIR}: choose a shorter one than {str(path)[:60]}…"
        )
    return path


def default_data_dir() -> Path:
    """The user's data folder by the convention of the system; a system folder for root."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA")
        return (Path(base) if base else Path.home() / "AppData" / "Local") / "kb_search"
    xdg = os.environ.get("XDG_DATA_HOME", "")
    if xdg.startswith("/"):
        return Path(xdg) / "kb_search"
    if os.geteuid() == 0:  # root's home is closed to the user that the server runs as
        return Path(
            "/usr/local/var/kb_search" if sys.platform == "darwin" else "/var/lib/kb_search"
        )
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "kb_search"
    return Path.home() / ".local" / "share" / "kb_search"


def is_plain(path: Path) -> bool:
    """Whether neither a shell nor a configuration file could read the path in another way."""
    return bool(_PLAIN_PATH.fullmatch(str(path)))


def fits_socket(folder: Path) -> bool:
    return is_plain(folder) and len(os.fsencode(folder / SOCKET_NAME)) <= LONGEST_SOCKET_PATH
