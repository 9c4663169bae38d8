"""How long the embedded server takes: the first start, later ones, joining, stopping.

    python benchmarks/embedded_start.py [--rounds 20]

Targets: the first start (making the cluster) below 2 s, later ones below 0.3 s, and the server
gone within 2 s of the end of its last user, also by `kill -9`. Times are seconds, p50 and worst.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import select
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import asyncpg

from kb_search.servers import EmbeddedServer, open_embedded_server, server_status

TARGETS = {"first start": 2.0, "later start": 0.3, "stop after kill -9": 2.0}

# The user that is killed: it opens the server, says so, and waits.
USER = """
import asyncio, sys
from pathlib import Path
from kb_search.servers import open_embedded_server

async def main():
    async with await open_embedded_server(Path(sys.argv[1])):
        print("open", flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""


async def start(data_dir: Path) -> tuple[EmbeddedServer, float]:
    """A server that has answered a statement, and the seconds until then."""
    began = time.perf_counter()
    server = await open_embedded_server(data_dir)
    connection = await asyncpg.connect(server.dsn)
    await connection.fetchval("SELECT 1")
    took = time.perf_counter() - began
    await connection.close()
    return server, took


async def stop(server: EmbeddedServer) -> float:
    began = time.perf_counter()
    await server.close()
    return time.perf_counter() - began


async def measure(folder: Path, rounds: int) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {}
    for number in range(max(1, rounds // 5)):
        data_dir = folder / f"first-{number}"
        server, took = await start(data_dir)
        times.setdefault("first start", []).append(took)
        times.setdefault("stop", []).append(await stop(server))
        if number:
            shutil.rmtree(data_dir)
    data_dir = folder / "first-0"
    for _ in range(rounds):
        server, took = await start(data_dir)
        times.setdefault("later start", []).append(took)
        other, took = await start(data_dir)
        times.setdefault("joining", []).append(took)
        await stop(other)
        times["stop"].append(await stop(server))
        times.setdefault("stop after kill -9", []).append(await asyncio.to_thread(kill, data_dir))
    return times


def kill(data_dir: Path) -> float:
    """The seconds from the killing of the only user to the end of server and supervisor."""
    with subprocess.Popen([sys.executable, "-c", USER, data_dir], stdout=subprocess.PIPE) as user:
        assert user.stdout
        user.stdout.readline()
        status = asyncio.run(server_status(data_dir))
        assert status.pid
        assert status.supervisor_pid
        ends = [os.pidfd_open(status.pid), os.pidfd_open(status.supervisor_pid)]
        user.kill()
        began = time.perf_counter()
        for end in ends:
            select.select([end], [], [])
            os.close(end)
        return time.perf_counter() - began


def report(times: dict[str, list[float]]) -> None:
    print(f"{'':20}{'p50':>8}{'worst':>8}{'runs':>6}  target")
    for what, values in times.items():
        target = TARGETS.get(what)
        told = "" if target is None else f"< {target:g}: {verdict(values, target)}"
        print(f"{what:20}{statistics.median(values):8.3f}{max(values):8.3f}{len(values):6}  {told}")


def verdict(values: list[float], target: float) -> str:
    return "kept" if statistics.median(values) < target else "MISSED"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    rounds = parser.parse_args().rounds
    folder = Path(tempfile.mkdtemp(prefix="kb-embedded-"))
    folder.chmod(0o755)  # as root the server runs as another user, who must get in
    try:
        report(asyncio.run(measure(folder, rounds)))
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
