"""A process that uses the embedded server as it is told, a word a line, on standard input.

    open         share in the server; answers with what it reads there
    slow FIFO    run a statement that tells the FIFO it is at work, and does not end
    leave FIFO   begin to close, tell the FIFO, and wait
    close        give the share up
    fork         a child by fork(), which stays

Its arguments: the data folder, and optionally another folder of binaries.
"""

from __future__ import annotations

import asyncio
import dataclasses
import os
import signal
import socket
import sys
from pathlib import Path

import asyncpg

from kb_search.errors import KbError
from kb_search.servers.embedded import EmbeddedServer, make_request, open_requested


async def answer(server: EmbeddedServer, line: str) -> str:
    word, _, rest = line.partition(" ")
    if word == "slow":
        connection = await asyncpg.connect(server.dsn)
        await connection.execute(
            f"COPY (SELECT 1) TO PROGRAM $$echo at work > '{rest}'$$; SELECT pg_sleep(600)"
        )
    elif word == "leave":
        server.connection.shutdown(socket.SHUT_WR)
        Path(rest).write_text("leaving", encoding="utf-8")
        signal.pause()
    elif word == "close":
        await server.close()
    elif word == "fork":
        child = os.fork()
        if child == 0:
            signal.pause()
        return str(child)
    return "done"


async def open_server(data_dir: Path, binaries: Path | None) -> EmbeddedServer:
    request = make_request(data_dir)
    if binaries is not None:
        other = dataclasses.replace(request.binaries, bin_dir=binaries, roots=())
        request = dataclasses.replace(request, binaries=other)
    return await open_requested(request)


async def main(data_dir: Path, binaries: Path | None) -> None:
    server: EmbeddedServer | None = None
    while line := (await asyncio.to_thread(sys.stdin.readline)).strip():
        if line == "open":
            try:
                server = await open_server(data_dir, binaries)
                connection = await asyncpg.connect(server.dsn)
                said = str(await connection.fetchval("SELECT lower('CAÑÓN')"))
                await connection.close()
            except KbError as error:
                said = f"{type(error).__name__}: {error}"
            print(said, flush=True)
        elif server is not None:
            print(await answer(server, line), flush=True)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else None))
