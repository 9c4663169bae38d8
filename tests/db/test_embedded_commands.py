"""`kb-search server` from the outside: output, exit codes, errors."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kb_search.cli import main
from kb_search.servers import open_embedded_server
from tests.db.embedded_faults import UserProcess, processes_of, reachable_folder, wait_until_stopped

Run = Callable[..., Any]


@pytest.fixture(scope="module")
def warm_folder() -> Iterator[Path]:
    with reachable_folder() as folder:
        with UserProcess(folder / "data") as user:
            assert user.ask("open") == "cañón"
        wait_until_stopped(folder)
        yield folder / "data"


@pytest.fixture
def run(warm_folder, monkeypatch, capsys) -> Run:
    """Run `kb-search server …`; the exit code, the standard output and the standard error."""
    monkeypatch.setenv("KB_SEARCH_DATA_DIR", str(warm_folder))

    async def run_server(*arguments: str) -> tuple[int, str, str]:
        code = await asyncio.to_thread(main, ["server", *arguments])
        said = capsys.readouterr()
        return code, said.out, said.err

    return run_server


async def test_status_of_a_stopped_server(run, warm_folder):
    code, out, _ = await run("status")
    assert code == 0
    assert out.splitlines()[:2] == ["not running", f"data folder: {warm_folder}"]


async def test_status_as_json_names_every_field(run, warm_folder):
    async with await open_embedded_server(warm_folder) as server:
        code, out, _ = await run("status", "--json")
        status = json.loads(out)
        assert code == 0
        assert status["running"] is True
        assert status["user"] == server.user
        assert status["socket_dir"] == str(server.socket_dir)
        assert len(status["users"]) == 1


async def test_path_prints_the_folder_alone(run, warm_folder):
    assert await run("path") == (0, f"{warm_folder}\n", "")


async def test_stop_ends_with_2_while_the_server_is_in_use(run, warm_folder):
    assert (await run("stop"))[:2] == (0, "it was not running\n")
    async with await open_embedded_server(warm_folder):
        code, out, error = await run("stop")
        assert (code, out) == (2, "")
        assert "--force" in error
        assert (await run("stop", "--force"))[:2] == (0, "stopped\n")
    assert processes_of(warm_folder) == []


async def test_backup_and_restore_tell_what_they_did(run, tmp_path):
    file = tmp_path / "copia.dump"
    code, out, _ = await run("backup", str(file), "--json")
    assert (code, json.loads(out)) == (0, {"file": str(file), "bytes": file.stat().st_size})
    assert (await run("restore", str(file)))[:2] == (0, "restored\n")
    code, out, error = await run("restore", str(tmp_path / "absent"), "--json")
    assert code == 2
    assert json.loads(out)["error"]["type"] == "QueryError"
    assert "absent" in error


async def test_upgrade_of_current_data_ends_with_2(run):
    code, _, error = await run("upgrade")
    assert code == 2
    assert "nothing to carry over" in error


async def test_a_command_is_needed(run):
    assert (await run())[0] == 2
    assert (await run("backup"))[0] == 2
