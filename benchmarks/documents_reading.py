"""Sections a second of PDF and DOCX, against text extraction alone with the same libraries.

    python benchmarks/documents_reading.py [FILE…] [--rounds N]

Without files it writes a PDF and a DOCX of some hundred sections and reads those. The extraction
alone is the shortest text loop that PDFium and python-docx offer: pages to strings, paragraphs to
strings, from the bytes in memory. Rounds alternate and the best of each counts. Exit code 1 when
reading falls under half the speed of extraction for one of the kinds.
"""

from __future__ import annotations

import argparse
import io
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import docx
import pypdfium2 as pdfium
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.platypus import Paragraph, SimpleDocTemplate

from kb_search.documents import read_document

FLOOR = 0.5
CHAPTERS, PARTS = 20, 10
SENTENCE = (
    "La devolución se pide en los treinta días que siguen a la entrega, el importe vuelve por el "
    "mismo medio de pago y el transporte corre por cuenta de la tienda si llegó defectuoso. "
)


def made_pdf(path: Path) -> None:
    styles = getSampleStyleSheet()
    story = []
    for chapter in range(1, CHAPTERS + 1):
        story.append(Paragraph(f"{chapter}. Capítulo {chapter}", styles["Heading1"]))
        for part in range(1, PARTS + 1):
            story.append(Paragraph(f"{chapter}.{part} Apartado {part}", styles["Heading2"]))
            story.extend(Paragraph(SENTENCE * 3, styles["BodyText"]) for _ in range(3))
    SimpleDocTemplate(str(path)).build(story)


def made_docx(path: Path) -> None:
    document = docx.Document()
    for chapter in range(1, CHAPTERS + 1):
        document.add_heading(f"Capítulo {chapter}", level=1)
        for part in range(1, PARTS + 1):
            document.add_heading(f"Apartado {chapter}.{part}", level=2)
            for _ in range(3):
                document.add_paragraph(SENTENCE * 3)
    document.save(str(path))


def pdf_text(data: bytes) -> str:
    document = pdfium.PdfDocument(data)
    texts = []
    for page in document:
        textpage = page.get_textpage()
        texts.append(textpage.get_text_range())
        textpage.close()
        page.close()
    document.close()
    return "\n".join(texts)


def docx_text(data: bytes) -> str:
    return "\n".join(paragraph.text for paragraph in docx.Document(io.BytesIO(data)).paragraphs)


EXTRACTION: dict[str, Callable[[bytes], str]] = {".pdf": pdf_text, ".docx": docx_text}


def best_of(rounds: int, first: Callable[[], object], second: Callable[[], object]) -> list[float]:
    """Seconds of the fastest round of each, the rounds of both taking turns."""
    best = [float("inf"), float("inf")]
    for _ in range(rounds):
        for at, function in enumerate((first, second)):
            started = time.perf_counter()
            function()
            best[at] = min(best[at], time.perf_counter() - started)
    return best


def measure(path: Path, rounds: int) -> float:
    data = path.read_bytes()
    extract = EXTRACTION[path.suffix.lower()]
    sections = len(read_document(path).sections)
    alone_s, reading_s = best_of(rounds, lambda: extract(data), lambda: read_document(path))
    share = alone_s / reading_s
    print(
        f"{path.name}: {sections} sections, reading {sections / reading_s:,.0f}/s, "
        f"extraction alone {sections / alone_s:,.0f}/s, share {share:.2f}"
    )
    return share


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        files = arguments.files
        if not files:
            files = [Path(folder, "manual.pdf"), Path(folder, "manual.docx")]
            made_pdf(files[0])
            made_docx(files[1])
        shares = [measure(path, arguments.rounds) for path in files]
    return 0 if min(shares) >= FLOOR else 1


if __name__ == "__main__":
    sys.exit(main())
