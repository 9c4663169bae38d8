from __future__ import annotations

import asyncio
import os
import signal
import sys
from contextlib import aclosing
from pathlib import Path

import pytest

from kb_search.documents import Document, DocumentError, many, read_many
from tests.documents.making import TEXT, write_docx, write_pdf


@pytest.fixture
def folder(tmp_path) -> Path:
    for number in range(6):
        (tmp_path / f"{number}.md").write_text(f"# Nota {number}\n\nTexto.\n", encoding="utf-8")
    return tmp_path


async def told(paths, **limits) -> list[tuple[str, str]]:
    """Each file's name with its title, or the reason why it has none."""
    return [
        (path.name, read.title if isinstance(read, Document) else read.reason)
        async for path, read in read_many(paths, **limits)
    ]


@pytest.fixture
def started(monkeypatch) -> list[asyncio.subprocess.Process]:
    """The processes that `read_many` has started."""
    start, processes = many._started, []

    async def recording(memory_bytes: int) -> asyncio.subprocess.Process:
        processes.append(await start(memory_bytes))
        return processes[-1]

    monkeypatch.setattr(many, "_started", recording)
    return processes


async def test_documents_come_in_the_order_of_their_paths(folder):
    paths = [folder / f"{number}.md" for number in (3, 0, 5, 1, 4, 2)]
    assert await told(paths) == [(path.name, f"Nota {path.stem}") for path in paths]


async def test_a_document_comes_back_whole(tmp_path):
    path = write_docx(tmp_path / "m.docx", [(1, "Envíos"), (2, "Plazos")])
    ((given, document),) = [pair async for pair in read_many([path])]
    assert given == path
    assert isinstance(document, Document)
    assert document.headings == (("Envíos",), ("Envíos", "Plazos"))
    assert document.sections[1].text == TEXT.strip()
    assert len(document.sha256) == 64


async def test_bad_files_are_errors_among_the_others(folder):
    (folder / "6.md").write_bytes(b"")
    paths = [folder / "0.md", folder / "6.md", folder / "nada.md", folder / "1.md"]
    titles = [title for _, title in await told(paths)]
    assert titles[0] == "Nota 0"
    assert titles[1].startswith("empty")
    assert titles[2] == "not found"
    assert titles[3] == "Nota 1"


async def test_names_that_are_no_text_are_read(tmp_path):
    name = os.fsdecode(b"se\xf1al.md")
    (tmp_path / name).write_text("# Señal\n\nTexto.\n", encoding="utf-8")
    assert await told([tmp_path / name]) == [(name, "Señal")]


@pytest.fixture
def fragile(tmp_path, monkeypatch) -> Path:
    """Reading processes that do what a file's name says instead of reading it."""
    package = tmp_path / "fragile"
    package.mkdir()
    (package / "sitecustomize.py").write_text(
        "import os, signal, time\n"
        "from kb_search.documents import reading\n"
        "read = reading.read_document\n"
        "def fragile(path, **limits):\n"
        "    if path.stem == 'crash': os.kill(os.getpid(), signal.SIGSEGV)\n"
        "    if path.stem == 'hang': signal.pause()\n"
        "    if path.stem == 'exit': os._exit(7)\n"
        "    if path.stem == 'greedy': bytearray(8 << 30)\n"
        "    if path.stem == 'chatty': os.write(1, b'x' * 100); print('hola')\n"
        "    return read(path, **limits)\n"
        "reading.read_document = fragile\n",
        encoding="utf-8",
    )
    monkeypatch.setattr(sys, "path", [str(package), *sys.path])
    for name in ("crash", "hang", "exit", "greedy", "chatty", "good"):
        (tmp_path / f"{name}.md").write_text(f"# {name}\n\nTexto.\n", encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("crash", f"reading it ended in a crash ({signal.SIGSEGV.name})"),
        ("exit", "reading it ended in a crash (exit code 7)"),
        ("hang", "reading it took longer than 6 s"),
        ("chatty", "chatty"),
    ],
)
async def test_a_process_that_crashes_or_hangs_costs_one_file(fragile, name, reason):
    paths = [fragile / "good.md", fragile / f"{name}.md", fragile / "good.md", fragile / "good.md"]
    read = await told(paths, workers=1, timeout_s=6)
    assert [title for _, title in read] == ["good", reason, "good", "good"]


async def test_a_file_that_takes_too_much_memory_costs_one_file(fragile):
    paths = [fragile / "greedy.md", fragile / "good.md"]
    read = await told(paths, workers=1, memory_bytes=1 << 30)
    assert [title for _, title in read] == ["reading it ended in a crash (exit code 1)", "good"]


async def test_no_process_is_left_when_the_caller_leaves_early(folder, started):
    async with aclosing(read_many(sorted(folder.glob("*.md")))) as reading:
        await anext(reading)
        assert len(started) == 2
    assert all(process.returncode is not None for process in started)


async def test_one_process_reads_many_files(folder, started):
    assert len(await told(sorted(folder.glob("*.md")), workers=1)) == 6
    assert len(started) == 1
    assert started[0].returncode is not None


async def test_a_large_caller_makes_no_reading_process_end_early(folder, started):
    ballast = b"x" * 450_000_000
    assert len(await told(sorted(folder.glob("*.md")), workers=1)) == 6
    assert len(started) == 1
    assert ballast


async def test_a_process_that_reads_files_knows_no_secret(folder, monkeypatch):
    monkeypatch.setenv("KB_SEARCH_DSN", "postgresql://me:secreto@a/b")
    monkeypatch.setenv("PGPASSWORD", "secreto")
    start, environments = asyncio.create_subprocess_exec, []

    async def recording(*command, **options):
        environments.append(options["env"])
        return await start(*command, **options)

    monkeypatch.setattr(asyncio, "create_subprocess_exec", recording)
    assert len(await told(folder.iterdir(), workers=1)) == 6
    (environment,) = environments
    assert "PATH" in environment
    assert "secreto" not in "".join(environment.values())


async def test_no_more_files_are_read_ahead_than_twice_the_processes(folder):
    taken: list[Path] = []

    def paths():
        for path in sorted(folder.glob("*.md")):
            taken.append(path)
            yield path

    async with aclosing(read_many(paths(), workers=1)) as reading:
        await anext(reading)
        assert len(taken) == 2


async def test_modules_in_the_working_folder_are_not_imported(folder, monkeypatch):
    (folder / "docx.py").write_text("raise SystemExit('run')", encoding="utf-8")
    path = write_docx(folder / "m.docx", [(1, "Envíos")])
    monkeypatch.chdir(folder)
    assert await told([path]) == [("m.docx", "Envíos")]


async def test_two_processes_read_a_mixed_folder(tmp_path):
    for number in range(4):
        write_docx(tmp_path / f"{number}.docx", [(1, f"Uno {number}")])
        write_pdf(tmp_path / f"{number}.pdf", [(1, f"Dos {number}")])
    read = dict(await told(sorted(tmp_path.iterdir())))
    assert read["3.docx"] == "Uno 3"
    assert read["3.pdf"] == "Dos 3"
    assert len(read) == 8


async def test_reading_nothing_gives_nothing():
    assert [pair async for pair in read_many([])] == []


def test_an_error_is_of_the_packages_own_tree():
    error = DocumentError("too large", path="m.txt")
    assert (error.reason, str(error)) == ("too large", "m.txt: too large")
