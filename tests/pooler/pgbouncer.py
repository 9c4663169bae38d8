"""A pgbouncer in transaction mode in front of the test server."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

HOW_TO_GET_IT = "pgbouncer is not installed: apt-get install pgbouncer, or leave this road out"

# Fewer than the tests have clients, so that one transaction's connection is the next one's too.
SERVER_CONNECTIONS = 4


class NoPooler(Exception):
    """The pooler is missing or did not start."""


@contextlib.contextmanager
def running_pgbouncer(dsn: str) -> Iterator[str]:
    """The DSN through a pgbouncer of its own, which ends with the block.

    Raises:
        NoPooler: it is not installed or did not start.
    """
    program = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
    if program is None:
        raise NoPooler(HOW_TO_GET_IT)
    folder = Path(tempfile.mkdtemp(prefix="kb-search-pgbouncer-"))
    port = _free_port()
    config = folder / "pgbouncer.ini"
    config.write_text(_config(dsn, port=port))
    uid = gid = None
    if os.geteuid() == 0:
        # It refuses to run as root. A socket folder is open to the server's own user alone.
        user = _owner_of_the_socket(dsn) or pwd.getpwnam("nobody")
        uid, gid = user.pw_uid, user.pw_gid
        for path in (folder, config):
            os.chown(path, uid, gid)
    log = folder / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [program, str(config)], stdout=output, stderr=output, cwd="/", user=uid, group=gid
        )
        try:
            _wait_until_it_listens(process, port, log)
            parts = urlsplit(dsn)
            yield f"postgresql://pooled@127.0.0.1:{port}{parts.path}"
        finally:
            process.terminate()
            process.wait(timeout=30)
            shutil.rmtree(folder)


def _config(dsn: str, *, port: int) -> str:
    parts = urlsplit(dsn)
    query = parse_qs(parts.query)
    host = query.get("host", [parts.hostname or "127.0.0.1"])[0]
    target = f"host={host} port={query.get('port', [parts.port or 5432])[0]}"
    target += f" user={unquote(parts.username or 'postgres')}"
    if parts.password:
        target += f" password={unquote(parts.password)}"
    return f"""
[databases]
* = {target}

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
max_client_conn = 200
default_pool_size = {SERVER_CONNECTIONS}
ignore_startup_parameters = extra_float_digits
"""


def _owner_of_the_socket(dsn: str) -> pwd.struct_passwd | None:
    host = parse_qs(urlsplit(dsn).query).get("host", [""])[0]
    return pwd.getpwuid(Path(host).stat().st_uid) if host.startswith("/") else None


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_until_it_listens(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    while process.poll() is None:
        with contextlib.suppress(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port), timeout=5).close()
            return
    raise NoPooler(f"pgbouncer did not start: {log.read_text()}")
