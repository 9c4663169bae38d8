"""Documents that the tests write themselves, with the tree of headings that they must give."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import docx
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.platypus import Flowable, Paragraph, SimpleDocTemplate

CHAPTERS = ("Pedidos", "Envíos", "Devoluciones", "Pagos", "Atención al cliente")
PARTS = ("Qué hace falta", "Plazos", "Cuánto cuesta")
DETAIL = "Excepciones"
TEXT = (
    "La solicitud se hace desde la cuenta de la tienda y se responde en dos días laborables. "
    "Si el artículo llegó dañado basta con una fotografía del embalaje. "
)


def told(number: int, times: int = 3) -> str:
    """The text below the heading of that number; no two pages begin alike."""
    return " ".join(f"Nota {number}.{time}: {TEXT.strip()}" for time in range(times))


# (level, heading) in reading order: five chapters of three parts, each with one detail.
Outline = list[tuple[int, str]]


def manual_outline() -> Outline:
    outline: Outline = []
    for chapter in CHAPTERS:
        outline.append((1, chapter))
        for part in PARTS:
            outline.append((2, f"{part}: {chapter.lower()}"))
            outline.append((3, f"{DETAIL} ({part.lower()}, {chapter.lower()})"))
    return outline


def tree(outline: Outline) -> tuple[tuple[str, ...], ...]:
    """The heading paths that an outline stands for."""
    paths: list[tuple[str, ...]] = []
    open_headings: list[tuple[int, str]] = []
    for level, heading in outline:
        open_headings = [entry for entry in open_headings if entry[0] < level]
        open_headings.append((level, heading))
        paths.append(tuple(name for _, name in open_headings))
    return tuple(paths)


def write_docx(path: Path, outline: Outline, *, text: str = TEXT) -> Path:
    document = docx.Document()
    for level, heading in outline:
        document.add_heading(heading, level=level)
        document.add_paragraph(text)
    document.save(str(path))
    return path


class Bookmarked(Paragraph):  # type: ignore[misc]  # reportlab has no types
    """A heading that also goes into the outline of the PDF."""

    def __init__(self, text: str, style: Any, level: int) -> None:
        super().__init__(text, style)
        self._level, self._title = level, text

    def draw(self) -> None:
        key = f"{self._level}-{self._title}"
        top = self.canv.absolutePosition(0, self.height)[1]
        self.canv.bookmarkPage(key, fit="XYZ", left=0, top=top)
        self.canv.addOutlineEntry(self._title, key, self._level - 1)
        super().draw()


def write_pdf(
    path: Path,
    outline: Outline,
    *,
    bookmarks: bool = False,
    times: int = 3,
    head: str | None = None,
    title: str | None = None,
    flat: bool = False,
) -> Path:
    """`flat` prints the headings in the font of the text, so that only bookmarks tell them."""
    styles = getSampleStyleSheet()
    story: list[Flowable] = []
    for number, (level, heading) in enumerate(outline):
        style = styles["BodyText"] if flat else styles[f"Heading{level}"]
        story.append(Bookmarked(heading, style, level) if bookmarks else Paragraph(heading, style))
        story.append(Paragraph(told(number, times), styles["BodyText"]))

    def decorate(canvas: Any, template: Any) -> None:
        if head is not None:
            canvas.setFont("Helvetica", 8)
            canvas.drawString(72, 800, head)
            canvas.drawRightString(523, 30, f"Página {template.page} de 99")

    template = SimpleDocTemplate(str(path), title=title)
    template.build(story, onFirstPage=decorate, onLaterPages=decorate)
    return path


def rewrite_zip(data: bytes, replaced: dict[str, bytes]) -> bytes:
    """The archive with some members replaced or added."""
    out = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(data)) as old,
        zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for name in old.namelist():
            if name not in replaced:
                new.writestr(name, old.read(name))
        for name, content in replaced.items():
            new.writestr(name, content)
    return out.getvalue()


def docx_bytes(paragraph: str = "Hola.") -> bytes:
    out = io.BytesIO()
    document = docx.Document()
    document.add_paragraph(paragraph)
    document.save(out)
    return out.getvalue()
