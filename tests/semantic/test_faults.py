import asyncio

import pytest

from kb_search import EmbedderFailed, Entry
from tests.semantic.conftest import with_embedder
from tests.semantic.fakes import (
    TopicEmbedder,
    down,
    never,
    no_vectors,
    shorter,
    with_nan,
    with_zeros,
)

ENTRIES = [
    Entry(section="a", title="Bajas de abonados", content="Cuántos dejan el servicio al mes."),
    Entry(section="b", title="Horario", content="Desde las nueve."),
]
BAD_ANSWERS = [with_nan, with_zeros, shorter, no_vectors]


@pytest.fixture
async def embedded(kb, collection):
    await kb.add(ENTRIES)
    await kb.embed(collection=collection)
    return kb


def assert_lexical(result, reason):
    assert result.layer == "fts"
    assert result.hits[0].title == "Horario"
    assert result.degraded == (reason,)


@pytest.mark.parametrize("fault", [down(), RuntimeError("out of memory"), *BAD_ANSWERS])
async def test_an_embedder_that_fails_leaves_the_answer_to_the_words(embedded, embedder, fault):
    embedder.fault = fault
    assert_lexical(await embedded.search("el horario"), "embedder: unavailable")


async def test_an_embedder_past_its_deadline_leaves_the_answer_to_the_words(
    dsn, collection, embedded
):
    slow = TopicEmbedder()
    slow.gate = never()
    async with with_embedder(dsn, collection, slow, embedder_timeout_ms=10) as kb:
        for _ in range(5):  # more than the breaker takes: it keeps the reason
            assert_lexical(await kb.search("el horario"), "embedder: timeout")


async def test_an_embedder_that_is_down_is_not_asked_over_and_over(embedded, embedder):
    asked = 0

    async def fail(texts, *, kind):
        nonlocal asked
        asked += 1
        raise down()

    embedder.embed = fail
    for _ in range(8):
        assert_lexical(await embedded.search("el horario"), "embedder: unavailable")
    assert asked == 3


async def test_a_search_that_is_cancelled_leaves_nothing_running(embedded, embedder):
    embedder.gate = never()
    before = asyncio.all_tasks()
    search = asyncio.create_task(embedded.search("el horario"))
    while not embedder.gate._waiters:
        await asyncio.sleep(0)
    search.cancel()
    with pytest.raises(asyncio.CancelledError):
        await search
    left = asyncio.all_tasks() - before  # the driver may still be taking a connection back
    if left:
        _, pending = await asyncio.wait(left, timeout=10)
        assert not pending


async def test_vectors_that_cannot_be_read_leave_the_answer_to_the_words(
    dsn, collection, embedded, monkeypatch
):
    from kb_search import sql
    from kb_search.sql import statements

    broken = {
        **statements(),
        "vector_state": "SELECT 1 FROM kb_search.not_there WHERE $1 = $2 OR $3",
    }
    monkeypatch.setattr("kb_search.database.statements", lambda: broken)
    assert sql.statements is not None
    assert_lexical(await embedded.search("el horario"), "vectors: unavailable")


@pytest.mark.parametrize("fault", [down(), RuntimeError("out of memory"), *BAD_ANSWERS])
async def test_a_job_that_fails_is_kept_with_its_error_and_done_later(
    kb, collection, embedder, fault
):
    await kb.meaning.embed(collection=collection)
    await kb.add(ENTRIES)
    maker = kb.meaning._maker(collection)
    await maker.prepare()
    embedder.fault = fault
    made = await maker.make_batch()
    assert (made.claimed, made.entries, made.failed) == (2, 0, 2)
    (progress,) = await kb.meaning.progress(collection=collection)
    assert (progress.waiting, progress.failed, progress.vectors) == (2, 2, 0)
    assert progress.last_error == str(made.error)
    assert (await maker.make_batch()).claimed == 0  # it waits a while
    embedder.fault = None
    report = await kb.embed(collection=collection)
    assert (report.waiting, report.failed) == (0, 0)


async def test_one_text_that_cannot_be_embedded_holds_up_no_other(kb, collection, embedder):
    await kb.meaning.embed(collection=collection)
    await kb.add(ENTRIES)
    whole = embedder.embed

    async def poisoned(texts, *, kind):
        vectors = await whole(texts, kind=kind)
        return with_nan(vectors) if any("abonados" in text for text in texts) else vectors

    embedder.embed = poisoned
    report = await kb.embed(collection=collection)
    assert (report.entries, report.waiting, report.failed) == (1, 1, 1)
    assert "NaN" in report.last_error


async def test_without_any_vector_at_all_making_them_is_an_error(kb, collection, embedder):
    embedder.fault = down()
    with pytest.raises(EmbedderFailed, match="cannot be reached"):
        await kb.embed(collection=collection)


async def test_a_model_whose_vectors_changed_their_length_is_refused(dsn, collection, embedded):
    async with with_embedder(dsn, collection, TopicEmbedder(dimension=30)) as kb:
        with pytest.raises(EmbedderFailed, match="30 numbers instead of 24"):
            await kb.embed(collection=collection)
        assert_lexical(await kb.search("el horario"), "embedder: unavailable")


async def test_another_model_starts_from_nothing_and_both_are_kept_apart(
    dsn, collection, embedded, embedder
):
    other = TopicEmbedder(model="other", dimension=12)
    async with with_embedder(dsn, collection, other) as kb:
        assert_lexical(await kb.search("el horario"), "vectors: 0 of 2")
        maker = kb.meaning._maker(collection)
        await maker.prepare()
        await kb.pool.execute(
            "DELETE FROM kb_search.vector_job WHERE entry_id = (SELECT max(entry_id)"
            " FROM kb_search.vector_job WHERE model = 'other') AND model = 'other'"
        )
        await maker.make_batch()
        await kb.add([Entry(section="a", title="Nueva", content="Otra cosa.")])
        half = await kb.search("pérdida clientes")
        assert half.layer == "hybrid"
        assert half.degraded == ("vectors: 2 of 3",)
        await kb.embed(collection=collection)
        assert (await kb.search("pérdida clientes")).degraded == ()
        assert (await embedded.search("pérdida clientes")).degraded == ("vectors: 2 of 3",)
        assert await kb.meaning.forget_model("other") > 0
