"""PowerPoint decks, with python-pptx: a section a slide, speaker's notes at its end."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from typing import Any

import pptx
from pptx.enum.shapes import MSO_SHAPE_TYPE

from kb_search.documents.cleaning import clean_line, clean_text, keyword_tags, own_title
from kb_search.documents.model import Document
from kb_search.documents.sections import SectionBuilder


def read_slides(data: bytes, _text: str, name: str, max_section_chars: int) -> Document:
    """A section for each slide that is shown; its metadata has the slide's number, from 1."""
    deck = pptx.Presentation(io.BytesIO(data))
    builder = SectionBuilder(max_chars=max_section_chars)
    first_title = ""
    for number, slide in enumerate(deck.slides, start=1):
        if slide.element.get("show") in ("0", "false"):
            continue
        shape = slide.shapes.title
        title = clean_line(shape.text_frame.text) if shape is not None else ""
        first_title = first_title or title
        builder.heading(1, title or f"Diapositiva {number}", metadata={"slide": number})
        skipped = shape.shape_id if shape is not None and title else None
        for paragraph in _paragraphs(slide.shapes, skipped):
            builder.paragraph(paragraph)
        notes = _notes(slide)
        if notes:
            builder.paragraph(f"Notas: {notes}")
    properties = deck.core_properties
    title = own_title(properties.title) or first_title or name
    return Document(
        title=title,
        mime="",
        sections=builder.build(title),
        tags=keyword_tags(properties.keywords),
        metadata={"slides": len(deck.slides)},
    )


def _paragraphs(shapes: Iterable[Any], skipped: int | None) -> Iterator[str]:
    """The shapes' texts in the order of the slide, which is the order they are read aloud in."""
    waiting = list(shapes)[::-1]
    while waiting:
        shape = waiting.pop()
        if shape.shape_type == MSO_SHAPE_TYPE.GROUP:
            waiting.extend(list(shape.shapes)[::-1])
        elif getattr(shape, "has_table", False) and shape.has_table:
            yield _table(shape.table)
        elif shape.has_text_frame and shape.shape_id != skipped and not _is_furniture(shape):
            yield _frame(shape.text_frame)


def _is_furniture(shape: Any) -> bool:
    """Date, foot and number of the slide."""
    if not shape.is_placeholder:
        return False
    kind = shape.placeholder_format.type
    return kind is not None and kind.name in ("DATE", "FOOTER", "SLIDE_NUMBER", "HEADER")


def _frame(frame: Any) -> str:
    lines = []
    for paragraph in frame.paragraphs:
        text = clean_text(paragraph.text)
        if text:
            lines.append(f"{'  ' * (paragraph.level - 1)}- {text}" if paragraph.level else text)
    return "\n".join(lines)


def _table(table: Any) -> str:
    rows = ([clean_line(cell.text_frame.text) for cell in row.cells] for row in table.rows)
    return "\n".join(" | ".join(row).strip(" |") for row in rows if any(row))


def _notes(slide: Any) -> str:
    if not slide.has_notes_slide:
        return ""
    frame = slide.notes_slide.notes_text_frame
    return clean_text(frame.text) if frame is not None else ""
