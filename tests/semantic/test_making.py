import asyncio

import pytest

from kb_search import Entry
from tests.semantic.conftest import with_embedder
from tests.semantic.fakes import TopicEmbedder, never

ONE = Entry(section="a", title="Tarifas", content="Desde 30 euros.", aliases=("cuánto vale",))


def entry(number):
    return Entry(section="a", title=f"Entrada {number}", content=f"Contenido {number}.")


async def vectors(kb, collection):
    return await kb.pool.fetch(
        "SELECT v.part, v.digest, v.entry_id FROM kb_search.embedding AS v WHERE v.collection = $1",
        collection,
    )


@pytest.fixture
async def embedded(kb, collection, embedder):
    await kb.add([ONE])
    await kb.embed(collection=collection)
    embedder.texts.clear()
    return kb


async def test_each_part_of_an_entry_gets_a_vector(embedded, collection):
    parts = sorted(record["part"] for record in await vectors(embedded, collection))
    assert parts == ["alias", "content", "content", "title"]


async def test_making_them_again_embeds_nothing(embedded, collection, embedder):
    report = await embedded.embed(collection=collection)
    assert (report.entries, report.vectors) == (0, 0)
    assert "Tarifas" not in embedder.passages()


async def test_only_the_text_that_changed_is_made_again(embedded, collection, embedder):
    before = {record["digest"] for record in await vectors(embedded, collection)}
    await embedded.pool.execute(
        "UPDATE kb_search.entry SET aliases = '{precio}' WHERE collection = $1", collection
    )
    kept = {record["digest"] for record in await vectors(embedded, collection)}
    assert len(before - kept) == 1  # a stale vector finds nothing any more
    report = await embedded.embed(collection=collection)
    assert report.vectors == 1
    assert ("precio", "query") in embedder.texts


async def test_a_change_of_tags_makes_nothing_stale(embedded, collection):
    await embedded.pool.execute(
        "UPDATE kb_search.entry SET tags = '{nuevo}' WHERE collection = $1", collection
    )
    assert len(await vectors(embedded, collection)) == 4
    assert (await embedded.embed(collection=collection)).entries == 0


async def test_a_change_of_the_content_leaves_title_and_aliases(embedded, collection):
    await embedded.pool.execute(
        "UPDATE kb_search.entry SET content = 'Desde 40.' WHERE collection = $1", collection
    )
    assert {r["part"] for r in await vectors(embedded, collection)} == {"title", "alias"}


async def test_vectors_move_with_their_entry_to_another_collection(embedded, collection):
    await embedded.pool.execute(
        "UPDATE kb_search.entry SET collection = $2 WHERE collection = $1", collection, "moved"
    )
    assert await vectors(embedded, collection) == []
    assert len(await vectors(embedded, "moved")) == 4
    await embedded.remove(collection="moved")


async def test_vectors_go_with_their_entry(embedded, collection):
    await embedded.remove(collection=collection)
    assert await vectors(embedded, collection) == []


async def test_a_truncated_table_of_entries_leaves_neither_vectors_nor_jobs(
    schema_database, embedder
):
    async with with_embedder(schema_database, "default", embedder) as kb:
        await kb.add([ONE])
        await kb.embed()
        await kb.add([entry(1)])
        await kb.pool.execute("TRUNCATE kb_search.entry")
        left = await kb.pool.fetchval(
            "SELECT (SELECT count(*) FROM kb_search.embedding)"
            " + (SELECT count(*) FROM kb_search.vector_job)"
        )
    assert left == 0


async def test_entries_of_later_collections_are_queued_where_all_are_wanted(
    schema_database, embedder
):
    async with with_embedder(schema_database, "default", embedder) as kb:
        await kb.embed()
        await kb.add([ONE], collection="later")
        report = await kb.embed(collection="later")
    assert report.entries == 1


async def test_an_insert_from_plain_sql_is_queued(embedded, collection):
    await embedded.pool.execute(
        "INSERT INTO kb_search.entry (collection, title) VALUES ($1, 'Nueva')", collection
    )
    assert (await embedded.embed(collection=collection)).entries == 1


async def test_several_workers_make_each_vector_once(dsn, kb, collection):
    embedders = [TopicEmbedder() for _ in range(3)]
    await kb.add([entry(number) for number in range(300)])
    async with (
        with_embedder(dsn, collection, embedders[0]) as one,
        with_embedder(dsn, collection, embedders[1]) as two,
        with_embedder(dsn, collection, embedders[2]) as three,
    ):
        reports = await asyncio.gather(
            *(each.embed(collection=collection) for each in (one, two, three))
        )
    assert sum(report.entries for report in reports) == 300
    made = [
        text for each in embedders for text, _ in each.texts if text.startswith(("Ent", "Cont"))
    ]
    assert len(made) == len(set(made)) == 900
    assert len(await vectors(kb, collection)) == 900


async def test_a_worker_that_is_cut_off_in_a_batch_loses_nothing(dsn, kb, collection, embedder):
    await kb.add([entry(number) for number in range(10)])
    stuck = TopicEmbedder()
    async with with_embedder(dsn, collection, stuck) as killed:
        maker = killed.meaning._maker(collection)
        await maker.prepare()
        stuck.gate = never()
        batch = asyncio.create_task(maker.make_batch())
        while not stuck.gate._waiters:
            await asyncio.sleep(0)
        assert (await kb.meaning._maker(collection).make_batch()).claimed == 0  # they are held
        killed.pool.terminate()  # what is left of a process after kill -9: a broken connection
        with pytest.raises(Exception, match="connection"):
            stuck.gate.set()
            await batch
    report = await kb.embed(collection=collection)
    assert (report.entries, report.waiting) == (10, 0)
    assert len(await vectors(kb, collection)) == 30


async def test_a_writer_does_not_wait_for_a_worker(kb, dsn, collection, embedder):
    await kb.add([entry(number) for number in range(3)])
    maker = kb.meaning._maker(collection)
    await maker.prepare()
    embedder.gate = never()
    batch = asyncio.create_task(maker.make_batch())
    while not embedder.gate._waiters:
        await asyncio.sleep(0)
    async with asyncio.timeout(30):
        await kb.pool.execute(
            "UPDATE kb_search.entry SET content = 'Otra.' WHERE collection = $1", collection
        )
        await kb.remove(collection=collection, ids=[(await kb.entries())[0].id])
    embedder.gate.set()
    made = await batch
    assert made.vectors == 0  # made of texts that are no more
    embedder.gate = None
    assert (await kb.embed(collection=collection)).waiting == 0
    assert len(await vectors(kb, collection)) == 6


async def test_a_worker_inside_the_process_makes_what_is_added(schema_database):
    embedder = TopicEmbedder()
    async with with_embedder(schema_database, "default", embedder, embed_poll_s=3600) as kb:
        await kb.embed()
        kb.meaning.start_worker()
        async with asyncio.timeout(60):
            while not await listeners(kb):
                await asyncio.sleep(0.01)
            await kb.add([ONE])  # a notice wakes it: the next look would be in an hour
            while len(await vectors(kb, "default")) < 4:
                await asyncio.sleep(0.01)


async def listeners(kb):
    return await kb.pool.fetchval(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
        " AND query LIKE 'LISTEN%'"
    )
