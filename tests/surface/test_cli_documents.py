"""`ingest`, `documents`, `document` and `section` on the command line."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.documents.corpus import write_api
from tests.surface.command_line import CommandLine

MANUAL = "---\ntags: [tienda]\n---\n# Manual\n\n## Devoluciones\n\nTreinta días.\n\n## Envíos\n\nDos días.\n"


@pytest.fixture
def run(capsys, clean_environment, dsn, collection) -> Iterator[CommandLine]:
    command = CommandLine(capsys, "--dsn", dsn, "--collection", collection, "--json")
    yield command
    command("remove")


@pytest.fixture
def told(capsys, clean_environment, dsn, collection) -> CommandLine:
    """The same without JSON, for people."""
    return CommandLine(capsys, "--dsn", dsn, "--collection", collection)


@pytest.fixture
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("textos")
    (made / "manual.md").write_text(MANUAL, encoding="utf-8")
    (made / "nota.txt").write_text("Una nota sobre el almacén.")
    return made


def ids(run: CommandLine, *filters: str) -> dict[str, int]:
    """The ids of the documents that are listed, by their source."""
    listed = run("documents", *filters).document["documents"]
    return {document["source"]: document["id"] for document in listed}


def test_ingest_counts_files(run, folder):
    answer = run("ingest", folder)
    assert (answer.code, answer.document) == (
        0,
        {"added": 2, "replaced": 0, "skipped": 0, "removed": 0, "failed": []},
    )
    (folder / "nota.txt").write_text("Otra nota.")
    (folder / "manual.md").rename(folder / "guía.md")
    assert run("ingest", folder, "--prune").document == {
        "added": 0,
        "replaced": 2,
        "skipped": 0,
        "removed": 0,
        "failed": [],
    }
    (folder / "nota.txt").unlink()
    assert run("ingest", folder, "--dry-run", "--prune").document["removed"] == 1
    assert run("ingest", folder, "--prune").document["removed"] == 1
    assert run("ingest", folder, "--prune").document == {
        "added": 0,
        "replaced": 0,
        "skipped": 1,
        "removed": 0,
        "failed": [],
    }


def test_part_of_the_input_failing_ends_with_four(run, told, folder):
    (folder / "rota.pdf").write_bytes(b"%PDF-1.7\n")
    answer = run("ingest", folder, folder / "nada.md")
    assert answer.code == 4
    assert answer.document["added"] == 2
    assert {failure["path"] for failure in answer.document["failed"]} == {
        str(folder / "rota.pdf"),
        str(folder / "nada.md"),
    }
    assert all(failure.keys() == {"path", "reason"} for failure in answer.document["failed"])
    for_people = told("ingest", folder)
    assert for_people.code == 4
    assert str(folder / "rota.pdf") in for_people.err
    assert for_people.out == "0 files added, 0 replaced, 2 skipped, 0 removed, 1 failed\n"


def test_patterns_are_ignored(run, folder):
    assert run("ingest", folder, "--ignore", "*.txt").document["added"] == 1
    assert run("ingest", folder, "--ignore", "nota*", "--ignore", "*.md").document["added"] == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "name at least one file or folder"),
        (("--watch",), "--watch never ends"),
        (("--retag",), "KB_SEARCH_TAGGER_URL"),
    ],
)
def test_wrong_usage_ends_with_two(run, arguments, said):
    answer = run("ingest", *arguments)
    assert answer.code == 2
    assert said in answer.error["message"]


def test_documents_are_listed_and_filtered(run, told, folder):
    run("ingest", folder)
    listed = run("documents").document["documents"]
    assert {(one["source"], one["title"], one["sections"]) for one in listed} == {
        ("manual.md", "Manual", 2),
        ("nota.txt", "nota", 1),
    }
    assert ids(run, "--tag", "tienda").keys() == {"manual.md"}
    assert ids(run, "--untagged").keys() == {"manual.md", "nota.txt"}
    assert "manual.md\tManual\t2 sections\t[tienda]" in told("documents").out


def test_a_document_and_its_outline_are_shown(run, told, folder):
    run("ingest", folder)
    identity = ids(run)["manual.md"]
    whole = run("document", identity).document
    assert whole["text"] == "# Manual\n\n## Devoluciones\n\nTreinta días.\n\n## Envíos\n\nDos días."
    outline = run("document", identity, "--outline").document
    assert outline["text"] is None
    (manual,) = outline["headings"]
    assert [child["title"] for child in manual["children"]] == ["Devoluciones", "Envíos"]
    assert told("document", identity).out.strip() == whole["text"]
    shown = told("document", identity, "--outline").out
    assert f"  Envíos  (section {manual['children'][1]['section_id']})" in shown
    missing = run("document", 2**62)
    assert (missing.code, missing.error["type"]) == (2, "NotFound")


def test_a_section_is_shown_with_its_neighbours(run, told, folder):
    run("ingest", folder)
    hit = run("ask", "cuánto", "tardan", "los", "envíos").document["hits"][0]
    assert hit["heading_path"] == ["Manual", "Envíos"]
    view = run("section", hit["id"]).document
    assert view["section"]["content"] == "Dos días."
    assert [one["title"] for one in view["before"]] == ["Devoluciones"]
    assert view["after"] == []
    assert view["document"]["source"] == "manual.md"
    assert run("section", hit["id"], "--neighbours", 0).document["before"] == []
    assert "manual.md, 2: Manual > Envíos" in told("section", hit["id"]).out
    assert run("section", hit["id"], "--neighbours", -1).code == 2


def test_the_schema_of_an_operation_is_shown_on_demand(run, told, folder):
    write_api(folder / "api.json")
    run("ingest", folder / "api.json")
    hit = run("ask", "archivar un albarán").document["hits"][0]
    schema = run("section", hit["id"], "--schema").document["schema"]
    assert (schema["method"], schema["path"]) == ("POST", "/albaranes/{id}/archivo")
    assert json.loads(told("section", hit["id"], "--schema").out) == schema


def test_questions_are_narrowed_to_documents(run, folder):
    run("ingest", folder)
    of = ids(run)
    answer = run("ask", "nota devoluciones envíos", "--document", of["nota.txt"]).document
    assert {hit["document_id"] for hit in answer["hits"]} == {of["nota.txt"]}
    answer = run("ask", "nota devoluciones envíos", "--one-per-document").document
    assert sorted(hit["document_id"] for hit in answer["hits"]) == sorted(of.values())


def test_several_apis_are_listed_before_their_operations(run, told, folder):
    write_api(folder / "a.json", "API de ventas")
    write_api(folder / "b.json", "API del taller")
    run("ingest", folder)
    answer = run("ask", "crear un cliente nuevo").document
    assert {one["title"] for one in answer["documents"]} == {"API de ventas", "API del taller"}
    shown = told("ask", "crear un cliente nuevo").out
    assert shown.index("API del taller") < shown.index("1. Crear un cliente")
    assert "documents" not in run("ask", "treinta días").document


def test_stats_tell_of_the_documents(run, told, folder):
    run("ingest", folder)
    answer = run("stats").document
    assert answer["collections"][0]["documents"] == 2
    (corpus,) = answer["documents"]
    assert (corpus["documents"], corpus["sections"], corpus["tags"]) == (2, 3, {"tienda": 1})
    assert "mimes: text/markdown 1, text/plain 1" in told("stats").out


def test_watching_ingests_what_changes_until_it_is_interrupted(dsn, collection, folder, run):
    command = [sys.executable, "-m", "kb_search", "--dsn", dsn, "--collection", collection]
    with subprocess.Popen(
        [*command, "ingest", "--watch", "--prune", folder],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ,
    ) as watching:
        assert watching.stdout is not None
        lines = iter(watching.stdout.readline, "")
        assert next(lines) == "2 files added, 0 replaced, 0 skipped, 0 removed, 0 failed\n"
        (folder / "nueva.md").write_text("# Nueva\n\nTexto.\n")
        assert next(lines) == "1 file added, 0 replaced, 2 skipped, 0 removed, 0 failed\n"
        (folder / "nota.txt").unlink()
        assert next(lines) == "0 files added, 0 replaced, 2 skipped, 1 removed, 0 failed\n"
        watching.send_signal(signal.SIGINT)
        assert watching.wait() == 130
    assert ids(run).keys() == {"manual.md", "nueva.md"}
