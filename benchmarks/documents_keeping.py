"""How long it takes to ingest 1,000 files, again unchanged, and again with one of them changed.

    python benchmarks/documents_keeping.py [--files N] [--dsn DSN]

Without a DSN it runs on the embedded server. It writes the files itself, into a collection of
its own that it empties. Exit code 1 when the unchanged files take a tenth of the first time or
more, or when the one change touches more than its document.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path

from kb_search import KnowledgeBase
from kb_search.ingest.values import IngestReport

COLLECTION = "benchmark-documents"
CEILING = 0.1
ROUNDS = 3
SENTENCES = (
    "La devolución se pide en los treinta días que siguen a la entrega.",
    "El importe vuelve por el mismo medio de pago en una semana.",
    "El transporte corre por cuenta de la tienda si el artículo llegó defectuoso.",
    "Para cambiar de talla basta con escribir a la tienda antes de enviarlo.",
)


def write(folder: Path, files: int) -> None:
    for number in range(files):
        sections = "\n\n".join(
            f"## Apartado {part} del caso {number}\n\n{' '.join(SENTENCES)} ({number}-{part})"
            for part in range(4)
        )
        (folder / f"caso-{number:04}.md").write_text(f"# Caso {number}\n\n{sections}\n")


async def timed(kb: KnowledgeBase, folder: Path) -> tuple[float, IngestReport]:
    started = time.perf_counter()
    report = await kb.ingest(folder, prune=True)
    return time.perf_counter() - started, report


async def measure(dsn: str | None, files: int) -> bool:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder, files)
        async with KnowledgeBase.open(dsn=dsn, collection=COLLECTION) as kb:
            await kb.initialise()
            await kb.remove(collection=COLLECTION)
            try:
                return await _rounds(kb, folder, files)
            finally:
                await kb.remove(collection=COLLECTION)


async def _rounds(kb: KnowledgeBase, folder: Path, files: int) -> bool:
    first_s, report = await timed(kb, folder)
    assert report.added == files, report
    sections = (await kb.corpus_stats()).sections
    print(f"first: {files} files, {sections} sections, {first_s:.2f} s")
    again_s = min([(await timed(kb, folder))[0] for _ in range(ROUNDS)])
    print(f"unchanged: {again_s:.3f} s, {again_s / first_s:.3f} of the first time")
    before = {document.id: document.updated_at for document in await kb.list_documents()}
    changed = folder / "caso-0000.md"
    changed.write_text(changed.read_text().replace("una semana", "dos semanas"))
    one_s, report = await timed(kb, folder)
    after = {document.id: document.updated_at for document in await kb.list_documents()}
    touched = sum(before.get(id_) != at for id_, at in after.items())
    print(f"one changed: {one_s:.3f} s, {touched} document touched, {report.replaced} replaced")
    return again_s < CEILING * first_s and touched == 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--files", type=int, default=1_000)
    parser.add_argument("--dsn")
    arguments = parser.parse_args()
    return 0 if asyncio.run(measure(arguments.dsn, arguments.files)) else 1


if __name__ == "__main__":
    sys.exit(main())
