import re

import asyncpg
import pytest

from kb_search import Entry, KnowledgeBase
from kb_search.sql import statements
from tests.semantic.conftest import with_embedder
from tests.semantic.fakes import TopicEmbedder

ENTRIES = [
    Entry(section="a", title="Bajas de abonados", content="Cuántos dejan el servicio al mes."),
    Entry(section="b", title="Horario", content="Desde las nueve."),
]


@pytest.fixture
async def without_pgvector(schema_database):
    """A database whose server has no pgvector: the functions that `init` makes there."""
    from kb_search.schema import _schema

    connection = await asyncpg.connect(schema_database)
    await connection.execute("DROP EXTENSION vector CASCADE")
    await connection.execute("DROP FUNCTION IF EXISTS kb_search.nearest_entries")
    script, found = re.subn(
        r"CREATE EXTENSION vector\b[^;']*;", "RAISE feature_not_supported;", _schema()
    )
    assert found
    await connection.execute(script)
    assert (
        await connection.fetchval("SELECT count(*) FROM pg_extension WHERE extname = 'vector'") == 0
    )
    await connection.close()
    return schema_database


async def test_without_pgvector_vectors_are_compared_all_the_same(without_pgvector):
    async with with_embedder(without_pgvector, "default", TopicEmbedder()) as kb:
        await kb.add(ENTRIES)
        report = await kb.embed()
        result = await kb.search("pérdida clientes")
        other = await kb.search("pérdida clientes", section="b", mode="semantic")
    assert report.waiting == 0
    assert result.layer == "hybrid"
    assert result.hits[0].title == "Bajas de abonados"
    assert result.degraded == ()
    assert [hit.title for hit in other.hits] == ["Horario"]


async def test_with_and_without_pgvector_the_cosines_are_the_same(without_pgvector):
    async with with_embedder(without_pgvector, "default", TopicEmbedder()) as kb:
        await kb.add(ENTRIES)
        await kb.embed()
        without = await kb.search("pérdida clientes", mode="semantic")
        await kb.pool.execute("CREATE EXTENSION vector")
        await kb.initialise()
        beside = await kb.search("pérdida clientes", mode="semantic")
    assert [hit.id for hit in without.hits] == [hit.id for hit in beside.hits]
    assert [hit.score for hit in without.hits] == pytest.approx([hit.score for hit in beside.hits])


async def test_the_doctor_says_what_is_lost_without_pgvector(without_pgvector):
    async with KnowledgeBase.open(dsn=without_pgvector) as kb:
        checks = {check.name: check for check in await kb.doctor()}
    assert checks["pgvector"].level == "warning"
    assert "6,000" in checks["pgvector"].message


async def test_pgvector_may_live_in_a_schema_of_its_own(fresh_database):
    connection = await asyncpg.connect(fresh_database)
    await connection.execute("CREATE SCHEMA extensions")
    await connection.execute("CREATE EXTENSION vector SCHEMA extensions")
    await connection.close()
    async with with_embedder(fresh_database, "default", TopicEmbedder()) as kb:
        await kb.initialise()
        await kb.add(ENTRIES)
        await kb.embed()
        assert (await kb.search("pérdida clientes")).hits[0].title == "Bajas de abonados"


async def many(kb, collection, count):
    """Seeded vectors of entries, without an embedder's work."""
    await kb.pool.execute(
        """
        WITH made AS (
            INSERT INTO kb_search.entry (collection, section, title)
            SELECT $1, 'a', 'Entrada ' || n FROM generate_series(1, $2::integer) AS n
            RETURNING id, title
        )
        INSERT INTO kb_search.embedding (entry_id, model, digest, part, collection, numbers)
        SELECT m.id, 'topics', md5(m.title), 'title', $1, l.numbers
        FROM made AS m CROSS JOIN LATERAL (
            SELECT array_agg(r.x / r.length) AS numbers FROM (
                SELECT x, sqrt(sum(x * x) OVER ()) AS length
                FROM (SELECT (random() - 0.5 + m.id * 0)::real AS x FROM generate_series(1, 24)) AS g
            ) AS r
        ) AS l
        """,
        collection,
        count,
    )


async def test_many_vectors_get_an_index_which_the_search_uses(schema_database):
    async with with_embedder(schema_database, "default", TopicEmbedder()) as kb:
        await kb.embed()
        await many(kb, "default", 3_500)
        await kb.pool.execute("DELETE FROM kb_search.vector_job")
        maker = kb.meaning._maker(None)
        await maker.prepare()
        await maker.make_index()
        await maker.make_index()  # there already
        await kb.pool.execute("ANALYZE kb_search.embedding")
        result = await kb.search("pérdida clientes", mode="semantic")
        assert len(result.hits) == 4
        async with kb.pool.acquire() as connection:
            found = await connection.fetch(
                statements()["nearest_entries"],
                *("default", "topics", 24, TopicEmbedder().vector("clientes"), 0.0),
                *(None, None, None, None, 40),
            )
            assert len(found) == 40
            await connection.execute("SELECT pg_stat_force_next_flush()")
            scans = await connection.fetchval(
                "SELECT idx_scan FROM pg_stat_user_indexes WHERE indexrelname LIKE 'vector_near_%'"
            )
        assert scans > 0


async def test_an_index_that_was_left_half_made_is_made_again(schema_database):
    async with with_embedder(schema_database, "default", TopicEmbedder()) as kb:
        await kb.embed()
        await many(kb, "default", 3_500)
        await kb.pool.execute("DELETE FROM kb_search.vector_job")
        maker = kb.meaning._maker(None)
        await maker.prepare()
        await maker.make_index()
        await kb.pool.execute(
            "UPDATE pg_index SET indisvalid = false WHERE indexrelid ="
            " (SELECT indexrelid FROM pg_stat_user_indexes WHERE indexrelname LIKE 'vector_near_%')"
        )
        await maker.make_index()
        valid = await kb.pool.fetchval(
            "SELECT i.indisvalid FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid"
            " WHERE c.relname LIKE 'vector_near_%'"
        )
    assert valid
