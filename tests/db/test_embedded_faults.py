"""The embedded server, killed at every moment: it stops with its last user, and comes back."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest

from kb_search.servers import open_embedded_server
from kb_search.servers.upkeep import server_status
from tests.db.embedded_faults import (
    Announcement,
    UserProcess,
    binaries_that_hang,
    eventually,
    kill_all,
    postmasters_of,
    processes_of,
    reachable_folder,
    supervisors_of,
    wait_for_end_of,
    wait_until_stopped,
)

VICTIMS = ["user", "supervisor", "server", "everything"]


@pytest.fixture(scope="module")
def warm_folder() -> Iterator[Path]:
    """A data folder whose cluster is made; each test leaves its server stopped."""
    with reachable_folder() as folder:
        with UserProcess(folder / "data") as user:
            assert user.ask("open") == "cañón"
        wait_until_stopped(folder)
        yield folder / "data"


@pytest.fixture
def folder() -> Iterator[Path]:
    with reachable_folder() as made:
        yield made


@pytest.fixture
def announcement(folder: Path) -> Iterator[Announcement]:
    made = Announcement(folder)
    yield made
    made.close()


async def answers(data_dir: Path) -> str:
    async with await open_embedded_server(data_dir) as server:
        connection = await asyncpg.connect(server.dsn)
        try:
            return str(await connection.fetchval("SELECT lower('CAÑÓN')"))
        finally:
            await connection.close()


def strike(victim: str, user: UserProcess, data_dir: Path) -> None:
    """Kill, as `kill -9` does, and see that nothing is left behind without a user."""
    if victim == "user":
        user.kill()
    elif victim == "supervisor":
        kill_all(supervisors_of(data_dir))
        user.kill()
    elif victim == "server":
        kill_all(postmasters_of(data_dir))
        user.kill()
    else:
        kill_all(processes_of(data_dir))
        user.kill()
        kill_all(processes_of(data_dir))
    wait_until_stopped(data_dir)


async def test_killed_before_the_lock_nothing_is_left_and_the_next_one_works(folder):
    data_dir = folder / "data"
    with UserProcess(data_dir) as user:
        user.tell("open")
        user.kill()
    wait_until_stopped(data_dir)
    assert await answers(data_dir) == "cañón"


@pytest.mark.parametrize("victim", VICTIMS)
async def test_killed_during_initdb_the_next_one_makes_the_cluster(folder, announcement, victim):
    data_dir = folder / "data"
    with UserProcess(data_dir, binaries_that_hang(folder, "initdb", announcement)) as user:
        user.tell("open")
        announcement.wait()
        strike(victim, user, data_dir)
    assert await answers(data_dir) == "cañón"
    assert not list((data_dir / "server").glob("making-*"))


@pytest.mark.parametrize("victim", VICTIMS)
async def test_killed_while_starting_the_next_one_starts(folder, announcement, warm_folder, victim):
    with UserProcess(warm_folder, binaries_that_hang(folder, "postgres", announcement)) as user:
        user.tell("open")
        announcement.wait()
        strike(victim, user, warm_folder)
    assert await answers(warm_folder) == "cañón"


@pytest.mark.parametrize("victim", VICTIMS)
async def test_killed_in_a_statement_the_next_one_recovers(
    folder, announcement, warm_folder, victim
):
    with UserProcess(warm_folder) as user:
        assert user.ask("open") == "cañón"
        user.tell(f"slow {announcement.path}")
        announcement.wait()
        strike(victim, user, warm_folder)
    assert await answers(warm_folder) == "cañón"


@pytest.mark.parametrize("victim", VICTIMS)
async def test_killed_while_stopping_the_next_one_recovers(
    folder, announcement, warm_folder, victim
):
    with UserProcess(warm_folder) as user:
        assert user.ask("open") == "cañón"
        # A stopped checkpointer holds the server's stop up for as long as it takes to strike.
        checkpointer = [child_named("checkpointer", pid) for pid in postmasters_of(warm_folder)]
        kill_all(checkpointer, signal.SIGSTOP)
        user.tell(f"leave {announcement.path}")
        announcement.wait()
        control = warm_folder / "server" / "run" / "control"
        await eventually(lambda: not control.exists())
        strike_while_stopping(victim, user, warm_folder)
        kill_all(checkpointer, signal.SIGCONT)
        wait_until_stopped(warm_folder)
    assert await answers(warm_folder) == "cañón"


def strike_while_stopping(victim: str, user: UserProcess, data_dir: Path) -> None:
    if victim in ("supervisor", "everything"):
        kill_all(supervisors_of(data_dir))
    if victim in ("server", "everything"):
        kill_all(postmasters_of(data_dir))
    user.kill()


def child_named(name: str, parent: int) -> int:
    listed = subprocess.run(
        ["ps", "--ppid", str(parent), "-o", "pid=,args="],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return next(int(line.split()[0]) for line in listed.splitlines() if name in line)


async def test_a_user_goes_on_after_another_one_is_killed(warm_folder):
    with UserProcess(warm_folder) as first, UserProcess(warm_folder) as second:
        assert first.ask("open") == second.ask("open") == "cañón"
        before = postmasters_of(warm_folder)
        first.kill()
        assert await answers(warm_folder) == "cañón"
        assert second.ask("open") == "cañón"
        assert postmasters_of(warm_folder) == before
        assert len(before) == 1
    wait_until_stopped(warm_folder)


async def test_a_user_gets_its_server_back_after_the_supervisor_was_killed(warm_folder):
    async with await open_embedded_server(warm_folder) as server:
        pool = await asyncpg.create_pool(server.dsn, min_size=1, max_size=2)
        dead = processes_of(warm_folder)
        kill_all(supervisors_of(warm_folder))
        wait_for_end_of(dead)
        await eventually(lambda: bool(postmasters_of(warm_folder)))
        async with await open_embedded_server(warm_folder) as other:
            assert other.dsn == server.dsn
            assert len((await server_status(warm_folder)).users) == 2
        await pool.expire_connections()
        assert await pool.fetchval("SELECT 1") == 1
        await pool.close()
    assert processes_of(warm_folder) == []


async def test_a_killed_server_is_started_again_for_its_users(warm_folder):
    async with await open_embedded_server(warm_folder) as server:
        dead = postmasters_of(warm_folder)
        kill_all(dead)
        wait_for_end_of(dead)
        await eventually(lambda: bool(postmasters_of(warm_folder)))
        assert await answers(warm_folder) == "cañón"
        assert (await server_status(warm_folder)).supervisor_pid == server.supervisor_pid


async def test_committed_rows_survive_the_killing_of_everything(warm_folder):
    async with await open_embedded_server(warm_folder) as server:
        connection = await asyncpg.connect(server.dsn)
        await connection.execute("CREATE TABLE kept (word text)")
        await connection.execute("INSERT INTO kept VALUES ('año')")
        kill_all(processes_of(warm_folder))
        connection.terminate()
    wait_until_stopped(warm_folder)
    async with await open_embedded_server(warm_folder) as server:
        connection = await asyncpg.connect(server.dsn)
        assert await connection.fetchval("SELECT word FROM kept") == "año"
        await connection.execute("DROP TABLE kept")
        await connection.close()


async def test_the_server_outlives_the_thread_that_opened_it(warm_folder):
    import asyncio
    import threading

    opened = []
    loop = asyncio.new_event_loop()
    thread = threading.Thread(
        target=lambda: opened.append(loop.run_until_complete(open_embedded_server(warm_folder)))
    )
    thread.start()
    thread.join()
    [server] = opened
    connection = await asyncpg.connect(server.dsn)
    assert await connection.fetchval("SELECT 1") == 1
    await connection.close()
    await asyncio.to_thread(loop.run_until_complete, server.close())
    loop.close()
    assert processes_of(warm_folder) == []


async def test_a_forked_child_does_not_keep_the_server_running(warm_folder):
    with UserProcess(warm_folder) as user:
        assert user.ask("open") == "cañón"
        child = int(user.ask("fork"))
        user.kill()
        wait_until_stopped(warm_folder)
        os.kill(child, signal.SIGKILL)


async def test_a_stale_pid_file_of_an_unrelated_process_harms_neither(warm_folder):
    assert await answers(warm_folder) == "cañón"
    status = warm_folder.stat()
    bystander = subprocess.Popen(["sleep", "600"], user=(warm_folder / "server").stat().st_uid)
    try:
        pid_file = warm_folder / "server" / "18" / "postmaster.pid"
        pid_file.write_text(
            f"{bystander.pid}\n{pid_file.parent}\n1700000000\n5432\n/tmp\n\n  5 6\nready   \n",
            encoding="utf-8",
        )
        os.chown(pid_file, (warm_folder / "server").stat().st_uid, status.st_gid)
        assert await answers(warm_folder) == "cañón"
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()


@pytest.mark.parametrize("content", ["", "rubbish\n", "0\n"])
async def test_a_pid_file_cut_short_does_not_hold_the_server_up(warm_folder, content):
    pid_file = warm_folder / "server" / "18" / "postmaster.pid"
    pid_file.write_text(content, encoding="utf-8")
    pid_file.chmod(0o666)
    assert await answers(warm_folder) == "cañón"


async def test_a_server_that_somebody_else_started_is_named_and_left_alone(folder, monkeypatch):
    from kb_search.errors import ConfigError
    from kb_search.servers.binaries import find_binaries

    data_dir = folder / "data"
    assert await answers(data_dir) == "cañón"
    cluster = data_dir / "server" / "18"
    other = subprocess.Popen(
        [
            str(find_binaries().program("postgres")), "-D", str(cluster),
            "-c", "listen_addresses=", "-c", f"unix_socket_directories={cluster}",
        ],
        user=cluster.stat().st_uid,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        await eventually((cluster / ".s.PGSQL.5432").exists)
        with pytest.raises(ConfigError, match=f"process {other.pid}"):
            await open_embedded_server(data_dir)
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


async def test_a_folder_that_is_removed_while_in_use_leaves_no_process(folder):
    import shutil

    data_dir = folder / "data"
    server = await open_embedded_server(data_dir)
    shutil.rmtree(data_dir, ignore_errors=True)
    shutil.rmtree(data_dir, ignore_errors=True)
    await server.close()
    wait_until_stopped(data_dir)
