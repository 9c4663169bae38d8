"""Vectors of documents: kept where a section stays, and narrowed as words are."""

from __future__ import annotations

import pytest

TEXT = """# Manual

Para quien compra.

## Devoluciones

Treinta días naturales.

## Envíos

Llegan en dos días.
"""


@pytest.fixture
async def manual(kb, collection, tmp_path):
    path = tmp_path / "manual.md"
    path.write_text(TEXT, encoding="utf-8")
    await kb.ingest(path)
    await kb.embed(collection=collection)
    return path


async def test_only_the_section_that_changed_is_embedded_again(kb, collection, embedder, manual):
    embedder.texts.clear()
    text = TEXT.replace("## Devoluciones", "## Pagos\n\nCon tarjeta.\n\n## Devoluciones")
    manual.write_text(text.replace("Treinta", "Sesenta"), encoding="utf-8")
    assert (await kb.ingest(manual)).replaced == 1
    report = await kb.embed(collection=collection)
    assert report.entries == 2
    assert not any("Llegan en dos días." in text for text in embedder.passages())
    assert any("Sesenta días" in text for text in embedder.passages())


async def test_a_file_that_moved_keeps_its_vectors(kb, collection, manual):
    manual.rename(manual.with_name("guía.md"))
    assert (await kb.ingest(manual.parent)).replaced == 1
    assert (await kb.embed(collection=collection)).entries == 0


async def test_meaning_is_narrowed_to_documents_and_to_one_section_of_each(
    kb, collection, manual, tmp_path
):
    other = tmp_path / "otro.md"
    other.write_text(TEXT.replace("Manual", "Catálogo"), encoding="utf-8")
    await kb.ingest(other)
    await kb.embed(collection=collection)
    first, second = (document.id for document in await kb.list_documents())
    found = await kb.search("devoluciones", mode="semantic", documents=[second], limit=10)
    assert {hit.document_id for hit in found.hits if hit.score is not None} == {second}
    one = await kb.search("devoluciones", mode="hybrid", one_per_document=True, limit=10)
    assert sorted(hit.document_id for hit in one.hits if hit.score is not None) == [first, second]
