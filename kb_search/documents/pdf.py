"""PDF, with PDFium: lines, then headings by outline and fonts, then paragraphs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pypdfium2 as pdfium

from kb_search.documents.cleaning import clean_line, own_title, words_of
from kb_search.documents.model import Document
from kb_search.documents.pdf_headings import Heading, bookmarks, font_headings, outline_headings
from kb_search.documents.pdf_layout import (
    HYPHENS,
    in_contents,
    in_reading_order,
    paragraphs,
    without_running_lines,
)
from kb_search.documents.pdf_lines import Line, PageReader
from kb_search.documents.sections import SectionBuilder
from kb_search.documents.unreadable import Unreadable

_TAIL_BYTES = 4096
_MAX_TITLE_LINES = 3


def read_pdf(data: bytes, _text: str, name: str, max_section_chars: int) -> Document:
    """A section for each heading; its metadata names the page, counted from 1."""
    if b"%%EOF" not in data.rstrip(b"\0 \t\r\n")[-_TAIL_BYTES:]:
        raise Unreadable("truncated: the end of the PDF is missing")
    document = _opened(data)
    try:
        reader = PageReader()
        read = [reader.lines(document, number) for number in range(len(document))]
        outline = bookmarks(document)
        properties = document.get_metadata_dict(skip_empty=True)
    finally:
        document.close()
    if not any(lines for lines, _ in read):
        raise Unreadable("scanned: no page has text; run text recognition (OCR) over it first")
    pages = without_running_lines([lines for lines, _ in read], [height for _, height in read])
    lines = [line for page in pages for line in in_reading_order(page) if not in_contents(line)]
    headings = _headings(lines, outline)
    title = _title(properties, lines) or name
    builder = SectionBuilder(max_chars=max_section_chars)
    _fill(builder, lines, _without_title(headings, title))
    metadata: dict[str, Any] = {"pages": len(read)}
    blank = [number for number, (found, _) in enumerate(read, start=1) if not found]
    if blank:
        metadata["pages_without_text"] = blank
    if properties.get("Author", "anonymous").strip("()") != "anonymous":
        metadata["author"] = clean_line(properties["Author"])
    return Document(title=title, mime="", sections=builder.build(title), metadata=metadata)


def _opened(data: bytes) -> pdfium.PdfDocument:
    try:
        document = pdfium.PdfDocument(data)
        if len(document) == 0:
            raise Unreadable("truncated or damaged: the PDF has no page")
    except pdfium.PdfiumError as error:
        if "password" in str(error).lower() or "security" in str(error).lower():
            raise Unreadable("encrypted: save the PDF without a password") from error
        raise Unreadable("truncated or damaged: the PDF cannot be opened") from error
    return document


def _headings(lines: Sequence[Line], outline: Sequence[Any]) -> list[Heading]:
    if not lines:
        return []
    known = outline_headings(lines, outline) if len(outline) > 1 else []
    found = [*known, *font_headings(lines, known)]
    return sorted(found, key=lambda heading: (heading.start, heading.end))


def _without_title(headings: list[Heading], title: str) -> list[Heading]:
    """The headings without the title page's, where it is printed like the main headings."""
    if not headings:
        return headings
    first, *others = headings
    same = first.text.casefold() == title.casefold()
    return others if same and any(other.level == first.level for other in others) else headings


def _fill(builder: SectionBuilder, lines: Sequence[Line], headings: Sequence[Heading]) -> None:
    cut = any(line.hyphen or line.text.endswith(HYPHENS) for line in lines)
    words = words_of("\n".join(line.text for line in lines)) if cut else set()
    at = 0
    for heading in headings:
        for paragraph in paragraphs(lines[at : heading.start], words):
            builder.paragraph(paragraph)
        page = lines[min(heading.start, len(lines) - 1)].page + 1
        builder.heading(heading.level, heading.text, metadata={"page": page})
        at = heading.end
    for paragraph in paragraphs(lines[at:], words):
        builder.paragraph(paragraph)


def _title(properties: dict[str, str], lines: Sequence[Line]) -> str | None:
    """The title property, else what the first page alone has in the largest font."""
    title = own_title(properties.get("Title"))
    if title:
        return title
    if not lines:
        return None
    largest = max(line.size for line in lines)
    found = [line for line in lines if line.size == largest]
    smallest = min(line.size for line in lines)
    if len(found) > _MAX_TITLE_LINES or found[-1].page != lines[0].page or largest == smallest:
        return None
    return clean_line(" ".join(line.text for line in found))
