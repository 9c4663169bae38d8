from __future__ import annotations

import io
import zipfile
from pathlib import Path

import docx
from docx.enum.style import WD_STYLE_TYPE
from docx.oxml import OxmlElement, parse_xml
from docx.oxml.ns import nsdecls, qn

from kb_search.documents import read_document
from tests.documents.making import TEXT, manual_outline, rewrite_zip, tree, write_docx


def saved(document, path: Path) -> Path:
    document.save(str(path))
    return path


def test_a_manual_of_thirty_five_headings_comes_back_with_its_exact_tree(tmp_path):
    outline = manual_outline()
    document = read_document(write_docx(tmp_path / "manual.docx", outline))
    assert len(outline) == 35
    assert document.headings == tree(outline)
    assert {section.text for section in document.sections} == {TEXT.strip()}
    assert [section.level for section in document.sections] == [level for level, _ in outline]
    assert [section.position for section in document.sections] == list(range(35))


def test_the_title_style_names_the_document_and_holds_the_text_before_the_first_heading(tmp_path):
    word = docx.Document()
    word.add_heading("Manual de la tienda", level=0)
    word.add_paragraph("Para quien compra.")
    word.add_heading("Envíos", level=1)
    word.add_paragraph("Salen en un día.")
    document = read_document(saved(word, tmp_path / "m.docx"))
    assert document.title == "Manual de la tienda"
    assert [(section.heading_path, section.text) for section in document.sections] == [
        (("Manual de la tienda",), "Para quien compra."),
        (("Envíos",), "Salen en un día."),
    ]


def test_headings_are_known_by_localised_names_by_inheritance_and_by_outline_level(tmp_path):
    word = docx.Document()
    local = word.styles.add_style("Título 1", WD_STYLE_TYPE.PARAGRAPH)
    derived = word.styles.add_style("Capítulo rojo", WD_STYLE_TYPE.PARAGRAPH)
    derived.base_style = word.styles["Heading 2"]
    level = word.styles.add_style("Epígrafe propio", WD_STYLE_TYPE.PARAGRAPH)
    outline = OxmlElement("w:outlineLvl")
    outline.set(qn("w:val"), "2")
    level.element.get_or_add_pPr().append(outline)
    word.add_paragraph("Devoluciones", style=local)
    word.add_paragraph("Plazos", style=derived)
    word.add_paragraph("Festivos", style=level)
    word.add_paragraph("No cuentan.")
    direct = word.add_paragraph("Importe")
    outline = OxmlElement("w:outlineLvl")
    outline.set(qn("w:val"), "0")
    direct._p.get_or_add_pPr().append(outline)
    word.add_paragraph("Entero.")
    assert read_document(saved(word, tmp_path / "m.docx")).headings == (
        ("Devoluciones",),
        ("Devoluciones", "Plazos"),
        ("Devoluciones", "Plazos", "Festivos"),
        ("Importe",),
    )


def test_lists_tables_and_line_breaks_keep_their_order_and_lines(tmp_path):
    word = docx.Document()
    word.add_paragraph("Se necesita:")
    word.add_paragraph("el número de pedido", style="List Bullet")
    word.add_paragraph("una fotografía", style="List Bullet")
    table = word.add_table(rows=2, cols=2)
    for cell, text in zip(table._cells, ("Destino", "Precio", "Península", "4,95 €"), strict=True):
        cell.text = text
    word.add_paragraph("Primera línea\nsegunda línea")
    (section,) = read_document(saved(word, tmp_path / "m.docx")).sections
    assert section.text == (
        "Se necesita:\n\n- el número de pedido\n- una fotografía\n\n"
        "Destino | Precio\nPenínsula | 4,95 €\n\nPrimera línea\nsegunda línea"
    )


def test_insertions_are_read_and_deletions_and_hidden_text_are_not(tmp_path):
    word = docx.Document()
    paragraph = word.add_paragraph("El plazo es de ")
    for kind, tag, text in (("del", "delText", "diez"), ("ins", "t", "treinta")):
        paragraph._p.append(
            parse_xml(f"<w:{kind} {nsdecls('w')}><w:r><w:{tag}>{text}</w:{tag}></w:r></w:{kind}>")
        )
    paragraph.add_run(" días")
    paragraph.add_run(" (borrador)").font.hidden = True
    (section,) = read_document(saved(word, tmp_path / "m.docx")).sections
    assert section.text == "El plazo es de treinta días"


def test_a_table_of_contents_is_not_text(tmp_path):
    word = docx.Document()
    contents = word.styles.add_style("toc 1", WD_STYLE_TYPE.PARAGRAPH)
    word.add_paragraph("Envíos\t3", style=contents)
    word.add_heading("Envíos", level=1)
    word.add_paragraph("Salen en un día.")
    document = read_document(saved(word, tmp_path / "m.docx"))
    assert [section.text for section in document.sections] == ["Salen en un día."]


def test_soft_hyphens_and_ligatures_are_undone(tmp_path):
    word = docx.Document()
    word.add_heading("O\ufb01cina de devo\u00adluciones", level=1)
    word.add_paragraph("El \ufb02ete\u00a0es gratis.\u200b")
    document = read_document(saved(word, tmp_path / "m.docx"))
    assert document.headings == (("Oficina de devoluciones",),)
    assert document.sections[0].text == "El flete es gratis."


def test_a_document_with_macros_is_read_as_text(tmp_path):
    path = write_docx(tmp_path / "m.docx", [(1, "Envíos")])
    with zipfile.ZipFile(path) as archive:
        types = archive.read("[Content_Types].xml")
    plain = b"application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
    assert plain in types
    changed = rewrite_zip(
        path.read_bytes(),
        {
            "[Content_Types].xml": types.replace(
                plain, b"application/vnd.ms-word.document.macroEnabled.main+xml"
            ),
            "word/vbaProject.bin": b"\xd0\xcf\x11\xe0 not a real project",
        },
    )
    (tmp_path / "m.docm").write_bytes(changed)
    assert read_document(tmp_path / "m.docm").headings == (("Envíos",),)


def test_a_footnote_stands_in_brackets_where_it_is_referred_to(tmp_path):
    word = docx.Document()
    paragraph = word.add_paragraph("El envío es gratuito")
    paragraph._p.append(parse_xml(f'<w:r {nsdecls("w")}><w:footnoteReference w:id="2"/></w:r>'))
    out = io.BytesIO()
    word.save(out)
    data = out.getvalue()
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        relations = archive.read("word/_rels/document.xml.rels")
        types = archive.read("[Content_Types].xml")
    kind = b"http://schemas.openxmlformats.org/officeDocument/2006/relationships/footnotes"
    notes = (
        f"<w:footnotes {nsdecls('w')}><w:footnote w:id='2'><w:p><w:r>"
        "<w:t>A partir de 30 euros.</w:t></w:r></w:p></w:footnote></w:footnotes>"
    )
    changed = rewrite_zip(
        data,
        {
            "word/footnotes.xml": notes.encode(),
            "word/_rels/document.xml.rels": relations.replace(
                b"</Relationships>",
                b'<Relationship Id="rIdNotes" Type="' + kind + b'" Target="footnotes.xml"/>'
                b"</Relationships>",
            ),
            "[Content_Types].xml": types,
        },
    )
    (tmp_path / "m.docx").write_bytes(changed)
    (section,) = read_document(tmp_path / "m.docx").sections
    assert section.text == "El envío es gratuito [A partir de 30 euros.]"
