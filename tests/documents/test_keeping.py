"""Files that come, change, move and go, and what is kept of them."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from kb_search import ConfigError, KnowledgeBase, QueryError
from kb_search.documents import Document, Found, read_many
from kb_search.ingest import run as ingest_run
from kb_search.ingest.keeping import keep_document
from tests.documents.making import manual_outline, write_docx

MANUAL = """# Manual

Para quien compra.

## Devoluciones

### Plazos

Treinta días naturales desde la entrega.

### Gastos

Los paga la tienda.

## Envíos

Llegan en dos días laborables.
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "manual.md").write_text(MANUAL, encoding="utf-8")
    (tmp_path / "notas").mkdir()
    (tmp_path / "notas" / "impresora.txt").write_text("El tóner se guarda en el sótano.")
    return tmp_path


def counts(report) -> tuple[int, int, int, int]:
    assert report.failed == ()
    return report.added, report.replaced, report.skipped, report.removed


async def sections(kb) -> dict[str, tuple[int, str, str]]:
    """Each section's id, text and time by its heading."""
    return {
        entry.title: (entry.id, entry.content, entry.updated_at) for entry in await kb.entries()
    }


async def test_a_section_is_an_entry_with_its_headings_and_its_place(kb, folder):
    assert counts(await kb.ingest(folder)) == (2, 0, 0, 0)
    (document,) = await kb.list_documents(source="manual.md")
    entries = [entry for entry in await kb.entries() if entry.document_id == document.id]
    assert [(entry.heading_path, entry.title, entry.position) for entry in entries] == [
        (("Manual",), "Manual", 0),
        (("Manual", "Devoluciones", "Plazos"), "Plazos", 2),
        (("Manual", "Devoluciones", "Gastos"), "Gastos", 3),
        (("Manual", "Envíos"), "Envíos", 4),
    ]
    assert {(entry.section, entry.source) for entry in entries} == {("Manual", "manual.md")}


async def test_what_has_not_changed_is_not_even_read(kb, folder, monkeypatch):
    await kb.ingest(folder)
    asked: list[object] = []

    def recording(paths, **options):
        asked.extend(paths)
        return read_many(paths, **options)

    monkeypatch.setattr(ingest_run, "read_many", recording)
    assert counts(await kb.ingest(folder)) == (0, 0, 2, 0)
    assert asked == []
    (folder / "notas" / "impresora.txt").write_text("El tóner está en el armario.")
    assert counts(await kb.ingest(folder)) == (0, 1, 1, 0)
    assert asked == [folder / "notas" / "impresora.txt"]


async def test_a_change_of_one_file_touches_one_document(kb, folder):
    await kb.ingest(folder)
    before = {document.source: document for document in await kb.list_documents()}
    kept = await sections(kb)
    (folder / "notas" / "impresora.txt").write_text("El tóner está en el armario.")
    await kb.ingest(folder)
    after = {document.source: document for document in await kb.list_documents()}
    assert after["manual.md"] == before["manual.md"]
    assert after["notas/impresora.txt"].id == before["notas/impresora.txt"].id
    assert after["notas/impresora.txt"].sha256 != before["notas/impresora.txt"].sha256
    now = await sections(kb)
    assert {title for title in now if now[title] != kept[title]} == {"impresora"}


async def test_sections_of_a_changed_file_stay_where_they_did_not_change(kb, folder):
    await kb.ingest(folder)
    before = await sections(kb)
    text = MANUAL.replace("Treinta días", "Sesenta días").replace("### Gastos", "### Costes")
    text = text.replace("## Devoluciones", "## Pagos\n\nCon tarjeta.\n\n## Devoluciones")
    (folder / "manual.md").write_text(text, encoding="utf-8")
    assert counts(await kb.ingest(folder)) == (0, 1, 1, 0)
    after = await sections(kb)
    assert after["Manual"] == before["Manual"]
    assert after["Plazos"][0] == before["Plazos"][0]
    assert after["Plazos"][1] == "Sesenta días naturales desde la entrega."
    assert after["Costes"][:2] == before["Gastos"][:2]
    assert after["Envíos"][:2] == before["Envíos"][:2]
    assert after["Pagos"][0] not in {identity for identity, _, _ in before.values()}
    assert "Gastos" not in after
    assert all(check.ok for check in await kb.doctor())


async def test_a_file_that_is_gone_stays_until_it_is_pruned(kb, folder):
    await kb.ingest(folder)
    (folder / "manual.md").unlink()
    assert counts(await kb.ingest(folder)) == (0, 0, 1, 0)
    assert len(await kb.list_documents()) == 2
    assert counts(await kb.ingest(folder, prune=True)) == (0, 0, 1, 1)
    assert [document.source for document in await kb.list_documents()] == ["notas/impresora.txt"]
    assert list(await sections(kb)) == ["impresora"]
    assert all(check.ok for check in await kb.doctor())


async def test_pruning_stays_below_the_paths_given(kb, folder):
    await kb.ingest(folder)
    (folder / "manual.md").unlink()
    assert counts(await kb.ingest(folder / "notas", prune=True)) == (0, 0, 1, 0)
    assert len(await kb.list_documents()) == 2


async def test_pruning_keeps_what_lies_below_a_place_that_cannot_be_looked_into(kb, folder):
    await kb.ingest(folder)
    (folder / "notas").rename(folder / "fuera")
    (folder / "notas").write_text("ahora es un fichero")
    report = await kb.ingest(folder / "notas" / "nada", prune=True)
    assert [(failure.reason, report.removed) for failure in report.failed] == [
        ("unreadable: Not a directory", 0)
    ]
    assert len(await kb.list_documents()) == 2


async def test_pruning_removes_what_is_ignored_now(kb, folder):
    await kb.ingest(folder)
    assert counts(await kb.ingest(folder, prune=True, ignore=["notas/"])) == (0, 0, 1, 1)


async def test_a_moved_file_is_the_same_document(kb, folder):
    await kb.ingest(folder)
    before = await sections(kb)
    (folder / "manual.md").rename(folder / "notas" / "guía.md")
    assert counts(await kb.ingest(folder, prune=True)) == (0, 1, 1, 0)
    (document,) = await kb.list_documents(source="notas/guía.md")
    assert document.path == str((folder / "notas" / "guía.md").resolve())
    after = await sections(kb)
    assert {title: after[title][:2] for title in after} == {
        title: before[title][:2] for title in before
    }
    assert {entry.source for entry in await kb.entries() if entry.document_id == document.id} == {
        "notas/guía.md"
    }


async def test_a_file_without_headings_takes_its_new_name_along(kb, folder):
    await kb.ingest(folder)
    (folder / "notas" / "impresora.txt").rename(folder / "notas" / "tóner.txt")
    await kb.ingest(folder)
    (document,) = await kb.list_documents(source="notas")
    assert (document.title, document.source) == ("tóner", "notas/tóner.txt")


async def test_a_copy_is_a_document_of_its_own(kb, folder):
    await kb.ingest(folder)
    (folder / "copia.md").write_text(MANUAL, encoding="utf-8")
    assert counts(await kb.ingest(folder)) == (1, 0, 2, 0)


async def test_a_folder_that_moved_as_a_whole_is_not_read_again(kb, folder, tmp_path_factory):
    await kb.ingest(folder)
    before = await kb.list_documents()
    elsewhere = tmp_path_factory.mktemp("otro") / "sitio"
    folder.rename(elsewhere)
    assert counts(await kb.ingest(elsewhere)) == (0, 0, 2, 0)
    after = await kb.list_documents()
    assert [(doc.id, doc.source, doc.updated_at) for doc in after] == [
        (doc.id, doc.source, doc.updated_at) for doc in before
    ]
    assert [doc.path for doc in after] == [str(elsewhere.resolve() / doc.source) for doc in after]


async def test_files_of_the_same_name_in_two_folders_are_two_documents(kb, tmp_path):
    for name in ("tienda", "almacén"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "leeme.md").write_text(f"# {name}\n\nNormas de {name}.\n")
    assert counts(await kb.ingest(tmp_path / "tienda", tmp_path / "almacén")) == (2, 0, 0, 0)
    sources = {document.source: document.title for document in await kb.list_documents()}
    # whichever came first has the short name
    assert sources in (
        {"leeme.md": "tienda", "almacén/leeme.md": "almacén"},
        {"leeme.md": "almacén", "tienda/leeme.md": "tienda"},
    )
    assert counts(await kb.ingest(tmp_path / "almacén")) == (0, 0, 1, 0)
    (tmp_path / "almacén" / "leeme.md").write_text("# almacén\n\nOtras normas.\n")
    assert counts(await kb.ingest(tmp_path / "tienda", tmp_path / "almacén")) == (0, 1, 1, 0)
    assert {document.source: document.title for document in await kb.list_documents()} == sources


async def test_a_file_given_twice_is_taken_once(kb, folder):
    assert counts(await kb.ingest(folder, folder / "manual.md", folder / ".")) == (2, 0, 0, 0)
    assert counts(await kb.ingest(folder / "notas" / ".." / "manual.md")) == (0, 0, 1, 0)


async def test_two_runs_at_once_keep_each_file_once(kb, dsn, collection, tmp_path):
    for number in range(12):
        (tmp_path / f"{number}.md").write_text(f"# Nota {number}\n\nTexto {number}.\n")
    async with KnowledgeBase.open(dsn=dsn, collection=collection) as other:
        one, two = await asyncio.gather(kb.ingest(tmp_path), other.ingest(tmp_path))
    assert one.failed == two.failed == ()
    assert one.added + two.added == 12
    assert one.skipped + two.skipped == 12
    assert len(await kb.list_documents()) == 12
    assert sorted(entry.title for entry in await kb.entries()) == sorted(
        f"Nota {number}" for number in range(12)
    )
    assert all(check.ok for check in await kb.doctor())


async def test_two_runs_at_once_follow_a_move_once(kb, dsn, collection, folder):
    await kb.ingest(folder)
    (folder / "manual.md").rename(folder / "guía.md")
    async with KnowledgeBase.open(dsn=dsn, collection=collection) as other:
        reports = await asyncio.gather(
            kb.ingest(folder, prune=True), other.ingest(folder, prune=True)
        )
    assert [report.removed + report.added for report in reports] == [0, 0]
    assert {document.source for document in await kb.list_documents()} == {
        "guía.md",
        "notas/impresora.txt",
    }


async def test_a_searcher_sees_the_old_text_or_the_new_never_a_mixture(
    kb, dsn, collection, tmp_path
):
    path = tmp_path / "tarifas.md"

    def write(version: str) -> None:
        path.write_text(
            "# Tarifas\n\n"
            + "\n\n".join(
                f"## Tarifa {number}\n\nEdición {version} de la tarifa, línea {number}."
                for number in range(40)
            ),
            encoding="utf-8",
        )

    seen: set[frozenset[str]] = set()
    writing = True

    async def search() -> None:
        async with KnowledgeBase.open(dsn=dsn, collection=collection) as reader:
            while writing:
                result = await reader.search("tarifa edición línea", limit=100)
                assert len(result.hits) == 40
                seen.add(frozenset(hit.content.split()[1] for hit in result.hits))
                (document,) = await reader.list_documents()
                text = (await reader.get_document(document.id)).text or ""
                editions = {line.split()[1] for line in text.splitlines() if "Edición" in line}
                assert len(editions) == 1

    write("v0")
    await kb.ingest(path)
    searchers = [asyncio.create_task(search()) for _ in range(2)]
    for number in range(1, 9):
        write(f"v{number}")
        assert counts(await kb.ingest(path)) == (0, 1, 0, 0)
    writing = False
    await asyncio.gather(*searchers)
    assert all(len(versions) == 1 for versions in seen)
    assert len(seen) > 1


async def test_a_run_that_was_overtaken_does_not_bring_the_document_twice(kb, folder):
    outcomes = [await keep(kb, folder, await read(folder), planned_for=None) for _ in range(2)]
    assert outcomes == ["added", "skipped"]


async def test_a_run_that_was_overtaken_does_not_bring_an_older_text_back(kb, folder):
    old = await read(folder)
    assert await keep(kb, folder, old, planned_for=None) == "added"
    (folder / "manual.md").write_text("# Manual\n\nEl segundo texto.\n")
    slow = await read(folder)
    (folder / "manual.md").write_text("# Manual\n\nEl tercer texto.\n")
    fast = await read(folder)
    assert await keep(kb, folder, fast, planned_for=old.sha256) == "replaced"
    assert await keep(kb, folder, slow, planned_for=old.sha256) == "skipped"
    assert (await sections(kb))["Manual"][1] == "El tercer texto."


async def read(folder) -> Document:
    ((_, document),) = [pair async for pair in read_many([folder / "manual.md"])]
    assert isinstance(document, Document)
    return document


async def keep(kb, folder, document: Document, *, planned_for: str | None) -> str:
    kept = await keep_document(
        kb.database,
        Found(folder / "manual.md", folder, "manual.md"),
        document,
        collection=kb.settings.collection,
        reading="x",
        planned_for=planned_for,
    )
    return kept.outcome


async def test_an_interrupted_run_keeps_what_it_had_and_goes_on_later(kb, tmp_path):
    for number in range(8):
        (tmp_path / f"{number}.md").write_text(f"# Nota {number}\n\nTexto.\n")

    def stop(done: int, _total: int) -> None:
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await kb.ingest(tmp_path, on_progress=stop)
    kept = len(await kb.list_documents())
    assert 3 <= kept < 8
    assert counts(await kb.ingest(tmp_path)) == (8 - kept, 0, kept, 0)


async def test_progress_is_told_in_files(kb, folder):
    told: list[tuple[int, int]] = []
    await kb.ingest(folder, on_progress=lambda done, total: told.append((done, total)))
    assert told == [(0, 2), (1, 2), (2, 2)]


async def test_a_dry_run_says_what_would_be_and_writes_nothing(kb, folder):
    await kb.ingest(folder / "notas" / "impresora.txt", folder / "manual.md")
    (folder / "nueva.md").write_text("# Nueva\n\nTexto.\n")
    (folder / "vacía.md").write_text("")
    (folder / "manual.md").write_text("# Manual\n\nOtro texto.\n")
    (folder / "notas" / "impresora.txt").unlink()
    before = await kb.list_documents(), await kb.entries()
    report = await kb.ingest(folder, prune=True, dry_run=True)
    assert (report.added, report.replaced, report.skipped, report.removed) == (1, 1, 0, 1)
    assert [failure.reason.split(":")[0] for failure in report.failed] == ["empty"]
    assert (await kb.list_documents(), await kb.entries()) == before


async def test_a_changed_file_that_cannot_be_read_keeps_its_old_text(kb, folder):
    await kb.ingest(folder)
    before = await sections(kb)
    (folder / "manual.md").write_bytes(b"")
    report = await kb.ingest(folder, prune=True)
    assert [failure.path for failure in report.failed] == [str(folder / "manual.md")]
    assert report.removed == 0
    assert await sections(kb) == before


async def test_bad_files_are_told_in_a_line_each_and_the_rest_goes_on(kb, folder, tmp_path_factory):
    (folder / "rota.pdf").write_bytes(b"%PDF-1.7\nnada")
    (folder / "falsa.docx").write_bytes(b"PK\x03\x04 no es un zip")
    (folder / "grande.txt").write_bytes(b"a" * 200_000)
    outside = tmp_path_factory.mktemp("fuera") / "ajeno.md"
    outside.write_text("# Ajeno\n\nTexto.\n")
    (folder / "enlace.md").symlink_to(outside)
    small = kb.settings.model_copy(update={"document_max_bytes": 100_000})
    async with KnowledgeBase.open(small) as limited:
        report = await limited.ingest(folder, folder / "nada.md")
    assert report.added == 2
    assert {Path(f.path).name: "\n" in f.reason for f in report.failed} == dict.fromkeys(
        ("rota.pdf", "falsa.docx", "grande.txt", "nada.md", "enlace.md"), False
    )


async def test_names_that_are_no_text_are_kept(kb, tmp_path):
    (tmp_path / os.fsdecode(b"se\xf1al.md")).write_text("# Señal\n\nTexto.\n", encoding="utf-8")
    assert counts(await kb.ingest(tmp_path)) == (1, 0, 0, 0)
    assert counts(await kb.ingest(tmp_path, prune=True)) == (0, 0, 1, 0)
    (document,) = await kb.list_documents()
    assert document.source == r"se\udcf1al.md"


async def test_texts_with_characters_that_no_database_holds_are_kept(kb, tmp_path):
    (tmp_path / "m.md").write_bytes(
        b'---\ntags: ["a\\u0000b"]\nalias: "a\\ud800b"\n---\n# A\n\nTexto.'
    )
    assert counts(await kb.ingest(tmp_path)) == (1, 0, 0, 0)


async def test_other_readers_read_an_unchanged_file_again(kb, tmp_path):
    path = write_docx(tmp_path / "m.docx", manual_outline(), text="Una frase larga. " * 100)
    await kb.ingest(path)
    before = len(await kb.entries())
    async with KnowledgeBase.open(
        kb.settings.model_copy(update={"document_section_chars": 1_000})
    ) as finer:
        assert counts(await finer.ingest(path)) == (0, 1, 0, 0)
        assert len(await finer.entries()) > before
        assert counts(await finer.ingest(path)) == (0, 0, 1, 0)


async def test_removing_a_document_lets_it_come_back(kb, folder):
    await kb.ingest(folder)
    (document,) = await kb.list_documents(source="manual.md")
    assert await kb.remove(document=document.id) == 4
    assert counts(await kb.ingest(folder)) == (1, 0, 1, 0)


async def test_collections_keep_the_same_file_apart(kb, folder, collection):
    other = f"{collection}-b"
    await kb.ingest(folder)
    assert counts(await kb.ingest(folder, collection=other)) == (2, 0, 0, 0)
    assert counts(await kb.ingest(folder / "notas", prune=True, ignore=["*"])) == (0, 0, 0, 1)
    assert len(await kb.list_documents(collection=other)) == 2
    await kb.remove(collection=other)


async def test_nothing_to_ingest_is_a_wrong_call(kb, folder):
    with pytest.raises(QueryError, match="name at least one"):
        await kb.ingest()
    with pytest.raises(QueryError, match="list of patterns"):
        await kb.ingest(folder, ignore="*.md")


async def test_a_large_document_is_written_in_batches(kb, tmp_path):
    path = tmp_path / "listado.md"
    path.write_text(
        "\n\n".join(f"# Apartado {number}\n\nTexto {number}." for number in range(1_203))
    )
    await kb.ingest(path)
    assert [entry.title for entry in await kb.entries()] == [f"Apartado {n}" for n in range(1_203)]


async def test_without_the_extra_the_error_says_how_to_get_it(kb, folder, monkeypatch):
    for name in [name for name in sys.modules if name.startswith("kb_search.ingest.run")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "kb_search.documents", None)
    with pytest.raises(ConfigError, match=r"pip install 'kb-search\[documents\]'"):
        await kb.ingest(folder)
    assert await kb.list_documents() == []
