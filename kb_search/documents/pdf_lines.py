"""The lines of a PDF page with their place and their look."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pypdfium2 as pdfium
from pypdfium2 import raw

# PDFium writes U+FFFE for a hyphen at the end of a line and goes on with the next line.
_LINE_ENDS = re.compile(r"\r\n|[\r\n]|\ufffe")
_HYPHEN = "\ufffe"
_WIDE = re.compile("[\U00010000-\U0010ffff]")
_BOLD_NAME = re.compile(rb"bold|black|heavy|semibold|demi", re.IGNORECASE)
_BOLD_WEIGHT = 600
_NAME_BYTES = 96


@dataclass(slots=True)
class Line:
    """One printed line; lengths in points, `top` and `bottom` grow upwards from the page's foot.

    `size` is the height of the font as printed, rounded to half a point; `hyphen` says that the
    line ends within a word.
    """

    text: str
    page: int
    left: float
    bottom: float
    right: float
    top: float
    size: float
    bold: bool
    upright: bool
    hyphen: bool

    @property
    def style(self) -> tuple[float, bool]:
        return self.size, self.bold


class PageReader:
    """Reads the lines of one page after the other, with the same few buffers for all."""

    def __init__(self) -> None:
        self._matrix = raw.FS_MATRIX()
        self._box = raw.FS_RECTF()
        self._name = ctypes.create_string_buffer(_NAME_BYTES)
        self._flags = ctypes.c_int()
        self._bold: dict[bytes, bool] = {}

    def lines(self, document: pdfium.PdfDocument, number: int) -> tuple[list[Line], float]:
        """The lines in the order in which the page draws them, and the height of the page."""
        page = document[number]
        try:
            textpage = page.get_textpage()
            try:
                text = textpage.get_text_range()
                found = list(self._lines(textpage.raw, text, number))
            finally:
                textpage.close()
            return found, page.get_height()
        finally:
            page.close()

    def _lines(self, handle: Any, text: str, number: int) -> Iterator[Line]:
        wide = bool(_WIDE.search(text))
        # Characters without a code are left out of the text: only then do the counts differ.
        same = not wide and raw.FPDFText_CountChars(handle) == len(text)
        start = 0
        for end, following, hyphen in _breaks(text):
            piece = text[start:end]
            if piece and not piece.isspace():
                first = start + len(piece) - len(piece.lstrip())
                last = start + len(piece.rstrip()) - 1
                if wide:  # PDFium counts UTF-16 units
                    first, last = (_units(text, at) for at in (first, last))
                if not same:
                    first = raw.FPDFText_GetCharIndexFromTextIndex(handle, first)
                    last = raw.FPDFText_GetCharIndexFromTextIndex(handle, last)
                yield self._line(handle, piece.strip(), number, (first, last), hyphen=hyphen)
            start = following

    def _line(
        self, handle: Any, text: str, number: int, ends: tuple[int, int], *, hyphen: bool
    ) -> Line:
        first, last = ends
        box, matrix = self._box, self._matrix
        raw.FPDFText_GetLooseCharBox(handle, last, box)
        right = box.right
        raw.FPDFText_GetLooseCharBox(handle, first, box)
        raw.FPDFText_GetMatrix(handle, last, matrix)
        upright = abs(matrix.d) >= abs(matrix.b)
        scale = abs(matrix.d) if upright else abs(matrix.b)
        size = raw.FPDFText_GetFontSize(handle, last) * scale
        return Line(
            text=text,
            page=number,
            left=box.left,
            bottom=box.bottom,
            right=max(right, box.right),
            top=box.top,
            size=round(size * 2) / 2,
            bold=self._is_bold(handle, first) and (first == last or self._is_bold(handle, last)),
            upright=upright,
            hyphen=hyphen,
        )

    def _is_bold(self, handle: Any, index: int) -> bool:
        length = raw.FPDFText_GetFontInfo(handle, index, self._name, _NAME_BYTES, self._flags)
        name = self._name.raw[:length] if 0 < length <= _NAME_BYTES else b""
        bold = self._bold.get(name)
        if bold is None:
            bold = bool(_BOLD_NAME.search(name))
            bold = bold or raw.FPDFText_GetFontWeight(handle, index) >= _BOLD_WEIGHT
            if name:
                self._bold[name] = bold
        return bold


def _breaks(text: str) -> Iterator[tuple[int, int, bool]]:
    """Where each line ends, where the next one starts, and whether a hyphen parts them."""
    for found in _LINE_ENDS.finditer(text):
        yield found.start(), found.end(), found[0] == _HYPHEN
    yield len(text), len(text), False


def _units(text: str, at: int) -> int:
    return at + sum(1 for char in text[:at] if char > "\uffff")
