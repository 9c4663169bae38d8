"""What only this road can show; search and seeding take it by `--road pgbouncer`."""

import asyncio

import asyncpg

from kb_search import Entry, KnowledgeBase
from tests.pooler.pgbouncer import SERVER_CONNECTIONS

RATES = Entry(section="tarifas", title="Tarifas", content="Desde 40 € la hora.")


async def test_more_clients_are_served_than_the_pooler_has_server_connections(dsn):
    """In session mode the clients over that number would wait for the others to leave."""
    clients = [
        await asyncpg.connect(dsn, statement_cache_size=0) for _ in range(SERVER_CONNECTIONS * 3)
    ]
    backends = set()
    for client in clients:
        async with client.transaction():
            backends.add(await client.fetchval("SELECT pg_backend_pid()"))
    for client in clients:
        await client.close()
    assert 1 <= len(backends) <= SERVER_CONNECTIONS


async def test_searches_at_once_through_one_pool_do_not_get_in_each_others_way(dsn, collection):
    async with KnowledgeBase.open(dsn=dsn, collection=collection) as kb:
        await kb.add([RATES])
        results = await asyncio.gather(*(kb.search("tarifa") for _ in range(200)))
        await kb.remove(collection=collection)
    assert [result.hits[0].title for result in results] == ["Tarifas"] * 200


async def test_writers_and_searchers_at_once_do_not_get_in_each_others_way(dsn, collection):
    entries = [
        Entry(section="proyectos", title=f"Proyecto {number}", content="Un panel de ventas.")
        for number in range(20)
    ]
    async with (
        KnowledgeBase.open(dsn=dsn, collection=collection) as one,
        KnowledgeBase.open(dsn=dsn, collection=collection) as other,
    ):
        await asyncio.gather(
            *(one.add([entry]) for entry in entries),
            *(other.search("panel de ventas") for _ in range(100)),
        )
        result = await one.search("panel de ventas", limit=50)
        await one.remove(collection=collection)
    assert {hit.title for hit in result.hits} >= {entry.title for entry in entries}
