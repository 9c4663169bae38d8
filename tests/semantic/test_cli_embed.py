import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kb_search import Entry
from tests.semantic.fakes import TopicEmbedder

ROOT = Path(__file__).parent.parent.parent
ENTRIES = [
    Entry(section="a", title="Bajas de abonados", content="Cuántos dejan el servicio."),
    Entry(section="b", title="Horario", content="Desde las nueve.", aliases=("a qué hora abre",)),
]


@pytest.fixture
def run(dsn, collection):
    def call(*arguments, embedder="python:tests.semantic.fakes:TopicEmbedder"):
        return subprocess.run(
            [sys.executable, "-m", "kb_search", "--collection", collection, *arguments],
            capture_output=True,
            text=True,
            check=False,
            cwd=ROOT,
            env=environment(dsn, embedder),
        )

    return call


def environment(dsn, embedder):
    return {
        **os.environ,
        "KB_SEARCH_DSN": dsn,
        "KB_SEARCH_EMBEDDER": embedder,
        "PYTHONIOENCODING": "utf-8",
    }


async def test_vectors_are_made_and_told_of(kb, run):
    await kb.add(ENTRIES)
    made = run("embed", "--json")
    assert made.returncode == 0, made.stderr
    report = json.loads(made.stdout)
    assert (report["model"], report["entries"], report["waiting"]) == ("topics", 2, 0)
    status = json.loads(run("embed", "--status", "--json").stdout)
    (collection,) = status["collections"]
    assert (collection["entries"], collection["waiting"], collection["vectors"]) == (2, 0, 7)
    asked = json.loads(run("ask", "--json", "pérdida", "de", "clientes").stdout)
    assert asked["layer"] == "hybrid"


async def test_an_embedder_that_fails_ends_with_2_and_its_reason(kb, run):
    await kb.add(ENTRIES)
    made = run("embed", "--json", embedder="ollama:m")
    assert made.returncode == 2
    assert "cannot be reached" in json.loads(made.stdout)["error"]["message"]
    none = run("embed", embedder="none")
    assert none.returncode == 2
    assert "no embedder is set up" in none.stderr


def test_an_evaluation_by_meaning_makes_its_own_vectors(run, tmp_path):
    rows = {
        "corpus.jsonl": [
            {"_id": "1", "title": "Bajas de abonados", "text": "Cuántos dejan el servicio."},
            {"_id": "2", "title": "Horario", "text": "Desde las nueve."},
        ],
        "queries.jsonl": [{"_id": "q", "text": "pérdida clientes"}],
    }
    for name, lines in rows.items():
        text = "\n".join(json.dumps(line) for line in lines)
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "qrels.tsv").write_text("q\t1\t1\n", encoding="utf-8")
    done = run("eval", str(tmp_path), "--mode", "hybrid", "--json")
    assert done.returncode == 0, done.stderr
    measured = json.loads(done.stdout)
    assert (measured["mrr@10"], measured["layers"]) == (1.0, {"hybrid": 1})
    refused = run("eval", str(tmp_path), "--mode", "hybrid", embedder="none")
    assert refused.returncode == 2


async def test_a_process_killed_in_a_batch_leaves_its_work_to_the_next(kb, dsn, collection):
    await kb.add([Entry(section="a", title=f"Entrada {n}", content="x") for n in range(10)])
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "kb_search", "--collection", collection, "embed"),
        cwd=ROOT,
        env=environment(dsn, "python:tests.semantic.fakes:StuckEmbedder"),
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    async with asyncio.timeout(60):
        while await free_jobs(kb, collection) or not await jobs(kb, collection):
            await asyncio.sleep(0.02)
    process.kill()
    await process.wait()
    async with asyncio.timeout(60):
        report = await kb.embed(collection=collection)
    assert (report.entries, report.waiting) == (10, 0)
    assert report.vectors == 30


async def jobs(kb, collection):
    return await kb.pool.fetchval(
        "SELECT count(*) FROM kb_search.vector_job WHERE collection = $1", collection
    )


async def free_jobs(kb, collection):
    return len(
        await kb.pool.fetch(
            "SELECT FROM kb_search.vector_job WHERE collection = $1 FOR UPDATE SKIP LOCKED",
            collection,
        )
    )


def test_the_fakes_tell_topics_apart():
    fake = TopicEmbedder()
    near = zip(fake.vector("pérdida clientes"), fake.vector("bajas abonados"), strict=True)
    apart = zip(fake.vector("pérdida clientes"), fake.vector("horario"), strict=True)
    assert sum(x * y for x, y in near) > 0.9
    assert sum(x * y for x, y in apart) < 0.1
