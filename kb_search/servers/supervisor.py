"""The supervisor: a small process that runs the server for as long as anybody uses it.

Each user holds a connection to it. It starts the server for the first, stops it when the last
connection has closed (the kernel closes those of a killed process), and the server dies with it.
It has one thread, signals only its own children, and holds a lock on the data folder for its
life. Started by `launching.py` with the standard library alone, so that it is there in a blink.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import socket
import sys
from hmac import compare_digest
from pathlib import Path
from typing import Any

from kb_search.servers.accounts import Place, settle
from kb_search.servers.engine import Engine
from kb_search.servers.locks import take_lock
from kb_search.servers.orders import Order, portable
from kb_search.servers.peers import Peer, Peers
from kb_search.servers.sockets import CONTROL_NAME, remove_sockets, socket_folder
from kb_search.servers.wire import Message, ServerFault, disk_fault, encode

_BUSY_TICK_S = 0.01
# Also how often the sockets are touched, so that no cleaner of old files takes them.
_IDLE_TICK_S = 1800.0 if sys.platform != "win32" else 0.25


class Supervisor:
    def __init__(self, order: Order, place: Place, first: socket.socket) -> None:
        self._order = order
        self._place = place
        self._selector = selectors.DefaultSelector()
        self._peers = Peers(self._selector)
        self._peers.add(first, uses=True)
        self._asked_to_stop = False
        self._promote_to: str | None = None
        self._socket_dir = None if order.loopback else socket_folder(place.home, bound=place.bound)
        self._engine = Engine(place, order, self._socket_dir)

    def run(self) -> None:
        """Serve until the last user has gone; then the server has stopped."""
        try:
            self._open()
            while self._engine.running:
                self._wait()
                self._step()
        finally:
            self._engine.kill()
            self._close_door()
            self._remove_sockets()
        if self._promote_to and self._engine.stopped_cleanly:
            self._engine.cluster.rename(self._place.home.cluster(self._promote_to))

    def _open(self) -> None:
        if self._socket_dir is not None:
            remove_sockets(self._socket_dir)
        door = self._peers.open_door(self._socket_dir / CONTROL_NAME if self._socket_dir else None)
        address: Message = {"door": door, "token": self._peers.token}
        fresh = self._place.home.control.with_suffix(".new")
        fresh.unlink(missing_ok=True)
        fresh.write_bytes(encode(address))
        fresh.replace(self._place.home.control)
        if sys.platform != "win32":
            self._selector.register(self._engine.output.fileno(), selectors.EVENT_READ, None)
        self._wake_up_on_signals()

    def _close_door(self) -> None:
        self._peers.close_door()
        self._place.home.control.unlink(missing_ok=True)
        if self._socket_dir is not None:
            (self._socket_dir / CONTROL_NAME).unlink(missing_ok=True)

    def _remove_sockets(self) -> None:
        if self._socket_dir is not None:
            remove_sockets(self._socket_dir)
            if self._socket_dir != self._place.home.run:
                self._socket_dir.rmdir()

    def _wake_up_on_signals(self) -> None:
        """The end of a child, or SIGTERM, ends the wait for connections."""
        signal.signal(signal.SIGTERM, self._on_terminate)
        if sys.platform == "win32":
            return
        signal.signal(signal.SIGCHLD, lambda *_: None)
        reader, writer = socket.socketpair()
        reader.setblocking(False)
        writer.setblocking(False)
        signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
        self._wake_up = (reader, writer)
        self._selector.register(reader, selectors.EVENT_READ, reader)

    def _on_terminate(self, *_: Any) -> None:
        self._asked_to_stop = True

    def _wait(self) -> None:
        settled = self._engine.ready and not self._engine.stopping
        for key, _ in self._selector.select(_IDLE_TICK_S if settled else _BUSY_TICK_S):
            if isinstance(key.data, Peer):
                self._hear(key.data)
            elif key.data is self._peers:
                self._peers.accept()
            elif isinstance(key.data, socket.socket):
                key.data.recv(4096)
        self._engine.output.drain()
        if settled and self._socket_dir is not None:
            with contextlib.suppress(OSError):
                os.utime(self._socket_dir)
                os.utime(self._socket_dir / CONTROL_NAME)

    def _step(self) -> None:
        try:
            self._engine.advance()
        except ServerFault as fault:
            self._fail(fault)
        except OSError as error:
            self._fail(disk_fault(error, self._place.data_dir))
        if self._engine.stopping:
            return
        if self._asked_to_stop or self._is_unused():
            self._stop()
        else:
            self._peers.dismiss()
            self._welcome()

    def _stop(self) -> None:
        """Begin to stop. Newcomers find no door from here on: they wait for the lock.

        Those who have left wait for the end of this process: see EmbeddedServer.close.
        """
        self._close_door()
        self._engine.stop()

    def _welcome(self) -> None:
        """Tell those who wait for it that the server is ready."""
        if self._engine.ready:
            for peer in self._peers.users():
                if not peer.answered:
                    peer.answered = True
                    peer.send({"ok": True, **self._description()})

    def _is_unused(self) -> bool:
        """Whether nobody uses the server, those who stand at the door included."""
        if self._peers.users():
            return False
        self._peers.accept()
        for peer in self._peers.everybody():
            self._hear(peer)
        return not self._peers.users()

    def _fail(self, fault: ServerFault) -> None:
        """Leave nothing half-made behind, then say why there is no server."""
        if self._engine.stopping:
            self._engine.running = False
        else:
            self._stop()
        for peer in self._peers.users():
            if not peer.answered:
                peer.send({"error": str(fault), "kind": fault.kind})

    def _hear(self, peer: Peer) -> None:
        messages, gone = peer.read()
        for message in messages:
            self._answer(peer, message)
        if gone:
            self._peers.remove(peer)

    def _answer(self, peer: Peer, message: Message) -> None:
        given = str(message.get("token")).encode(errors="backslashreplace")
        if not compare_digest(given, self._peers.token.encode()):
            peer.send({"error": "wrong token", "kind": "unreachable"})
            return
        match message.get("op"):
            case "use" if not self._serves(message):
                text = (
                    "Another major of PostgreSQL, or an upgrade, is at work in this data folder: "
                    "try again when it has ended."
                )
                peer.send({"error": text, "kind": "unreachable"})
            case "use":
                peer.uses = True
            case "status":
                peer.send({"ok": True, "ready": self._engine.ready, **self._description()})
            case "stop":
                self._stop_for(peer, force=bool(message.get("force")))
            case "promote":
                self._promote_to = str(message["name"])
                peer.send({"ok": True})

    def _serves(self, message: Message) -> bool:
        return self._order.purpose == "serve" and message.get("cluster") == self._order.cluster

    def _stop_for(self, peer: Peer, *, force: bool) -> None:
        users = self._peers.users()
        if users and not force:
            pids = ", ".join(str(user.pid) for user in users)
            peer.send({"error": f"The server is in use by process {pids}.", "kind": "query"})
            return
        self._asked_to_stop = True
        for user in users:
            user.send({"stopped": True})  # so that they do not start it again
        peer.send({"ok": True})

    def _description(self) -> Message:
        return {
            "token": self._peers.token,
            "user": self._place.account,
            "bin_dir": portable(self._place.bin_dir),
            "socket_dir": portable(self._socket_dir) if self._socket_dir else None,
            "port": self._engine.port,
            "password": self._engine.password,
            "version": self._order.version,
            "pid": self._engine.pid,
            "supervisor_pid": os.getpid(),
            "users": [user.pid for user in self._peers.users()],
        }


def main(text: str) -> None:
    """Carry out the order in a JSON text, and end with the server."""
    order = Order(**json.loads(text))
    if sys.platform != "win32":
        if os.fork():  # the starter waits for this parent only: no zombie stays with it
            os._exit(0)
        os.chdir("/")
    os.umask(0o022)  # for the folders that root makes for another account to enter
    first = order.first_connection()
    try:
        place = settle(Path(order.data_dir), Path(order.bin_dir), tuple(map(Path, order.roots)))
        os.umask(0o077)
        lock = take_lock(place.home.lock, wait_s=0.1)
        if lock is None:
            first.sendall(encode({"busy": True}))
            return
        Supervisor(order, place, first).run()
    except ServerFault as fault:
        _tell(first, fault)
    except OSError as error:
        _tell(first, disk_fault(error, error.filename or order.data_dir))
    except Exception as error:  # noqa: BLE001 - whatever it is, somebody must be told
        _tell(first, ServerFault(f"The supervisor failed: {error!r}", kind="unreachable"))
    finally:
        # At once: tidying the interpreter up would close the users' connections too early.
        os._exit(0)


def _tell(first: socket.socket, fault: ServerFault) -> None:
    """Say why there is no server, unless the first user has gone."""
    with contextlib.suppress(OSError):
        first.sendall(encode({"error": str(fault), "kind": fault.kind}))
