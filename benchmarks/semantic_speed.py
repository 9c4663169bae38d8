"""How fast the search by meaning is: hybrid beside its parts, making vectors, a large index.

    python benchmarks/semantic_speed.py hybrid DIR     a folder as for `kb-search eval`
    python benchmarks/semantic_speed.py making DIR
    python benchmarks/semantic_speed.py index [VECTORS]   100,000 by default, seeded and clustered
    python benchmarks/semantic_speed.py queue [JOBS]      searches while so many jobs wait

KB_SEARCH_DSN names the database (one to throw away), KB_SEARCH_EMBEDDER the embedder.
"""

import argparse
import asyncio
import statistics
import time
from collections.abc import Awaitable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from kb_search.evaluation.folder import Task, read_task
from kb_search.knowledge_base import KnowledgeBase
from kb_search.semantic.making import Maker
from kb_search.semantic.texts import parts_of
from kb_search.sql import statements

COLLECTION = "benchmark-semantic"
DIMENSION = 384
CLUSTERS = 1_000
MODEL = "benchmark"
ASKED = 200


async def timed(call: Awaitable[object]) -> float:
    started = time.perf_counter()
    await call
    return (time.perf_counter() - started) * 1000


def shown(name: str, took_ms: Sequence[float]) -> None:
    p95 = statistics.quantiles(took_ms, n=20)[-1]
    print(f"{name:24} p50 {statistics.median(took_ms):8.2f} ms   p95 {p95:8.2f} ms")


async def loaded(kb: KnowledgeBase, folder: Path) -> Task:
    roles = folder / "alias_split.tsv"
    task = read_task(folder, roles=roles if roles.exists() else None)
    await kb.remove(collection=COLLECTION)
    await kb.add(task.entries, collection=COLLECTION)
    return task


async def measure_hybrid(kb: KnowledgeBase, folder: Path) -> None:
    task = await loaded(kb, folder)
    await kb.embed(collection=COLLECTION)
    texts = [question.text for question in task.questions][:ASKED]
    took: dict[str, list[float]] = {"SELECT 1": [], "lexical": [], "embedder": [], "hybrid": []}
    for text in texts:  # interleaved, so that each meets the same machine
        took["SELECT 1"].append(await timed(kb.pool.fetchval("SELECT 1")))
        took["lexical"].append(await timed(search(kb, text, "lexical")))
        took["embedder"].append(await timed(kb.meaning.embedder.embed([text], kind="query")))
        took["hybrid"].append(await timed(search(kb, text, "hybrid")))
    for name, values in took.items():
        shown(name, values)
    p50 = {name: statistics.median(values) for name, values in took.items()}
    most = p50["embedder"] + 2 * p50["lexical"]
    print(f"hybrid p50 / (embedder p50 + 2 x lexical p50): {p50['hybrid'] / most:.2f}")


async def search(kb: KnowledgeBase, text: str, mode: str) -> None:
    result = await kb.search(text, mode=mode, collection=COLLECTION)  # type: ignore[arg-type]
    if mode == "hybrid" and result.degraded:
        raise SystemExit(f"degraded: {result.degraded}")


async def measure_making(kb: KnowledgeBase, folder: Path) -> None:
    task = await loaded(kb, folder)
    fields = [
        {"title": e.title, "heading_path": (), "aliases": e.aliases, "content": e.content}
        for e in task.entries
    ]
    parts = [part for entry in fields for part in parts_of(entry)]
    parts.sort(key=lambda part: part.kind)
    embedder, batch = kb.meaning.embedder, kb.settings.embedder_batch
    await embedder.embed(["hola"], kind="passage")
    started = time.perf_counter()
    for kind in ("passage", "query"):
        texts = [part.text for part in parts if part.kind == kind]
        for first in range(0, len(texts), batch):
            await embedder.embed(texts[first : first + batch], kind=kind)
    bare = len(parts) / (time.perf_counter() - started)
    started = time.perf_counter()
    report = await kb.embed(collection=COLLECTION)
    whole = report.vectors / (time.perf_counter() - started)
    print(f"bare {bare:.1f} texts/s, through the queue {whole:.1f}/s: {whole / bare:.1%}")


async def measure_index(kb: KnowledgeBase, count: int) -> None:
    await kb.pool.execute("DELETE FROM kb_search.embedding WHERE model = $1", MODEL)
    seeded = np.random.default_rng(7)
    started = time.perf_counter()
    centres = seeded.standard_normal((CLUSTERS, DIMENSION))
    for first in range(0, count, 5_000):
        vectors = near(seeded, centres, min(5_000, count - first))
        rows = [
            (number, MODEL, str(number), "title", COLLECTION, vector)
            for number, vector in enumerate(vectors, start=first)
        ]
        async with kb.pool.acquire() as connection:
            await connection.copy_records_to_table(
                "embedding", schema_name="kb_search", records=rows
            )
    print(f"{count} vectors stored in {time.perf_counter() - started:.0f} s")
    command = await kb.pool.fetchval(
        "SELECT kb_search.vector_index_command($1, $2)", MODEL, DIMENSION
    )
    questions = near(seeded, centres, ASKED)
    # before there is an index the same statement compares all: the exact answer
    exact = [await nearest(kb, question) for question in questions]
    started = time.perf_counter()
    async with kb.pool.acquire() as connection:
        await connection.execute("SET maintenance_work_mem = '512MB'")
        await connection.execute(command, timeout=3600)
        await connection.execute("ANALYZE kb_search.embedding")
    print(f"index made in {time.perf_counter() - started:.0f} s")
    took: list[float] = []
    bare: list[float] = []
    right = 0
    for question, wanted in zip(questions, exact, strict=True):
        bare.append(await timed(kb.pool.fetchval("SELECT 1")))
        started = time.perf_counter()
        found = await nearest(kb, question)
        took.append((time.perf_counter() - started) * 1000)
        right += len(set(found[:10]) & set(wanted[:10]))
    shown("SELECT 1", bare)
    shown("vector arm", took)
    ratio = statistics.median(took) / statistics.median(bare)
    print(f"recall@10 {right / (10 * ASKED):.3f}, p50 / SELECT 1: {ratio:.1f}")
    await kb.pool.execute("DELETE FROM kb_search.embedding WHERE model = $1", MODEL)


def near(
    seeded: np.random.Generator, centres: npt.NDArray[np.float64], count: int
) -> list[list[float]]:
    """Vectors round the centres of clusters, of length 1."""
    vectors = centres[seeded.integers(len(centres), size=count)]
    vectors = vectors + 0.7 * seeded.standard_normal(vectors.shape)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    rows: list[list[float]] = vectors.tolist()
    return rows


async def nearest(kb: KnowledgeBase, question: list[float]) -> list[int]:
    records = await kb.pool.fetch(
        statements()["nearest_entries"],
        *(COLLECTION, MODEL, DIMENSION, question, 0.0, None, None, None, None, 40),
    )
    return [record["entry_id"] for record in records]


async def measure_queue(kb: KnowledgeBase, count: int) -> None:
    await kb.remove(collection=COLLECTION)
    await kb.pool.execute(
        "INSERT INTO kb_search.entry (collection, section, title, content)"
        " SELECT $1, 'a', 'Pedido ' || n, 'El pedido ' || n || ' llega en ' || n % 9 || ' días.'"
        " FROM generate_series(1, $2::integer) AS n",
        COLLECTION,
        count,
        timeout=3600,
    )
    maker = Maker(kb.database, kb.meaning.embedder, collection=COLLECTION, batch=32)

    async def some(number: int) -> float:
        return await timed(search(kb, f"cuándo llega el pedido {number * 37}", "auto"))

    idle = [await some(number) for number in range(ASKED)]
    await maker.prepare()
    working = asyncio.create_task(work(maker))
    waiting = [await some(number) for number in range(ASKED)]
    working.cancel()
    await asyncio.gather(working, return_exceptions=True)
    shown("idle", idle)
    shown(f"{count} jobs", waiting)


async def work(maker: Maker) -> None:
    while (await maker.make_batch()).claimed:
        pass


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("what", choices=["hybrid", "making", "index", "queue"])
    parser.add_argument("argument", nargs="?")
    args = parser.parse_args()
    async with KnowledgeBase.open() as kb:
        await kb.initialise()
        try:
            if args.what == "hybrid":
                await measure_hybrid(kb, Path(args.argument))
            elif args.what == "making":
                await measure_making(kb, Path(args.argument))
            elif args.what == "index":
                await measure_index(kb, int(args.argument or 100_000))
            else:
                await measure_queue(kb, int(args.argument or 100_000))
        finally:
            await kb.remove(collection=COLLECTION)
            await kb.meaning.forget_collection(COLLECTION)


if __name__ == "__main__":
    asyncio.run(main())
