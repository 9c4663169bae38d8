"""A folder of every kind of file, through ingest, search and reading back."""

from __future__ import annotations

import json

import docx
import openpyxl
import pptx
import pytest
import yaml

from kb_search import Entry, KnowledgeBase, NotFound, QueryError
from tests.documents.corpus import (
    ASPECTS,
    SUBJECTS,
    api_description,
    note_name,
    write_api,
    write_notes,
)
from tests.documents.making import manual_outline, tree, write_docx, write_pdf

HTML = """<html lang="es"><head><title>Ayuda</title></head><body><main><h1>Ayuda</h1>
<h2>Cuenta</h2><p>La contraseña se cambia en el perfil.</p>
<h2>Avisos</h2><p>Los avisos llegan por correo.</p></main></body></html>"""

MARKDOWN = """---
title: Guía de envíos
tags: [logística, península]
aliases: [portes y plazos]
summary: Cuánto tarda y cuánto cuesta un paquete.
---
# Guía de envíos

## Península

### Plazo exprés

El paquete exprés llega antes de las diez.

## Islas

Los paquetes a Canarias pasan por la aduana.
"""


@pytest.fixture(scope="module")
def every_kind(tmp_path_factory):
    """A folder with a file of each kind."""
    folder = tmp_path_factory.mktemp("todo")
    (folder / "guia.md").write_text(MARKDOWN, encoding="utf-8")
    (folder / "ayuda.html").write_text(HTML, encoding="utf-8")
    (folder / "acta.txt").write_text(
        "ACUERDOS\n========\n\nSe compra una cafetera nueva.\n".encode("cp1252").decode("cp1252")
    )
    document = docx.Document()
    document.add_heading("Reglamento", level=1)
    document.add_heading("Vacaciones", level=2)
    document.add_paragraph("Cada persona tiene veintitrés jornadas de descanso.")
    document.save(str(folder / "reglamento.docx"))
    write_pdf(folder / "manual.pdf", [(1, "Caldera"), (2, "Purgado del circuito")], bookmarks=True)
    book = openpyxl.Workbook()
    sheet = book.create_sheet("Dudas", 0)
    sheet.append(["Pregunta", "Respuesta"])
    sheet.append(["¿Hacéis factura con recargo?", "Sí, indicando el régimen."])
    sheet.append(["¿Abrís los domingos?", "Solo en diciembre."])
    book.save(folder / "faq.xlsx")
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[1])
    slide.shapes.title.text = "Objetivos del trimestre"
    slide.placeholders[1].text_frame.text = "Abrir dos tiendas en Galicia."
    deck.save(folder / "plan.pptx")
    write_api(folder / "gestion.json")
    small = api_description("API de reservas")
    small["paths"] = {
        "/mesas/{id}/bloqueo": {
            "post": {"summary": "Bloquear una mesa", "operationId": "bloquearMesa", "responses": {}}
        }
    }
    (folder / "reservas.yaml").write_text(yaml.safe_dump(small, allow_unicode=True))
    return folder


@pytest.mark.parametrize(
    ("question", "source", "heading_path"),
    [
        (
            "paquete exprés a la península",
            "guia.md",
            ("Guía de envíos", "Península", "Plazo exprés"),
        ),
        ("cambiar la contraseña", "ayuda.html", ("Ayuda", "Cuenta")),
        ("quién acordó la cafetera", "acta.txt", ("ACUERDOS",)),
        (
            "cuántas jornadas de descanso por vacaciones",
            "reglamento.docx",
            ("Reglamento", "Vacaciones"),
        ),
        ("purgado de la caldera", "manual.pdf", ("Caldera", "Purgado del circuito")),
        ("¿abrís el domingo?", "faq.xlsx", ("Dudas", "¿Abrís los domingos?")),
        ("tiendas en Galicia", "plan.pptx", ("Objetivos del trimestre",)),
        (
            "archivar un albarán",
            "gestion.json",
            ("API de gestión", "Archivar un albarán (POST /albaranes/{id}/archivo)"),
        ),
        (
            "bloquear una mesa",
            "reservas.yaml",
            ("API de reservas", "Bloquear una mesa (POST /mesas/{id}/bloqueo)"),
        ),
    ],
)
async def test_each_kind_of_file_is_found_by_its_headings_and_read_back(
    kb, every_kind, question, source, heading_path
):
    report = await kb.ingest(every_kind)
    assert (report.added, report.failed) == (9, ())
    first = (await kb.search(question)).hits[0]
    assert (first.source, first.heading_path) == (source, heading_path)
    view = await kb.get_section(first.id)
    assert view.section.content == first.content
    assert view.document.source == source
    document = await kb.get_document(first.document_id)
    assert first.content in document.text
    assert first.section == document.title
    headings = document.headings
    for title in heading_path:
        (heading,) = [one for one in headings if one.title == title]
        headings = heading.children
    assert (heading.section_id, heading.position) == (first.id, first.position)


@pytest.mark.parametrize("kind", ["docx", "pdf", "bookmarks"])
async def test_a_document_of_over_thirty_headings_comes_back_with_its_exact_tree(
    kb, tmp_path, kind
):
    outline = manual_outline()
    if kind == "docx":
        path = write_docx(tmp_path / "m.docx", outline)
    else:
        path = write_pdf(tmp_path / "m.pdf", outline, bookmarks=kind == "bookmarks")
    await kb.ingest(path)
    (info,) = await kb.list_documents()
    document = await kb.get_document(info.id)
    paths: list[tuple[str, ...]] = []

    def walk(headings, above: tuple[str, ...]) -> None:
        for heading in headings:
            paths.append((*above, heading.title))
            walk(heading.children, paths[-1])

    walk(document.headings, ())
    assert len(paths) == 35
    assert tuple(paths) == tree(outline)
    assert [entry.heading_path for entry in await kb.entries()] == paths


async def test_the_whole_text_has_the_headings_in_their_levels(kb, tmp_path):
    (tmp_path / "m.md").write_text(
        "Antes de todo.\n\n# Uno\n\n## Dos\n\nTexto dos.\n\n## Tres\n\n### Cuatro\n\nTexto cuatro.\n"
        "\n# Cinco\n"
    )
    await kb.ingest(tmp_path)
    (info,) = await kb.list_documents()
    document = await kb.get_document(info.id)
    assert document.text == (
        "# m\n\nAntes de todo.\n\n# Uno\n\n## Dos\n\nTexto dos.\n\n## Tres\n\n### Cuatro\n\n"
        "Texto cuatro.\n\n# Cinco"
    )
    bare = await kb.get_document(info.id, with_text=False)
    assert bare.text is None
    assert bare.headings == document.headings


async def test_the_parts_of_a_long_section_are_neighbours(kb, tmp_path):
    (tmp_path / "m.md").write_text(
        "# Largo\n\n" + "\n\n".join(f"Párrafo {n}. " + "Sigue el texto. " * 30 for n in range(60))
    )
    await kb.ingest(tmp_path)
    entries = await kb.entries()
    assert {entry.heading_path for entry in entries} == {("Largo",)}
    assert [entry.metadata["part"] for entry in entries] == list(range(1, len(entries) + 1))
    view = await kb.get_section(entries[1].id)
    assert [entry.id for entry in view.before] == [entries[0].id]
    assert [entry.id for entry in view.after] == [entries[2].id]
    wide = await kb.get_section(entries[1].id, 100)
    assert [e.id for e in (*wide.before, wide.section, *wide.after)] == [e.id for e in entries]
    alone = await kb.get_section(entries[1].id, neighbours=0)
    assert (alone.before, alone.after) == ((), ())


async def test_neighbours_are_those_of_the_same_document(kb, every_kind):
    await kb.ingest(every_kind / "guia.md", every_kind / "ayuda.html")
    (document,) = await kb.list_documents(source="guia.md")
    first = min(entry.id for entry in await kb.entries() if entry.document_id == document.id)
    view = await kb.get_section(first, 5)
    assert view.before == ()
    assert [entry.heading_path[-1] for entry in view.after] == ["Islas"]


async def test_an_operation_is_given_whole_on_demand(kb, every_kind):
    await kb.ingest(every_kind / "gestion.json")
    (hit, *_) = (await kb.search("archivar un albarán")).hits
    assert "operation" not in hit.metadata
    assert (hit.metadata["method"], hit.metadata["path"]) == ("POST", "/albaranes/{id}/archivo")
    view = await kb.get_section(hit.id, with_schema=True)
    assert view.schema is not None
    assert view.schema["operation"]["summary"] == "Archivar un albarán"
    assert view.schema["references"].keys() == {"#/components/schemas/albaranes"}
    assert (await kb.get_section(hit.id)).schema is None


async def test_only_an_operation_has_a_schema(kb, every_kind):
    await kb.ingest(every_kind / "guia.md")
    entry = (await kb.entries())[0]
    with pytest.raises(QueryError, match="no operation"):
        await kb.get_section(entry.id, with_schema=True)


async def test_what_is_not_there_is_not_found(kb):
    (curated,) = await kb.add([Entry(section="faq", title="Horario", content="De nueve a dos.")])
    with pytest.raises(NotFound, match="no section of a document"):
        await kb.get_section(curated)
    for missing in (-1, 10**20):
        with pytest.raises(NotFound):
            await kb.get_document(missing)
        with pytest.raises(NotFound):
            await kb.get_section(missing)


async def test_documents_are_listed_by_tag_type_place_and_title(kb, every_kind, tmp_path):
    (tmp_path / "bajo").mkdir()
    (tmp_path / "bajo" / "b.md").write_text("---\ntags: [logística]\n---\nTexto.\n")
    (tmp_path / "bajos.md").write_text("# Los envíos\n\nTexto.\n")
    await kb.ingest(every_kind / "guia.md", every_kind / "ayuda.html", tmp_path)

    async def sources(**filters) -> set[str]:
        return {document.source for document in await kb.list_documents(**filters)}

    assert await sources() == {"guia.md", "ayuda.html", "bajos.md", "bajo/b.md"}
    assert await sources(tags=["logística"]) == {"guia.md", "bajo/b.md"}
    assert await sources(tags=["logística", "península"]) == {"guia.md"}
    assert await sources(mime="text/html") == {"ayuda.html"}
    assert await sources(source="bajo") == await sources(source="bajo/") == {"bajo/b.md"}
    assert await sources(title="ENVIOS") == {"guia.md", "bajos.md"}
    assert await sources(title="envíos guía") == {"guia.md"}
    assert await sources(tagged=True) == {"guia.md"}
    every = await kb.list_documents()
    assert [document.id for document in every] == sorted(document.id for document in every)
    assert await kb.list_documents(after_id=every[0].id, limit=2) == every[1:3]
    with pytest.raises(QueryError):
        await kb.list_documents(limit=-1)


async def test_the_corpus_is_counted(kb, every_kind):
    await kb.ingest(every_kind / "guia.md", every_kind / "ayuda.html")
    stats = await kb.corpus_stats()
    assert (stats.documents, stats.sections, stats.untagged) == (2, 4, 1)
    assert dict(stats.mimes) == {"text/html": 1, "text/markdown": 1}
    assert dict(stats.tags) == {"logística": 1, "península": 1}
    assert stats.content_words == sum(len(e.content.split()) for e in await kb.entries())
    (whole,) = await kb.stats(collection=kb.settings.collection)
    assert (whole.documents, whole.entries, dict(whole.sections)) == (2, 4, {})


async def test_front_matter_is_searched_and_comes_with_the_hits(kb, every_kind):
    await kb.ingest(every_kind)
    for question in ("logística", "portes y plazos", "cuánto cuesta un paquete"):
        hit = (await kb.search(question)).hits[0]
        assert hit.source == "guia.md"
        assert hit.tags == ("logística", "península")
        assert hit.metadata["summary"] == "Cuánto tarda y cuánto cuesta un paquete."
    tagged = await kb.search("paquetes", tags=["península"])
    assert {hit.source for hit in tagged.hits if hit.score is not None} == {"guia.md"}


async def test_a_section_is_found_by_the_title_of_its_document(kb, tmp_path):
    for name in ("Caldera Vaillant", "Lavadora Balay"):
        (tmp_path / f"{name}.md").write_text(
            f"---\ntitle: Manual de la {name.lower()}\n---\n## Puesta en marcha\n\nPulse el botón.\n"
            "\n## Averías\n\nLlame al servicio técnico.\n"
        )
    await kb.ingest(tmp_path)
    for name in ("caldera", "lavadora"):
        hit = (await kb.search(f"averías de la {name}")).hits[0]
        assert (hit.section, hit.title) == (
            f"Manual de la {name} {'vaillant' if name == 'caldera' else 'balay'}",
            "Averías",
        )
        assert hit.heading_path == ("Averías",)


async def test_a_search_is_narrowed_to_documents(kb, every_kind):
    await kb.ingest(every_kind / "guia.md", every_kind / "ayuda.html")
    ids = {document.source: document.id for document in await kb.list_documents()}
    result = await kb.search("avisos por correo y paquetes", documents=[ids["guia.md"]])
    assert {hit.source for hit in result.hits} == {"guia.md"}
    assert (await kb.search("avisos", documents=[])).hits == ()
    both = await kb.search("avisos paquetes", documents=list(ids.values()))
    assert {hit.source for hit in both.hits} == {"guia.md", "ayuda.html"}
    slip = await kb.search("contrasenia", documents=[ids["ayuda.html"]])
    assert {hit.source for hit in slip.hits} == {"ayuda.html"}
    assert (await kb.search("avisos", documents=[10**20])).hits == ()
    for wrong in ("1", [True], ["1"]):
        with pytest.raises(QueryError):
            await kb.search("avisos", documents=wrong)


async def test_one_hit_a_document_is_its_best_section(kb, tmp_path):
    for name in ("uno", "dos", "tres"):
        (tmp_path / f"{name}.md").write_text(
            f"# Garantía\n\nGarantía de {name}.\n\n# Otra garantía\n\nLa garantía sigue.\n"
        )
    await kb.ingest(tmp_path)
    await kb.add(
        [
            Entry(section="faq", title="Garantía ampliada", content="Cinco años."),
            Entry(section="faq", title="Garantía legal", content="Tres años."),
        ]
    )
    every = await kb.search("garantía", limit=20)
    assert len([hit for hit in every.hits if hit.document_id]) == 6
    one = await kb.search("garantía", limit=20, one_per_document=True)
    documents = [hit.document_id for hit in one.hits if hit.document_id]
    assert len(documents) == len(set(documents)) == 3
    assert len([hit for hit in one.hits if hit.document_id is None]) == 2
    best: dict[int, int] = {}
    for hit in every.hits:
        best.setdefault(hit.document_id or -hit.id, hit.id)
    assert {hit.id for hit in one.hits} == set(best.values())


async def test_three_hundred_tagged_notes_are_found_by_tag_title_and_phrase(kb, tmp_path):
    pairs = write_notes(tmp_path)
    assert (await kb.ingest(tmp_path)).added == 300
    for subject, aspect in pairs[::7]:
        tag, word = SUBJECTS[subject]
        aspect_tag, phrase = ASPECTS[aspect]
        hit = (await kb.search(f"qué notas hay de {tag} y {aspect_tag}")).hits[0]
        assert {tag, aspect_tag} <= set(hit.tags)
        name = note_name(subject, aspect)
        for question in (
            f"¿qué apunté de {subject.lower()} en {aspect.lower()}?",
            f"{phrase} por el {word}",
        ):
            assert (await kb.search(question)).hits[0].source == name, question


@pytest.mark.parametrize("title", ["API de gestión", "API de clientes"])
async def test_the_right_one_of_several_hundred_operations_is_found(kb, tmp_path, title):
    write_api(tmp_path / "gestion.json", title)
    await kb.ingest(tmp_path)
    (document,) = await kb.list_documents()
    assert document.metadata["operations"] == 350
    for question, call in (
        ("crear un cliente nuevo", "POST /clientes"),
        ("dar de alta un proveedor", "POST /proveedores"),
        ("borrar un pedido", "DELETE /pedidos/{id}"),
        ("añadir una nota a una factura", "POST /facturas/{id}/notas"),
        ("postIncidenciasImportacion", "POST /incidencias/importacion"),
    ):
        result = await kb.search(question)
        calls = [f"{hit.metadata.get('method')} {hit.metadata.get('path')}" for hit in result.hits]
        assert call in calls[:4], question
        assert result.documents == ()


@pytest.fixture
async def two_apis(kb, tmp_path) -> KnowledgeBase:
    write_api(tmp_path / "ventas.json", "API de ventas")
    write_api(tmp_path / "taller.json", "API del taller")
    (tmp_path / "guia.md").write_text("# Cobros\n\nLos cobros se giran el día cinco.\n")
    await kb.ingest(tmp_path)
    return kb


async def test_where_several_apis_answer_and_none_is_named_they_are_listed_first(two_apis):
    result = await two_apis.search("crear un cliente nuevo")
    assert {document.title for document in result.documents} == {"API de ventas", "API del taller"}
    operations = [hit for hit in result.hits if hit.score is not None]
    assert {(hit.section, hit.metadata["path"]) for hit in operations} == {
        ("API de ventas", "/clientes"),
        ("API del taller", "/clientes"),
    }
    assert len(operations) == 2
    text = result.to_context()
    assert text.index("API de ventas") < text.index("⟦entrada [1]")
    assert "pregunta cuál" in text


async def test_a_question_that_names_its_api_or_asks_of_one_gets_operations(two_apis):
    named = await two_apis.search("crear un cliente nuevo en el taller")
    assert named.documents == ()
    assert named.hits[0].section == "API del taller"
    (ventas,) = await two_apis.list_documents(source="ventas.json")
    one = await two_apis.search("crear un cliente nuevo", documents=[ventas.id])
    assert one.documents == ()
    assert {hit.section for hit in one.hits if hit.score is not None} == {"API de ventas"}
    assert (await two_apis.search("cuándo se giran los cobros")).documents == ()


async def test_metadata_of_a_file_narrows_a_search(kb, every_kind):
    await kb.ingest(every_kind / "gestion.json")
    result = await kb.search("cliente", metadata={"method": "DELETE"}, limit=20)
    assert result.hits
    assert {hit.metadata["method"] for hit in result.hits} == {"DELETE"}
    assert json.loads(json.dumps(result.hits[0].metadata)) == result.hits[0].metadata
