"""The text of a Word paragraph as it is read: insertions in, deletions and hidden text out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from docx.oxml import parse_xml
from docx.oxml.ns import qn

_R, _T, _R_PR = qn("w:r"), qn("w:t"), qn("w:rPr")
_VANISH = qn("w:vanish")
_MARKUP = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_MATH = "{http://schemas.openxmlformats.org/officeDocument/2006/math}t"
_PLAIN = {
    qn("w:tab"): " ",
    qn("w:br"): "\n",
    qn("w:cr"): "\n",
    qn("w:noBreakHyphen"): "-",
    qn("w:ptab"): " ",
}
_INLINE = {
    qn(tag)
    for tag in (
        "w:hyperlink",
        "w:ins",
        "w:moveTo",
        "w:smartTag",
        "w:sdt",
        "w:sdtContent",
        "w:fldSimple",
        "w:customXml",
        "w:dir",
        "w:bdo",
    )
}
_NOTE_REFERENCES = {qn("w:footnoteReference"): "footnotes", qn("w:endnoteReference"): "endnotes"}
_TEXT_BOX = qn("w:txbxContent")


class NoteTexts:
    """The texts of foot- and endnotes by kind and id, read when the first one is asked for."""

    def __init__(self, part: Any) -> None:
        self._part = part
        self._texts: dict[str, dict[str, str]] = {}

    def text(self, kind: str, note_id: str) -> str:
        if kind not in self._texts:
            self._texts[kind] = dict(self._read(kind))
        return self._texts[kind].get(note_id, "")

    def _read(self, kind: str) -> Iterator[tuple[str, str]]:
        for relation in self._part.rels.values():
            if relation.is_external or not relation.reltype.endswith(f"/{kind}"):
                continue
            root = parse_xml(relation.target_part.blob)
            for note in root.iterchildren(qn(f"w:{kind[:-1]}")):
                texts = [paragraph_text(p, None) for p in note.iter(qn("w:p"))]
                yield note.get(qn("w:id"), ""), " ".join(" ".join(texts).split())


def paragraph_text(paragraph: Any, notes: NoteTexts | None) -> str:
    """The text in reading order, each note in brackets where it is referred to."""
    pieces: list[str] = []
    _collect(paragraph, notes, pieces)
    return "".join(pieces)


def _collect(element: Any, notes: NoteTexts | None, pieces: list[str]) -> None:
    for child in element:
        tag = child.tag
        if tag == _R:
            _run(child, notes, pieces)
        elif tag in _INLINE:
            _collect(child, notes, pieces)
        elif isinstance(tag, str) and tag.endswith("}oMath"):
            pieces.extend(text.text or "" for text in child.iter(_MATH))


def _run(run: Any, notes: NoteTexts | None, pieces: list[str]) -> None:
    for child in run:
        tag = child.tag
        if tag == _T:
            pieces.append(child.text or "")
        elif tag == _R_PR:
            hidden = child.find(_VANISH)
            if hidden is not None and hidden.get(qn("w:val"), "1") not in ("0", "false"):
                return
        elif tag in _PLAIN:
            pieces.append(_PLAIN[tag])
        elif tag in _NOTE_REFERENCES and notes is not None:
            text = notes.text(_NOTE_REFERENCES[tag], child.get(qn("w:id"), ""))
            if text:
                pieces.append(f" [{text}]")


def text_boxes(paragraph: Any) -> Iterator[Any]:
    """The text boxes anchored in a paragraph, each once though Word stores two renderings."""
    for box in paragraph.iter(_TEXT_BOX):
        ancestors = {ancestor.tag for ancestor in box.iterancestors()}
        if f"{_MARKUP}Fallback" not in ancestors:
            yield box


def is_contents(control: Any) -> bool:
    """Whether a content control holds the table of contents."""
    gallery = control.find(f"{qn('w:sdtPr')}/{qn('w:docPartObj')}/{qn('w:docPartGallery')}")
    return gallery is not None and gallery.get(qn("w:val")) == "Table of Contents"
