"""How long a search takes, against `SELECT 1` on the same pool in the same run.

    python benchmarks/search_speed.py [--entries 1000] [--questions 400]

Entries are paragraphs of about 125 words drawn from a made-up vocabulary with Zipf's law and
Spanish stop words among them; questions are ten words of one entry. The two are asked in turns, so
that both see the same machine. Uses KB_SEARCH_DSN, else an embedded server in a temporary folder.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import re
import resource
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from itertools import accumulate
from pathlib import Path

from kb_search import Entry, KnowledgeBase, Settings

SYLLABLES = [c + v for c in "bcdfglmnprstv" for v in "aeiou"]
STOP = re.findall(r"\w+", "de la que el en y a los se del las un por con no una su para es al lo")
COLLECTION = "benchmark-search-speed"


def vocabulary(rng: random.Random, size: int) -> list[str]:
    words: set[str] = set()
    while len(words) < size:
        words.add("".join(rng.choices(SYLLABLES, k=rng.randint(2, 4))) + rng.choice(["", "s", "r"]))
    chosen = sorted(words)  # a set has another order in every process
    rng.shuffle(chosen)
    return chosen


def paragraphs(rng: random.Random, count: int) -> list[list[str]]:
    words = vocabulary(rng, 8_000)
    weights = list(accumulate(1 / (rank + 3) for rank in range(len(words))))
    texts = []
    for _ in range(count):
        length = rng.randint(95, 155)
        content = rng.choices(words, cum_weights=weights, k=length * 55 // 100)
        stop = rng.choices(
            STOP, weights=[1 / (n + 1) for n in range(len(STOP))], k=length * 45 // 100
        )
        mixed = content + stop
        rng.shuffle(mixed)
        texts.append(mixed)
    return texts


async def timed(call: Callable[[], Awaitable[object]]) -> float:
    start = time.perf_counter()
    await call()
    return (time.perf_counter() - start) * 1000


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


async def measure(kb: KnowledgeBase, questions: list[str]) -> tuple[list[float], list[float]]:
    search_ms, select_ms = [], []
    for question in questions[:40]:
        await kb.search(question, collection=COLLECTION)
    for question in questions:
        select_ms.append(await timed(lambda: kb.pool.fetchval("SELECT 1")))
        search_ms.append(
            await timed(lambda text=question: kb.search(text, collection=COLLECTION))  # type: ignore[misc]
        )
    return search_ms, select_ms


async def run(entries: int, count: int, folder: Path) -> None:
    rng = random.Random(7)
    texts = paragraphs(rng, entries)
    questions = [" ".join(rng.sample(rng.choice(texts), 10)) for _ in range(count)]
    settings = Settings() if os.environ.get("KB_SEARCH_DSN") else Settings(data_dir=folder)
    async with KnowledgeBase.open(settings) as kb:
        await kb.remove(collection=COLLECTION)
        start = time.perf_counter()
        await kb.add(
            [
                Entry(section="p", title=" ".join(words[:5]), content=" ".join(words))
                for words in texts
            ],
            collection=COLLECTION,
        )
        loaded_s = time.perf_counter() - start
        await kb.pool.execute(
            "VACUUM ANALYZE kb_search.entry, kb_search.stem_count, kb_search.word_count"
        )
        search_ms, select_ms = await measure(kb, questions)
        await kb.remove(collection=COLLECTION)
    p50, base = statistics.median(search_ms), statistics.median(select_ms)
    print(f"{entries} entries loaded in {loaded_s:.1f} s")
    print(f"SELECT 1   p50 {base:.3f} ms  p95 {percentile(select_ms, 0.95):.3f} ms")
    print(f"search()   p50 {p50:.3f} ms  p95 {percentile(search_ms, 0.95):.3f} ms")
    print(f"ratio of the p50: {p50 / base:.1f}")
    largest_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"this process at its largest: {largest_mb} MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--entries", type=int, default=1000)
    parser.add_argument("--questions", type=int, default=400)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(run(arguments.entries, arguments.questions, Path(folder)))


if __name__ == "__main__":
    main()
