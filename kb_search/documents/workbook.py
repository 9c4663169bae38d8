"""Excel workbooks, with openpyxl: a section a sheet, each row with its column names."""

from __future__ import annotations

import datetime as dt
import io
import re
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import openpyxl

from kb_search.documents.cleaning import clean_line, keyword_tags, own_title
from kb_search.documents.model import Document
from kb_search.documents.sections import SectionBuilder

_DECIMALS = re.compile(r"0\.(0+)")
_ERRORS = frozenset({"#N/A", "#REF!", "#VALUE!", "#DIV/0!", "#NAME?", "#NULL!", "#NUM!"})
# A table with a column of each is a list of answers: its rows are sections of their own.
_QUESTION = re.compile(
    r"preguntas?|pregunta frecuente|consultas?|dudas?|questions?|q", re.IGNORECASE
)
_ANSWER = re.compile(r"respuestas?|contestaci[oó]n(es)?|soluci[oó]n(es)?|answers?|a", re.IGNORECASE)
_MAX_NAME = 120  # a longer text in the first row is no column name


def read_workbook(data: bytes, _text: str, name: str, max_section_chars: int) -> Document:
    """A section for each visible sheet; a row is one line of `column: value`, but in a table of
    questions and answers a section below its sheet.

    Values are those that the program which wrote the file had calculated; no formula is run.
    """
    builder = SectionBuilder(max_chars=max_section_chars)
    hidden = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # openpyxl warns of every feature that it does not write
        book = openpyxl.load_workbook(
            io.BytesIO(data), read_only=True, data_only=True, keep_links=False
        )
        try:
            for sheet in book.worksheets:
                if sheet.sheet_state != "visible":
                    hidden.append(sheet.title)
                    continue
                sheet.reset_dimensions()  # what the file says of its size may be wrong
                _add_sheet(builder, sheet)
            properties = book.properties
        finally:
            book.close()
    title = own_title(properties.title) or name
    return Document(
        title=title,
        mime="",
        sections=builder.build(title),
        tags=keyword_tags(properties.keywords),
        metadata={"hidden_sheets": hidden} if hidden else {},
    )


def _add_sheet(builder: SectionBuilder, sheet: Any) -> None:
    """An empty sheet, of which new workbooks used to have two, gives no section."""
    opened = False
    for question, paragraph in _paragraphs(sheet.iter_rows()):
        if not opened:
            builder.heading(1, sheet.title, metadata={"sheet": sheet.title})
            opened = True
        if question:
            builder.heading(2, question, metadata={"sheet": sheet.title})
        builder.paragraph(paragraph)


def _paragraphs(rows: Iterator[Sequence[Any]]) -> Iterator[tuple[str, str]]:
    """The rows of each table of a sheet, each with the question that it answers, if any; empty
    rows end a table's lines, not its columns.
    """
    header: dict[int, str] | None = None
    unused = False  # a row of names that no row has used is text itself
    gap = True
    for row in rows:
        cells = {at: text for at, text in enumerate(map(_cell_text, row)) if text}
        if not cells:
            gap = True
            continue
        if (header is None or (gap and _is_bold(row))) and _names_columns(row, cells):
            if header and unused:
                yield "", " | ".join(header.values())
            header, unused = cells, True
        elif header is None or len(cells) == 1:
            yield "", " | ".join(cells.values())
        else:
            unused = False
            yield _told(cells, header)
        gap = False
    if header and unused:
        yield "", " | ".join(header.values())


def _told(cells: dict[int, str], header: dict[int, str]) -> tuple[str, str]:
    """A row as the question that it answers, if any, and the rest of it."""
    questions = [at for at, name in header.items() if _QUESTION.fullmatch(name) and at in cells]
    answers = [at for at, name in header.items() if _ANSWER.fullmatch(name) and at in cells]
    question = ""
    rest = dict(cells)
    lines = []
    if questions and answers:
        question = rest.pop(questions[0])
        lines = [rest.pop(answers[0])]
    others = "; ".join(
        f"{header[at]}: {text}" if at in header else text for at, text in rest.items()
    )
    return question, "\n".join([*lines, *([others] if others else [])])


def _names_columns(row: Sequence[Any], cells: dict[int, str]) -> bool:
    return (
        len(cells) > 1
        and all(isinstance(row[at].value, str) for at in cells)
        and max(map(len, cells.values())) <= _MAX_NAME
    )


def _is_bold(row: Sequence[Any]) -> bool:
    fonts = [cell.font for cell in row if cell.value is not None]
    return all(font is not None and bool(font.b) for font in fonts)


def _cell_text(cell: Any) -> str:
    value = cell.value
    if value is None or value in _ERRORS:
        return ""
    if isinstance(value, bool):
        return "sí" if value else "no"
    if isinstance(value, int | float):
        return _number(value, cell.number_format or "General")
    if isinstance(value, dt.datetime):
        return f"{value:%Y-%m-%d}" if value.time() == dt.time() else f"{value:%Y-%m-%d %H:%M}"
    return clean_line(str(value))


def _number(value: float, layout: str) -> str:
    """The number with the decimals, the per cent or the euro sign that the sheet shows."""
    decimals = _DECIMALS.search(layout)
    percent = layout.rstrip().endswith("%")
    shown = value * 100 if percent else value
    text = f"{shown:.{len(decimals[1])}f}" if decimals else f"{shown:.12g}"
    if percent:
        return f"{text} %"
    return f"{text} €" if "€" in layout else text
