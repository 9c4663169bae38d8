from __future__ import annotations

import os
from pathlib import Path

import pytest

from kb_search.documents import DocumentError, Found, walk


@pytest.fixture
def folder(tmp_path) -> Path:
    root = tmp_path / "docs"
    for name in (
        "a.md",
        "b/c.PDF",
        "b/d.txt",
        "b/e.py",
        "z.html",
        ".git/x.md",
        ".oculto.md",
        "node_modules/r.md",
        "~$a.docx",
    ):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("Hola.", encoding="utf-8")
    return root


def sources(*paths: Path, **options) -> list[str]:
    return [found.source for found in walk(paths, **options) if isinstance(found, Found)]


def errors(*paths: Path) -> dict[str, str]:
    return {e.path.name: e.reason for e in walk(paths) if isinstance(e, DocumentError)}


def test_files_that_can_be_read_come_folder_by_folder_in_the_order_of_names(folder):
    assert sources(folder) == ["a.md", "z.html", "b/c.PDF", "b/d.txt"]
    assert all(
        isinstance(found, Found) and found.path == folder / found.source for found in walk([folder])
    )


def test_a_file_given_itself_is_taken_whatever_its_name(folder):
    assert sources(folder / "b" / "e.py", folder / ".oculto.md") == ["e.py", ".oculto.md"]


def test_a_file_that_is_reached_twice_comes_once(folder):
    assert sources(folder / "a.md", folder, folder / "b") == [
        "a.md",
        "z.html",
        "b/c.PDF",
        "b/d.txt",
    ]


@pytest.mark.parametrize(
    ("patterns", "left"),
    [
        (["b/"], ["a.md", "z.html"]),
        (["*.md", "*.html"], ["b/c.PDF", "b/d.txt"]),
        (["/a.md", "d.*"], ["z.html", "b/c.PDF"]),
        (["**/*.txt"], ["a.md", "z.html", "b/c.PDF"]),
        (["*", "!a.md"], ["a.md"]),
        (["!.oculto.md"], [".oculto.md", "a.md", "z.html", "b/c.PDF", "b/d.txt"]),
    ],
)
def test_ignore_patterns_work_as_in_a_gitignore(folder, patterns, left):
    assert sources(folder, ignore=patterns) == left


def test_links_out_of_the_folder_are_errors_and_links_inside_it_are_passed_over(folder, tmp_path):
    (tmp_path / "fuera.md").write_text("secreto", encoding="utf-8")
    (tmp_path / "otra").mkdir()
    (folder / "fuera.md").symlink_to(tmp_path / "fuera.md")
    (folder / "otra").symlink_to(tmp_path / "otra", target_is_directory=True)
    (folder / "dentro.md").symlink_to(folder / "a.md")
    (folder / "vuelta").symlink_to(folder, target_is_directory=True)
    (folder / "rota.md").symlink_to(folder / "nada.md")
    (folder / "ciclo.md").symlink_to(folder / "ciclo.md")
    assert sources(folder) == ["a.md", "z.html", "b/c.PDF", "b/d.txt"]
    assert errors(folder) == {
        "fuera.md": "link that leads out of the folder: not followed",
        "otra": "link that leads out of the folder: not followed",
        "rota.md": "broken link",
        "ciclo.md": "broken link",
    }


def test_a_link_given_itself_is_followed(folder, tmp_path):
    (tmp_path / "enlace").symlink_to(folder, target_is_directory=True)
    assert sources(tmp_path / "enlace") == ["a.md", "z.html", "b/c.PDF", "b/d.txt"]


def test_paths_that_are_not_there_or_no_files_are_errors(folder, tmp_path):
    os.mkfifo(folder / "tubo.md")
    assert errors(tmp_path / "nada", folder / "tubo.md") == {
        "nada": "not found",
        "tubo.md": "not a regular file",
    }
    assert "tubo.md" not in sources(folder)


def test_a_folder_that_may_not_be_listed_is_an_error_and_the_rest_goes_on(folder, monkeypatch):
    scandir = os.scandir

    def refusing(path):
        if Path(path).name == "b":
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)
    assert sources(folder) == ["a.md", "z.html"]
    assert errors(folder) == {"b": "unreadable: no right to read it"}


def test_of_json_and_yaml_only_what_may_describe_an_api_is_taken(folder):
    (folder / "package.json").write_text('{"name": "x"}', encoding="utf-8")
    (folder / "ci.yml").write_text("on: push\n", encoding="utf-8")
    (folder / "api.json").write_text('{"info": {}, "openapi": "3.1.0"}', encoding="utf-8")
    (folder / "api.yaml").write_text("swagger: '2.0'\n", encoding="utf-8")
    assert sources(folder) == ["a.md", "api.json", "api.yaml", "z.html", "b/c.PDF", "b/d.txt"]
