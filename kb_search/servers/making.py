"""A new cluster, made step by step: complete under its name, or not there.

The standard library alone.
"""

from __future__ import annotations

import contextlib
import secrets
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

from kb_search.servers import cluster as commands
from kb_search.servers.children import Output, end_group, start
from kb_search.servers.folders import Home

_PREFIX = "making-"
_KILL = getattr(signal, "SIGKILL", signal.SIGTERM)


class Making:
    """The programs that make a cluster, one after the other; none of its calls waits."""

    def __init__(self, home: Home, bin_dir: Path, output: Output) -> None:
        self._home = home
        self._bin_dir = bin_dir
        self._output = output
        self._folder: Path | None = None
        self._child: subprocess.Popen[bytes] | None = None
        self._database_next = False

    def remove_leftovers(self) -> None:
        """Take away what a killed supervisor had in the making."""
        for leftover in self._home.path.glob(f"{_PREFIX}*"):
            shutil.rmtree(leftover, ignore_errors=True)

    def begin(self, *, with_password: bool, with_database: bool) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=self._home.path))
        self._database_next = with_database
        password_file = self._write_password() if with_password else None
        self._run(commands.initdb_command(self._bin_dir, self._folder, password_file=password_file))

    def advance(self) -> int | None:
        """None while at work, 0 when `finish` may be called, else a program's failure."""
        assert self._child is not None
        assert self._folder is not None
        code = self._child.poll()
        if code != 0 or not self._database_next:
            return code
        self._database_next = False
        command = commands.create_database_command(self._bin_dir, self._folder)
        self._run(command, text_in=commands.CREATE_DATABASE)
        return None

    def finish(self, cluster: Path) -> None:
        assert self._folder is not None
        self._home.unsynced.touch()
        self._folder.rename(cluster)
        self._folder = self._child = None

    def abandon(self) -> None:
        """Leave nothing half-made behind."""
        if self._child is not None:
            end_group(self._child)
            self._child = None
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def _run(self, command: list[str], *, text_in: bytes = b"") -> None:
        self._output.take_tail()
        self._child = start(command, self._output, dies_by=_KILL, text_in=text_in, own_group=True)

    def _write_password(self) -> Path:
        with contextlib.suppress(FileNotFoundError):
            self._home.password.unlink()
        self._home.password.write_text(secrets.token_hex(24), encoding="utf-8")
        return self._home.password
