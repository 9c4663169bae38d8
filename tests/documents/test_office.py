from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import openpyxl
import pptx
from openpyxl.styles import Font
from pptx.util import Inches

from kb_search.documents import read_document


def saved(book, path: Path) -> Path:
    book.save(path)
    return path


def workbook() -> tuple[Any, Any]:
    book = openpyxl.Workbook()
    return book, book.active


def test_each_sheet_is_a_section_and_each_row_names_its_columns(tmp_path):
    book, sheet = workbook()
    sheet.title = "Tarifas de envío"
    for row in (
        ["Destino", "Precio", "Plazo (días)", "IVA", "Desde"],
        ["Península", 4.95, 2, 0.21, dt.date(2026, 1, 15)],
        [
            "Canarias",
            12,
            None,
            0,
            dt.datetime(2026, 2, 1, 9, 30),  # noqa: DTZ001 - a cell has no time zone
        ],
    ):
        sheet.append(row)
    for number in (2, 3):
        sheet.cell(number, 2).number_format = '#,##0.00 "€"'
        sheet.cell(number, 4).number_format = "0%"
    other = book.create_sheet("Tiendas")
    other.append(["Ciudad", "Abre en domingo"])
    other.append(["Sevilla", True])
    book.create_sheet("Hoja3")
    document = read_document(saved(book, tmp_path / "tarifas.xlsx"))
    assert document.title == "tarifas"
    first = "Destino: Península; Precio: 4.95 €; Plazo (días): 2; IVA: 21 %; Desde: 2026-01-15"
    second = "Destino: Canarias; Precio: 12.00 €; IVA: 0 %; Desde: 2026-02-01 09:30"
    assert [(section.heading_path, section.text) for section in document.sections] == [
        (
            ("Tarifas de envío",),
            f"{first}\n\n{second}",
        ),
        (("Tiendas",), "Ciudad: Sevilla; Abre en domingo: sí"),
    ]


def test_lines_above_the_header_row_and_a_second_table_keep_to_themselves(tmp_path):
    book, sheet = workbook()
    sheet.title = "Datos"
    sheet.append(["Tarifas de 2026"])
    sheet.append([])
    sheet.append(["Destino", "Precio"])
    sheet.append(["Ceuta", 9])
    sheet.append([])
    sheet.append(["Talla", "Centímetros"])
    for cell in sheet[6]:
        cell.font = Font(bold=True)
    sheet.append(["M", 98])
    (section,) = read_document(saved(book, tmp_path / "m.xlsx")).sections
    assert section.text.split("\n\n") == [
        "Tarifas de 2026",
        "Destino: Ceuta; Precio: 9",
        "Talla: M; Centímetros: 98",
    ]


def test_a_sheet_without_column_names_gives_its_values(tmp_path):
    book, sheet = workbook()
    sheet.title = "Números"
    sheet.append([1, 2.5])
    sheet.append([3, "=1/0"])
    (section,) = read_document(saved(book, tmp_path / "m.xlsx")).sections
    assert section.text == "1 | 2.5\n\n3"


def test_a_row_of_texts_without_rows_below_it_is_not_lost(tmp_path):
    book, sheet = workbook()
    sheet.append(["Sevilla", "Cádiz"])
    (section,) = read_document(saved(book, tmp_path / "m.xlsx")).sections
    assert section.text == "Sevilla | Cádiz"


def test_a_hidden_sheet_is_not_read_but_named(tmp_path):
    book, sheet = workbook()
    sheet.append(["Visible"])
    hidden = book.create_sheet("Márgenes")
    hidden.append(["secreto"])
    hidden.sheet_state = "hidden"
    document = read_document(saved(book, tmp_path / "m.xlsx"))
    assert "secreto" not in str(document.sections)
    assert document.metadata["hidden_sheets"] == ["Márgenes"]


def test_a_long_sheet_is_cut_between_rows(tmp_path):
    book, sheet = workbook()
    sheet.title = "Catálogo"
    sheet.append(["Referencia", "Nombre"])
    for number in range(2_000):
        sheet.append([f"R-{number}", "Camiseta de algodón"])
    document = read_document(saved(book, tmp_path / "m.xlsx"))
    assert [section.part for section in document.sections] == list(
        range(1, len(document.sections) + 1)
    )
    assert {section.parts for section in document.sections} == {len(document.sections)}
    assert max(len(section.text) for section in document.sections) <= 8_000
    rows = [row for section in document.sections for row in section.text.split("\n\n")]
    assert rows == [f"Referencia: R-{n}; Nombre: Camiseta de algodón" for n in range(2_000)]
    assert document.headings == (("Catálogo",),)


def test_a_table_of_questions_and_answers_gives_a_section_a_row(tmp_path):
    book, sheet = workbook()
    sheet.title = "Dudas"
    sheet.append(["Nº", "Pregunta", "Respuesta", "Tema"])
    sheet.append([1, "¿Cuándo llega mi pedido?", "En dos días laborables.", "envíos"])
    sheet.append([2, "¿Puedo devolverlo?", "Sí, en treinta días.", None])
    sheet.append([3, None, "Escríbenos.", "contacto"])
    document = read_document(saved(book, tmp_path / "m.xlsx"))
    assert [(section.heading_path, section.text) for section in document.sections] == [
        (("Dudas",), ""),
        (("Dudas", "¿Cuándo llega mi pedido?"), "En dos días laborables.\nNº: 1; Tema: envíos"),
        (
            ("Dudas", "¿Puedo devolverlo?"),
            "Sí, en treinta días.\nNº: 2\n\nNº: 3; Respuesta: Escríbenos.; Tema: contacto",
        ),
    ]


def test_each_slide_is_a_section_with_its_table_its_list_and_its_notes(tmp_path):
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[1])
    slide.shapes.title.text = "Devoluciones"
    frame = slide.placeholders[1].text_frame
    frame.text = "Treinta días"
    point = frame.add_paragraph()
    point.text = "Los festivos no cuentan"
    point.level = 1
    slide.notes_slide.notes_text_frame.text = "Recordar las Navidades."
    bare = deck.slides.add_slide(deck.slide_layouts[6])
    table = bare.shapes.add_table(2, 2, Inches(1), Inches(1), Inches(4), Inches(1)).table
    for at, text in enumerate(("Destino", "Precio", "Ceuta", "9 €")):
        table.cell(at // 2, at % 2).text = text
    group = bare.shapes.add_group_shape()
    box = group.shapes.add_textbox(Inches(1), Inches(4), Inches(2), Inches(1))
    box.text_frame.text = "Dentro de un grupo"
    hidden = deck.slides.add_slide(deck.slide_layouts[5])
    hidden.shapes.title.text = "Oculta"
    hidden.element.set("show", "0")
    document = read_document(saved(deck, tmp_path / "m.pptx"))
    assert document.title == "Devoluciones"
    assert [(section.heading_path, section.text) for section in document.sections] == [
        (
            ("Devoluciones",),
            "Treinta días\n- Los festivos no cuentan\n\nNotas: Recordar las Navidades.",
        ),
        (("Diapositiva 2",), "Destino | Precio\nCeuta | 9 €\n\nDentro de un grupo"),
    ]
    assert [section.metadata["slide"] for section in document.sections] == [1, 2]


def test_properties_of_office_files_give_title_and_tags(tmp_path):
    deck = pptx.Presentation()
    deck.slides.add_slide(deck.slide_layouts[5]).shapes.title.text = "Uno"
    deck.slides.add_slide(deck.slide_layouts[1]).placeholders[1].text_frame.text = "Texto"
    deck.core_properties.title = "Curso de acogida"
    deck.core_properties.keywords = "personal; acogida"
    document = read_document(saved(deck, tmp_path / "m.pptx"))
    assert (document.title, document.tags) == ("Curso de acogida", ("personal", "acogida"))
