import asyncpg
import pytest

from kb_search import DatabaseError, Entry, KnowledgeBase
from tests.servers.roads import Road, open_database

RATES = Entry(section="tarifas", title="Tarifas", content="Desde 40 € la hora.")


async def test_a_role_that_may_only_read_searches_and_cannot_write(server):
    async with open_database(Road.READONLY, server.dsn) as database:
        async with KnowledgeBase.open(dsn=database.writer_dsn) as writer:
            await writer.add([RATES])
        async with KnowledgeBase.open(dsn=database.dsn) as reader:
            result = await reader.search("tarifa")
            with pytest.raises(DatabaseError) as caught:
                await reader.add([RATES])
    assert [hit.title for hit in result.hits] == ["Tarifas"]
    assert caught.value.sqlstate in {"25006", "42501"}


async def test_a_role_that_may_create_no_extension_seeds_and_searches(server):
    async with (
        open_database(Road.PLAINROLE, server.dsn) as database,
        KnowledgeBase.open(dsn=database.dsn) as kb,
    ):
        await kb.add([RATES])
        result = await kb.search("tarifa")
        schemas = await kb.pool.fetch(
            "SELECT n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = extnamespace"
            " WHERE extname <> 'plpgsql'"
        )
        may_create = await kb.pool.fetchval(
            "SELECT has_database_privilege(current_database(), 'CREATE')"
        )
    assert [hit.title for hit in result.hits] == ["Tarifas"]
    assert {schema["nspname"] for schema in schemas} == {"extensions"}
    assert may_create is False


async def test_a_dead_host_before_the_one_that_answers_is_passed_over(server):
    async with open_database(Road.HOSTS, server.dsn) as database:
        assert "host=127.0.0.1," in database.dsn
        async with KnowledgeBase.open(dsn=database.dsn) as kb:
            await kb.add([RATES])
            result = await kb.search("tarifa")
    assert [hit.title for hit in result.hits] == ["Tarifas"]


@pytest.mark.parametrize("taken", [Road.HOSTS, Road.READONLY, Road.PLAINROLE])
async def test_a_road_leaves_neither_database_nor_role_behind(server, taken):
    async def left() -> set[str]:
        rows = await connection.fetch(
            "SELECT datname::text AS name FROM pg_database UNION ALL"
            " SELECT rolname::text FROM pg_roles"
        )
        return {row["name"] for row in rows}

    connection = await asyncpg.connect(server.dsn)
    before = await left()
    async with open_database(taken, server.dsn):
        assert await left() > before
    assert await left() == before
    await connection.close()
