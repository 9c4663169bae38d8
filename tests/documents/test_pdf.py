from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from reportlab.pdfgen.canvas import Canvas

from kb_search.documents import read_document
from tests.documents.making import manual_outline, told, tree, write_pdf


def drawn(
    path: Path, *pages: Sequence[tuple[float, float, float, str]], bold: bool = False
) -> Path:
    """A PDF from (left, height, size, text) of each line, drawn in that order."""
    canvas = Canvas(str(path), pagesize=(595, 842))
    for page in pages:
        for left, height, size, text in page:
            canvas.setFont("Helvetica-Bold" if bold and size == 10.5 else "Helvetica", size)
            canvas.drawString(left, height, text)
        canvas.showPage()
    canvas.save()
    return path


def test_a_manual_of_thirty_five_headings_comes_back_with_its_exact_tree(tmp_path):
    outline = manual_outline()
    document = read_document(write_pdf(tmp_path / "manual.pdf", outline))
    assert len(outline) == 35
    assert document.headings == tree(outline)
    assert [section.text for section in document.sections] == [told(n) for n in range(35)]


@pytest.mark.parametrize("flat", [False, True])
def test_bookmarks_give_the_exact_tree_whatever_the_fonts_are(tmp_path, flat):
    outline = manual_outline()
    path = write_pdf(tmp_path / "manual.pdf", outline, bookmarks=True, flat=flat)
    document = read_document(path)
    assert document.headings == tree(outline)
    assert [section.text for section in document.sections] == [told(n) for n in range(35)]


def test_numbered_headings_at_the_top_of_pages_are_no_running_heads(tmp_path):
    outline = [
        (level, f"{chapter}.{part} Apartado {part}" if part else f"{chapter}. Capítulo")
        for chapter in range(1, 13)
        for level, part in ((1, 0), *((2, part) for part in range(1, 8)))
    ]
    document = read_document(write_pdf(tmp_path / "m.pdf", outline, times=6))
    assert document.headings == tree(outline)


def test_running_heads_and_page_numbers_are_dropped(tmp_path):
    path = write_pdf(tmp_path / "m.pdf", manual_outline(), head="Tienda Aurora, edición 4")
    document = read_document(path)
    assert document.metadata["pages"] > 3
    whole = "\n".join(section.text for section in document.sections)
    assert "Tienda Aurora" not in whole
    assert "Página" not in whole
    assert document.headings == tree(manual_outline())


def test_a_section_knows_its_page(tmp_path):
    document = read_document(write_pdf(tmp_path / "m.pdf", manual_outline()))
    pages = [section.metadata["page"] for section in document.sections]
    assert pages[0] == 1
    assert pages == sorted(pages)
    assert pages[-1] == document.metadata["pages"]


def test_words_cut_at_a_line_end_are_made_whole(tmp_path):
    lines = (
        "Para solicitar la devolu-",
        "ción se entra en la cuenta. El curso teórico-",
        "práctico es otro: lo teórico-práctico cuesta más. Vale el código ABC-",
        "1234 hasta mayo.",
    )
    path = drawn(
        tmp_path / "m.pdf", [(72, 700 - 12 * at, 10, line) for at, line in enumerate(lines)]
    )
    (section,) = read_document(path).sections
    assert section.text == (
        "Para solicitar la devolución se entra en la cuenta. El curso teórico-práctico es otro: "
        "lo teórico-práctico cuesta más. Vale el código ABC-1234 hasta mayo."
    )


def test_columns_are_read_one_after_the_other(tmp_path):
    left = [(72, 700 - 12 * at, 10, f"izquierda {at} con algo de texto") for at in range(8)]
    right = [(320, 700 - 12 * at, 10, f"derecha {at} con algo de texto") for at in range(8)]
    (section,) = read_document(drawn(tmp_path / "m.pdf", [*left, *right])).sections
    words = section.text.replace("\n", " ")
    assert words.index("izquierda 7") < words.index("derecha 0")


def test_blocks_drawn_from_the_bottom_up_are_read_from_the_top_down(tmp_path):
    blocks = [
        [(72, 600 - 12 * at, 10, f"final {at} del texto") for at in range(3)],
        [(72, 700 - 12 * at, 10, f"comienzo {at} del texto") for at in range(3)],
    ]
    (section,) = read_document(drawn(tmp_path / "m.pdf", [*blocks[0], *blocks[1]])).sections
    assert section.text.index("comienzo 2") < section.text.index("final 0")


def test_bold_lines_in_the_size_of_the_text_are_headings_where_they_stand_alone(tmp_path):
    lines = []
    for number in range(4):
        top = 700 - number * 100
        lines.append((72, top, 10.5, f"Cláusula {number}"))
        lines.extend((72, top - 24 - 12 * at, 10.4, "El texto sigue aquí.") for at in range(4))
    document = read_document(drawn(tmp_path / "m.pdf", lines, bold=True))
    assert document.headings == tuple((f"Cláusula {number}",) for number in range(4))


def test_a_heading_of_two_lines_is_one(tmp_path):
    lines = [(72, 700, 18, "Condiciones generales de venta"), (72, 679, 18, "y de devolución")]
    lines += [(72, 640 - 12 * at, 10, "Texto de las condiciones de venta.") for at in range(9)]
    document = read_document(drawn(tmp_path / "m.pdf", lines))
    assert document.headings == (("Condiciones generales de venta y de devolución",),)
    assert document.title == "Condiciones generales de venta y de devolución"


def test_the_lines_of_a_printed_table_of_contents_are_no_text(tmp_path):
    lines = [
        (72, 700, 10, "Envíos . . . . . . . . . . . . . 3"),
        (72, 688, 10, "Pagos ........... 9"),
    ]
    lines += [(72, 640 - 12 * at, 10, "Salen en un día.") for at in range(3)]
    (section,) = read_document(drawn(tmp_path / "m.pdf", lines)).sections
    assert section.text.split("\n") == ["Salen en un día. Salen en un día. Salen en un día."]


def test_the_title_property_wins_over_the_largest_line(tmp_path):
    path = write_pdf(tmp_path / "m.pdf", [(1, "Envíos")], title="Manual de la tienda")
    assert read_document(path).title == "Manual de la tienda"
    path = write_pdf(tmp_path / "m.pdf", [(1, "Envíos")], title="Microsoft Word - m.doc")
    assert read_document(path).title == "Envíos"


def test_pages_without_text_are_told_where_others_have_some(tmp_path):
    path = drawn(tmp_path / "m.pdf", [(72, 700, 10, "Con texto.")], [], [(72, 700, 10, "Más.")])
    assert read_document(path).metadata["pages_without_text"] == [2]


def test_a_title_printed_like_the_main_headings_is_none_of_them(tmp_path):
    outline = [(1, "Manual de la tienda"), *manual_outline()]
    path = write_pdf(tmp_path / "m.pdf", outline, title="Manual de la tienda")
    document = read_document(path)
    assert document.headings == tree(manual_outline())
    assert document.sections[0].heading_path == ("Manual de la tienda",)
    assert document.sections[0].level == 0


def test_items_with_a_bullet_are_lines(tmp_path):
    lines = [f"\u2022 punto {number} de la lista" for number in range(3)]
    path = drawn(
        tmp_path / "m.pdf", [(72, 700 - 12 * at, 10, line) for at, line in enumerate(lines)]
    )
    assert read_document(path).sections[0].text == "\n".join(lines)
