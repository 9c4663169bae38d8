"""One embedded server for all processes of a data folder, until the last of them ends."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterator
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path

import asyncpg
import pytest

from kb_search.errors import QueryError
from kb_search.servers import open_embedded_server, server_status, stop_server
from kb_search.servers.upkeep import psql_command
from tests.db.embedded_faults import (
    UserProcess,
    eventually,
    kill_all,
    postmasters_of,
    processes_of,
    reachable_folder,
    wait_until_stopped,
)


@pytest.fixture(scope="module")
def warm_folder() -> Iterator[Path]:
    with reachable_folder() as folder:
        with UserProcess(folder / "data") as user:
            assert user.ask("open") == "cañón"
        wait_until_stopped(folder)
        yield folder / "data"


async def test_twenty_processes_share_one_server_until_the_last_is_killed():
    with reachable_folder() as folder, ExitStack() as stack:
        users = [stack.enter_context(UserProcess(folder / "data")) for _ in range(20)]
        for user in users:
            user.tell("open")
        assert {user.hear() for user in users} == {"cañón"}
        status = await server_status(folder / "data")
        assert sorted(status.users) == sorted(user.process.pid for user in users)
        [server] = postmasters_of(folder)
        for user in users[:-1]:
            user.kill()
        last = users[-1]
        assert last.ask("open") == "cañón"
        assert postmasters_of(folder) == [server]
        last.kill()
        wait_until_stopped(folder)


async def test_two_starters_at_once_share_one_server_a_hundred_times(warm_folder):
    with UserProcess(warm_folder) as first, UserProcess(warm_folder) as second:
        for _ in range(100):
            for user in (first, second):
                user.tell("open")
            assert first.hear() == second.hear() == "cañón"
            assert len(postmasters_of(warm_folder)) == 1
            for user in (first, second):
                user.tell("close")
            assert first.hear() == second.hear() == "done"
            assert processes_of(warm_folder) == []


@pytest.mark.parametrize("_round", range(3))
async def test_two_starters_at_once_make_one_cluster(_round):
    with (
        reachable_folder() as folder,
        UserProcess(folder / "data") as first,
        UserProcess(folder / "data") as second,
    ):
        for user in (first, second):
            user.tell("open")
        assert first.hear() == second.hear() == "cañón"
        assert len(postmasters_of(folder)) == 1


async def test_one_that_opens_while_the_last_other_leaves_is_served(warm_folder):
    with UserProcess(warm_folder) as leaving, UserProcess(warm_folder) as coming:
        for _ in range(20):
            assert leaving.ask("open") == "cañón"
            leaving.tell("close")
            assert coming.ask("open") == "cañón"
            assert leaving.hear() == "done"
            assert coming.ask("close") == "done"


async def test_one_process_may_open_the_server_many_times(warm_folder):
    async with AsyncExitStack() as stack:
        servers = [
            await stack.enter_async_context(await open_embedded_server(warm_folder))
            for _ in range(5)
        ]
        assert len({server.dsn for server in servers}) == 1
        assert (await server_status(warm_folder)).users == (os.getpid(),) * 5
    assert processes_of(warm_folder) == []


async def test_the_server_has_stopped_when_the_last_close_returns(warm_folder):
    server = await open_embedded_server(warm_folder)
    await server.close()
    assert processes_of(warm_folder) == []
    await server.close()  # a second time does nothing


async def test_an_opening_that_is_cancelled_leaves_nothing_behind(warm_folder):
    opening = asyncio.create_task(open_embedded_server(warm_folder))
    await eventually(lambda: bool(processes_of(warm_folder)))
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    wait_until_stopped(warm_folder)


async def test_the_status_tells_who_uses_it_and_starts_nothing(warm_folder):
    status = await server_status(warm_folder)
    assert not status.running
    assert status.majors == (18,)
    assert processes_of(warm_folder) == []
    async with await open_embedded_server(warm_folder) as server:
        status = await server_status(warm_folder)
        assert status.running
        assert status.users == (os.getpid(),)
        assert status.user == server.user == (warm_folder / "server").owner()
        assert [status.pid] == postmasters_of(warm_folder)


async def test_stop_leaves_a_server_in_use_alone_unless_forced(warm_folder):
    assert not await stop_server(warm_folder)
    async with await open_embedded_server(warm_folder):
        with pytest.raises(QueryError, match=f"in use by process {os.getpid()}.*--force"):
            await stop_server(warm_folder)
        assert postmasters_of(warm_folder)
        assert await stop_server(warm_folder, force=True)
        # Its users were told, so that none of them starts it again.
        assert processes_of(warm_folder) == []
    assert processes_of(warm_folder) == []


async def test_psql_holds_the_server_as_a_user_of_its_own(warm_folder):
    script = (
        "import asyncio\n"
        "from kb_search.cli import server\n"
        "from kb_search.cli.command import Parser\n"
        "from kb_search.cli.output import Output\n"
        "parser = Parser()\n"
        "server.register(parser.add_subparsers(parser_class=Parser))\n"
        "args = parser.parse_args(['server', 'psql', '--', '-AtqX'])\n"
        "asyncio.run(args.handler(args, Output(as_json=False)))\n"
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        script,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "KB_SEARCH_DATA_DIR": str(warm_folder), "PGDATABASE": "elsewhere"},
    )
    assert process.stdin
    assert process.stdout
    process.stdin.write(b"SELECT current_database();\n")
    assert await process.stdout.readline() == b"kb_search\n"
    status = await server_status(warm_folder)
    assert status.users == (process.pid,)  # psql itself: it took the process over
    process.kill()
    await process.wait()
    wait_until_stopped(warm_folder)


async def test_psql_reads_what_a_driver_wrote(warm_folder):
    async with await open_embedded_server(warm_folder) as server:
        command = psql_command(server, ["--no-psqlrc", "-Atc", "SELECT lower('CAÑÓN')"])
        process = await asyncio.create_subprocess_exec(
            *command, stdout=asyncio.subprocess.PIPE, env={"PGCLIENTENCODING": "UTF8"}
        )
        said, _ = await process.communicate()
        assert said.decode() == "cañón\n"


async def test_only_its_own_users_can_reach_the_socket(warm_folder):
    async with await open_embedded_server(warm_folder) as server:
        assert server.socket_dir is not None
        assert server.socket_dir.stat().st_mode & 0o777 == 0o700
        assert (server.socket_dir / ".s.PGSQL.5432").stat().st_mode & 0o077 == 0


async def test_on_loopback_the_password_is_needed(monkeypatch):
    with reachable_folder() as folder:
        async with await open_embedded_server(folder / "data", loopback=True) as server:
            assert server.socket_dir is None
            connection = await asyncpg.connect(server.dsn)
            assert await connection.fetchval("SELECT lower('CAÑÓN')") == "cañón"
            await connection.close()
            password = server.dsn.partition("@")[0].rpartition(":")[2]
            with pytest.raises(asyncpg.InvalidPasswordError):
                await asyncpg.connect(server.dsn.replace(password, "wrong"))
            status = await server_status(folder / "data")
            assert password not in str(status)
            async with await open_embedded_server(folder / "data", loopback=True) as other:
                assert other.dsn == server.dsn
        async with await open_embedded_server(folder / "data", loopback=True) as server:
            connection = await asyncpg.connect(server.dsn)
            await connection.close()
        assert processes_of(folder) == []


async def test_a_door_on_loopback_asks_for_the_token():
    import json
    import socket

    with reachable_folder() as folder:
        async with await open_embedded_server(folder / "data", loopback=True):
            address = json.loads((folder / "data" / "server" / "control.json").read_text())
            with socket.create_connection(("127.0.0.1", address["door"]), timeout=10) as stranger:
                stranger.sendall(b'{"op": "stop", "force": true, "token": "guess"}\n')
                answer = await asyncio.to_thread(stranger.recv, 4096)
            assert json.loads(answer)["error"] == "wrong token"
            assert (await server_status(folder / "data")).running


async def test_noise_at_the_door_does_not_disturb_the_server(warm_folder):
    import socket

    async with await open_embedded_server(warm_folder) as server:
        for noise in (b"", b"\n\n", b"{}\n", b"[1]\n", b"\xff\xfe\x00" * 100, b'{"op": 5}\n'):
            with socket.socket(socket.AF_UNIX) as stranger:
                stranger.connect(f"{server.socket_dir}/control")
                stranger.sendall(noise)
        with socket.socket(socket.AF_UNIX) as stranger:
            stranger.connect(f"{server.socket_dir}/control")
            with pytest.raises(OSError):
                for _ in range(100):
                    stranger.sendall(b"x" * 65_536)
        assert (await server_status(warm_folder)).running


async def test_killed_processes_of_a_group_leave_no_server(warm_folder):
    with ExitStack() as stack:
        users = [stack.enter_context(UserProcess(warm_folder)) for _ in range(3)]
        for user in users:
            assert user.ask("open") == "cañón"
        kill_all([user.process.pid for user in users])
        wait_until_stopped(warm_folder)
