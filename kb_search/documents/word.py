"""Word files, with python-docx: headings by style and outline level, lists, tables, notes."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

from docx.opc.package import OpcPackage
from docx.opc.part import PartFactory
from docx.oxml.ns import qn
from docx.package import Package
from docx.parts.document import DocumentPart

from kb_search.documents.cleaning import clean_line, clean_text, keyword_tags, own_title
from kb_search.documents.model import Document
from kb_search.documents.sections import SectionBuilder
from kb_search.documents.unreadable import Unreadable
from kb_search.documents.word_styles import Styles
from kb_search.documents.word_text import NoteTexts, is_contents, paragraph_text, text_boxes

# A file with macros and a template hold the same document as a plain one; no macro is ever run.
_VARIANTS = (
    "application/vnd.ms-word.document.macroEnabled.main+xml",
    "application/vnd.ms-word.template.macroEnabledTemplate.main+xml",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.template.main+xml",
)
for _variant in _VARIANTS:
    PartFactory.part_type_for.setdefault(_variant, DocumentPart)

_P, _TBL, _SDT, _SDT_CONTENT = qn("w:p"), qn("w:tbl"), qn("w:sdt"), qn("w:sdtContent")
_TR, _TC = qn("w:tr"), qn("w:tc")
_WRAPPERS = {qn("w:ins"), qn("w:smartTag"), qn("w:customXml"), qn("w:moveTo")}


def read_word(data: bytes, _text: str, name: str, max_section_chars: int) -> Document:
    """A section for each heading of the body, in order."""
    document = _opened(data)
    styles = Styles(document)
    filler = _Filler(styles, NoteTexts(document.part), SectionBuilder(max_chars=max_section_chars))
    filler.body(document.element.body)
    properties = document.core_properties
    title = (
        clean_line(filler.title)
        or own_title(_property(properties, "title"))
        or filler.builder.top_heading
        or name
    )
    metadata = {}
    for key in ("author", "subject"):
        value = clean_line(_property(properties, key))
        if value and value != "python-docx":
            metadata[key] = value
    return Document(
        title=title,
        mime="",
        sections=filler.builder.build(title),
        tags=keyword_tags(_property(properties, "keywords")),
        metadata=metadata,
    )


def _opened(data: bytes) -> Any:
    package: OpcPackage = Package.open(io.BytesIO(data))
    part = package.main_document_part
    if not isinstance(part, DocumentPart):
        raise Unreadable("damaged: the archive names no Word document as its main part")
    return part.document


def _property(properties: Any, name: str) -> str:
    try:
        return getattr(properties, name) or ""
    except (ValueError, KeyError):  # a malformed property is no reason to refuse the document
        return ""


class _Filler:
    """Walks through the body and hands headings and paragraphs to the builder."""

    def __init__(self, styles: Styles, notes: NoteTexts, builder: SectionBuilder) -> None:
        self.builder = builder
        self.title = ""
        self._styles = styles
        self._notes = notes
        self._list: list[str] = []

    def body(self, element: Any) -> None:
        self._blocks(element)
        self._end_list()

    def _blocks(self, element: Any) -> None:
        for child in element:
            if child.tag == _P:
                self._paragraph(child)
            elif child.tag == _TBL:
                self._table(child)
            elif child.tag == _SDT:
                content = child.find(_SDT_CONTENT)
                if content is not None and not is_contents(child):
                    self._blocks(content)
            elif child.tag in _WRAPPERS:
                self._blocks(child)

    def _paragraph(self, element: Any) -> None:
        text = clean_text(paragraph_text(element, self._notes))
        look = self._styles.look(element)
        if text and not look.contents:
            if look.level is not None:
                self._end_list()
                self.builder.heading(look.level, text)
            elif look.title and not self.title:
                self.title = text
            elif look.listed:
                self._list.append(f"- {text}")
            else:
                self._end_list()
                self.builder.paragraph(text)
        for box in text_boxes(element):
            self._blocks(box)

    def _end_list(self) -> None:
        """The items of one list are one paragraph."""
        if self._list:
            self.builder.paragraph("\n".join(self._list))
            self._list = []

    def _table(self, table: Any) -> None:
        self._end_list()
        rows = [list(_cells(row)) for row in table.iterchildren(_TR)]
        if all(len(row) < 2 for row in rows):  # a frame for layout, not a table
            for row in rows:
                for cell in row:
                    self._blocks(cell)
            self._end_list()
            return
        lines = []
        for row in rows:
            texts = [self._cell_text(cell) for cell in row]
            if any(texts):
                lines.append(" | ".join(texts).strip(" |"))
        self.builder.paragraph("\n".join(lines))

    def _cell_text(self, cell: Any) -> str:
        texts = (paragraph_text(p, self._notes) for p in cell.iter(_P))
        return "; ".join(filter(None, map(clean_line, texts)))


def _cells(row: Any) -> Iterator[Any]:
    for child in row:
        if child.tag == _TC:
            yield child
        elif child.tag == _SDT:
            content = child.find(_SDT_CONTENT)
            if content is not None:
                yield from content.iterchildren(_TC)
