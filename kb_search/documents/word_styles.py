"""What a Word paragraph is, by its style: heading, title, list item, line of the contents."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from docx.oxml.ns import qn

# Word names its own styles in English in every language; other programs, and people who make
# a style by hand, use their own word.
_HEADING = re.compile(
    r"(?:heading|t[íi]tulo|encabezado|titre|überschrift|intestazione|titolo|cap[çc]alera|t[íi]tol"
    r"|cabe[çc]alho|kop|rubrik)\s*([1-9])",
    re.IGNORECASE,
)
_TITLES = {"title", "título", "titulo", "puesto", "título del documento", "titre", "titel"}
_LIST = re.compile(r"list\b|lista\b|liste\b", re.IGNORECASE)
_CONTENTS = re.compile(r"(?:toc|tdc|índice|indice|contents)\s*(?:\d|heading)", re.IGNORECASE)
_BODY_LEVEL = 9  # outline level "body text"

_STYLE_ID, _VAL = qn("w:styleId"), qn("w:val")
_P_PR, _P_STYLE, _OUTLINE, _NUM = qn("w:pPr"), qn("w:pStyle"), qn("w:outlineLvl"), qn("w:numPr")
_NUM_ID = qn("w:numId")


@dataclass(frozen=True, slots=True)
class Look:
    """`level` is that of a heading, from 1, else None."""

    level: int | None = None
    title: bool = False
    listed: bool = False
    contents: bool = False


class Styles:
    """The looks of a document's paragraph styles; each is worked out once."""

    def __init__(self, document: Any) -> None:
        self._elements: dict[str, Any] = {}
        self._looks: dict[str, Look] = {}
        styles = document.part._styles_part.element  # noqa: SLF001 - no public way to the XML
        for element in styles.iterchildren(qn("w:style")):
            if element.get(qn("w:type"), "paragraph") == "paragraph":
                self._elements[element.get(_STYLE_ID, "")] = element

    def look(self, paragraph: Any) -> Look:
        properties = paragraph.find(_P_PR)
        if properties is None:
            return _PLAIN
        style = properties.find(_P_STYLE)
        look = self._of_style(style.get(_VAL, "")) if style is not None else _PLAIN
        outline = properties.find(_OUTLINE)
        if outline is not None:
            look = replace(look, level=_level(outline))
        numbered = properties.find(_NUM)
        if numbered is not None and not look.listed and _is_numbered(numbered):
            look = replace(look, listed=True)
        return look

    def _of_style(self, style_id: str) -> Look:
        known = self._looks.get(style_id)
        if known is None:
            known = self._looks[style_id] = self._worked_out(style_id, set())
        return known

    def _worked_out(self, style_id: str, seen: set[str]) -> Look:
        """The look by the style's own name and level, else that of the style it is based on."""
        element = self._elements.get(style_id)
        if element is None or style_id in seen:
            return _PLAIN
        seen.add(style_id)
        name = (_value(element, "w:name") or style_id).strip()
        based_on = _value(element, "w:basedOn")
        look = self._worked_out(based_on, seen) if based_on else _PLAIN
        heading = _HEADING.fullmatch(name)
        if _CONTENTS.match(name):
            return Look(contents=True)
        if name.casefold() in _TITLES:
            return Look(title=True)
        if heading:
            return Look(level=int(heading[1]))
        properties = element.find(_P_PR)
        if properties is not None:
            outline, numbered = properties.find(_OUTLINE), properties.find(_NUM)
            if outline is not None:
                look = replace(look, level=_level(outline))
            if numbered is not None and _is_numbered(numbered):
                look = replace(look, listed=True)
        return replace(look, title=False, listed=look.listed or bool(_LIST.match(name)))


_PLAIN = Look()


def _value(element: Any, tag: str) -> str | None:
    child = element.find(qn(tag))
    return None if child is None else child.get(_VAL)


def _level(outline: Any) -> int | None:
    value = outline.get(_VAL, "")
    return int(value) + 1 if value.isdigit() and int(value) < _BODY_LEVEL else None


def _is_numbered(numbering: Any) -> bool:
    number = numbering.find(_NUM_ID)
    return number is None or number.get(_VAL) != "0"  # 0 takes a style's numbering away
