"""The README's blocks are run; docs/testing.md tells by which rules."""

from __future__ import annotations

import ast
import asyncio
import contextlib
import inspect
import io
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path

import asyncpg
import pytest

from kb_search.settings import Settings

ROOT = Path(__file__).parent.parent.parent
README = ROOT / "README.md"
BLOCK = re.compile(
    r"^(?P<comment><!--[^\n]*-->\n)?```(?P<language>python|sql|sh)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
INSTALLS = ("python3 -m venv", "pip install")


@dataclass(frozen=True)
class Block:
    """`line` is that of the block's first line in the README, from 1."""

    language: str
    text: str
    line: int


def blocks_to_run() -> list[Block]:
    readme = README.read_text(encoding="utf-8")
    return [
        Block(found["language"], found["text"], readme.count("\n", 0, found.start("text")) + 1)
        for found in BLOCK.finditer(readme)
        if "not run:" not in (found["comment"] or "")
        and not any(word in found["text"] for word in INSTALLS)
    ]


@pytest.fixture
def folder(schema_database, tmp_path, monkeypatch) -> Path:
    """A working folder with the files that the README names, its database in the settings."""
    for name in ("examples", "schema.sql", "seed"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KB_SEARCH_DSN", schema_database)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    return tmp_path


def test_the_readme_shows_use_from_python_sql_and_the_shell():
    assert {block.language for block in blocks_to_run()} == {"python", "sql", "sh"}


async def test_every_block_of_the_readme_runs(folder, schema_database):
    names: dict[str, object] = {"__name__": "readme"}
    for block in blocks_to_run():
        where = f"README.md:{block.line}"
        if block.language == "python":
            printed = await run_python(block, names)
            for line in re.findall(r"#> (.*)", block.text):
                found = printed.find(line)
                assert found >= 0, f"{where}: {line!r} is not printed: {printed!r}"
                printed = printed[found + len(line) :]
        elif block.language == "sql":
            await run_sql(block, schema_database)
        else:
            code, output = await run_shell(block, folder)
            assert code == 0, f"{where}: exit code {code}: {output}"


async def run_python(block: Block, names: dict[str, object]) -> str:
    """What the block prints. It may await at its top level, as in `python -m asyncio`."""
    tree = ast.increment_lineno(ast.parse(block.text), block.line - 1)
    code = compile(tree, README, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        running = eval(code, names)
        if inspect.iscoroutine(running):
            await running
    return printed.getvalue()


async def run_sql(block: Block, dsn: str) -> None:
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(block.text)
    finally:
        await connection.close()


async def run_shell(block: Block, folder: Path) -> tuple[int, str]:
    process = await asyncio.create_subprocess_exec(
        *("bash", "-e", "-o", "pipefail", "-c", block.text),
        cwd=folder,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate()
    return process.returncode or 0, output.decode()


def test_the_readme_has_two_commands_of_one_line_each():
    commands = re.findall("^python3 -m venv .*", README.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(commands) == 2
    assert "kb-search ask" in commands[0]
    assert commands[1].endswith("pytest")


def test_the_readme_names_every_setting_and_none_that_is_not():
    named = set(re.findall(r"KB_SEARCH_([A-Z_]*[A-Z])", README.read_text(encoding="utf-8")))
    there = {name.upper() for name in Settings.model_fields}
    assert {name for name in named if not name.startswith("TEST_")} == there
