"""A server that is down, slow, read-only or lost: one error of our own, and the next call works."""

from __future__ import annotations

import asyncio
import inspect
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from urllib.parse import quote

import asyncpg
import pytest

from kb_search import (
    ConfigError,
    DatabaseError,
    Entry,
    KbError,
    KnowledgeBase,
    NotFound,
    NotOpen,
    QueryError,
    QueryTimeout,
    Unreachable,
)
from kb_search.database import error_boundary, translated
from kb_search.settings import load_settings
from tests.servers.databases import on_database
from tests.servers.roads import Road

RATES = Entry(section="tarifas", title="Tarifas", content="Desde 40 € la hora.")


@pytest.fixture(autouse=True)
def _straight(road):
    if road is not Road.DIRECT:
        pytest.skip("these tests look at the library's own connections")


@pytest.fixture
async def own(schema_database):
    """The DSN of a database of its own with one entry."""
    async with KnowledgeBase.open(dsn=schema_database) as kb:
        await kb.add([RATES])
    return schema_database


def with_option(dsn, name, value):
    """The DSN with a setting of the session."""
    mark = "&" if "?" in dsn else "?"
    return f"{dsn}{mark}options={quote(f'-c {name}={value}')}"


def configured(dsn, **changes):
    return KnowledgeBase.open(load_settings(dsn=dsn, **changes))


@asynccontextmanager
async def locked(dsn):
    """Another connection that keeps everybody from reading entries; hands itself over."""
    connection = await asyncpg.connect(dsn)
    transaction = connection.transaction()
    await transaction.start()
    await connection.execute("LOCK TABLE kb_search.entry IN ACCESS EXCLUSIVE MODE")
    try:
        yield connection
    finally:
        await transaction.rollback()
        await connection.close()


async def waiting(connection):
    """The process id of the backend that waits for a lock of `connection`, once there is one."""
    while True:
        pid = await connection.fetchval(
            "SELECT pid FROM pg_stat_activity WHERE pg_backend_pid() = ANY (pg_blocking_pids(pid))"
        )
        if pid is not None:
            return pid
        await connection.execute("SELECT pg_stat_clear_snapshot()")


async def works(kb):
    return (await kb.search("tarifas")).hits[0].title == "Tarifas"


@pytest.mark.parametrize(
    "call",
    [
        lambda kb: kb.search("tarifas"),
        lambda kb: kb.add([RATES]),
        lambda kb: kb.get(1),
        lambda kb: kb.entries(),
        lambda kb: kb.stats(),
        lambda kb: kb.doctor(),
        lambda kb: kb.initialise(),
        lambda kb: kb.rebuild(),
    ],
)
async def test_a_server_that_is_down_is_unreachable(call):
    async with KnowledgeBase.open(dsn="postgresql://me@127.0.0.1:1/nowhere") as kb:
        with pytest.raises(Unreachable, match="check that the server runs") as caught:
            await call(kb)
    assert isinstance(caught.value.__cause__, OSError)


async def test_a_database_that_does_not_exist_is_unreachable_by_name(server):
    async with KnowledgeBase.open(dsn=on_database(server.dsn, "kb_test_no_such_one")) as kb:
        with pytest.raises(Unreachable, match="kb_test_no_such_one"):
            await kb.search("tarifas")


async def test_a_connection_kept_open_is_tried_at_opening():
    settings = load_settings(dsn="postgresql://me@127.0.0.1:1/nowhere", pool_min_size=1)
    with pytest.raises(Unreachable):
        await KnowledgeBase.open(settings).__aenter__()


@asynccontextmanager
async def listening(answer):
    """The DSN of something that is no PostgreSQL."""

    async def meet(_reader, writer):
        try:
            if answer is None:
                await asyncio.Event().wait()
            writer.write(answer)
            await writer.drain()
        finally:
            writer.close()

    server = await asyncio.start_server(meet, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    meetings = asyncio.all_tasks()
    try:
        yield f"postgresql://me@127.0.0.1:{port}/nowhere?sslmode=disable"
    finally:
        server.close()
        for task in asyncio.all_tasks() - meetings - {asyncio.current_task()}:
            task.cancel()


async def test_a_server_that_never_answers_is_unreachable():
    async with listening(None) as dsn, configured(dsn, connect_timeout_s=0.2) as kb:
        with pytest.raises(Unreachable, match="KB_SEARCH_CONNECT_TIMEOUT_S"):
            await kb.search("tarifas")


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n"])
async def test_what_is_no_postgresql_gives_an_error_of_our_own(answer):
    async with listening(answer) as dsn, configured(dsn, connect_timeout_s=1) as kb:
        with pytest.raises(DatabaseError):
            await kb.search("tarifas")


@pytest.mark.parametrize(
    "dsn",
    [
        "nonsense",
        "mysql://me:secreto@localhost/db",
        "postgresql://me:secreto@localhost:port/db",
        "postgresql://me:secreto@localhost/db?sslmode=perhaps",
        "http://secreto",
    ],
)
async def test_a_malformed_dsn_is_a_config_error_that_tells_no_secret(dsn):
    with pytest.raises(ConfigError, match="KB_SEARCH_DSN is not a PostgreSQL DSN") as caught:
        async with KnowledgeBase.open(dsn=dsn) as kb:
            await kb.search("tarifas")
    assert "secreto" not in str(caught.value)
    assert caught.value.__cause__ is None


async def test_a_slow_search_ends_with_a_query_timeout_and_the_next_one_works(own):
    async with configured(own, timeout_s=0.2, pool_max_size=1) as kb:
        async with locked(own):
            with pytest.raises(QueryTimeout, match="KB_SEARCH_TIMEOUT_S"):
                await kb.search("tarifas")
        assert await works(kb)


@pytest.mark.parametrize("setting", ["statement_timeout", "lock_timeout"])
async def test_a_limit_of_the_server_ends_with_a_query_timeout_too(own, setting):
    async with KnowledgeBase.open(dsn=with_option(own, setting, "100")) as kb:
        async with locked(own):
            with pytest.raises(QueryTimeout, match="gave up the statement") as caught:
                await kb.search("tarifas")
        assert caught.value.sqlstate in {"57014", "55P03"}
        assert await works(kb)


async def test_a_pool_that_is_busy_says_so(own):
    async with configured(own, pool_max_size=1, connect_timeout_s=0.2) as kb:
        async with kb.pool.acquire():
            with pytest.raises(Unreachable, match="every connection of the pool is busy"):
                await kb.search("tarifas")
        assert await works(kb)


async def test_a_connection_killed_in_a_search_is_unreachable_and_the_next_search_works(own):
    async with configured(own, pool_max_size=1) as kb:
        async with locked(own) as connection:
            search = asyncio.create_task(kb.search("tarifas"))
            await connection.fetchval("SELECT pg_terminate_backend($1)", await waiting(connection))
            with pytest.raises(Unreachable):
                await search
        assert await works(kb)


async def test_a_connection_killed_in_a_write_leaves_nothing_half_written(own):
    async with KnowledgeBase.open(dsn=own) as kb:
        async with locked(own) as connection:
            new = [Entry(section="a", title=f"Nueva {n}", content="x") for n in range(1200)]
            adding = asyncio.create_task(kb.add(new))
            await connection.fetchval("SELECT pg_terminate_backend($1)", await waiting(connection))
            with pytest.raises(Unreachable):
                await adding
        assert len(await kb.entries()) == 1


async def test_connections_killed_while_idle_are_replaced(own):
    async with configured(own, pool_max_size=3) as kb:
        assert all(await asyncio.gather(*(works(kb) for _ in range(3))))
        admin = await asyncpg.connect(own)
        await admin.fetch(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            " AND backend_type = 'client backend'"
        )
        await admin.close()
        with suppress(Unreachable):  # where the end of a connection is not yet read
            await works(kb)
        assert await works(kb)


async def test_after_a_lost_connection_the_idle_ones_are_made_anew(own):
    async with configured(own, pool_max_size=3) as kb:

        async def backends():
            async with AsyncExitStack() as held:
                taken = [await held.enter_async_context(kb.database.connection()) for _ in range(3)]
                return {
                    await connection.fetchval("SELECT pg_backend_pid()") for connection in taken
                }

        before = await backends()
        async with locked(own) as connection:
            search = asyncio.create_task(kb.search("tarifas"))
            await connection.fetchval("SELECT pg_terminate_backend($1)", await waiting(connection))
            with pytest.raises(Unreachable):
                await search
        assert len(before) == 3
        assert not before & await backends()


async def test_a_cancelled_search_gives_its_connection_back(own):
    async with configured(own, pool_max_size=1, connect_timeout_s=2) as kb:
        async with locked(own) as connection:
            search = asyncio.create_task(kb.search("tarifas"))
            await waiting(connection)
            search.cancel()
            with pytest.raises(asyncio.CancelledError):
                await search
        assert await works(kb)


async def test_a_read_only_session_searches_and_says_why_it_does_not_write(own):
    async with KnowledgeBase.open(
        dsn=with_option(own, "default_transaction_read_only", "on")
    ) as kb:
        assert await works(kb)
        for call in (
            kb.add([Entry(section="a", title="b", content="c")]),
            kb.remove(section="tarifas"),
            kb.add_synonym("precio", "tarifa"),
            kb.initialise(),
            kb.rebuild(),
        ):
            with pytest.raises(DatabaseError, match="read-only") as caught:
                await call
            assert caught.value.sqlstate == "25006"
        checks = {check.name: check for check in await kb.doctor()}
        assert checks["writing"].level == "warning"
        assert await works(kb)


async def test_a_refused_entry_leaves_nothing_of_its_batch(kb):
    good = [Entry(section="a", title=f"Buena {n}", content="x") for n in range(700)]
    for bad in (
        Entry(section="a", title=" ", content="\n"),
        Entry(section="a", title="t", content="c", metadata={"a": float("inf")}),
        Entry(section="a", title="t", content="c", metadata={"a": object()}),
        Entry(section="a", title="t", content="c", metadata=["lista"]),  # type: ignore[arg-type]
        Entry(section="a", title="t", content="c", aliases="¿cuánto?"),  # type: ignore[arg-type]
        Entry(section="a", title="t", content="c", tags=(1,)),  # type: ignore[arg-type]
        Entry(section=None, title="t", content="c"),  # type: ignore[arg-type]
        Entry(section="a", title="t", content=b"c"),  # type: ignore[arg-type]
    ):
        with pytest.raises(QueryError):
            await kb.add([*good, bad])
    assert await kb.entries() == []


async def test_ids_that_no_entry_can_have_are_not_found(kb):
    for number in (0, -1, 10**20, 2**63):
        with pytest.raises(NotFound, match=str(number)):
            await kb.get(number)
    assert await kb.remove(ids=[10**20, -5]) == 0
    assert await kb.remove(document=10**20) == 0
    with pytest.raises(QueryError, match="say what to remove"):
        await kb.remove()


CALLS = [
    lambda kb: kb.search("tarifas"),
    lambda kb: kb.add([RATES]),
    lambda kb: kb.get(1),
    lambda kb: kb.entries(),
    lambda kb: kb.remove(section="a"),
    lambda kb: kb.stats(),
    lambda kb: kb.synonyms(),
    lambda kb: kb.doctor(),
    lambda kb: kb.rebuild(),
    lambda kb: kb.initialise(),
]


@pytest.mark.parametrize("call", CALLS)
async def test_what_is_not_open_says_so(dsn, call):
    kb = KnowledgeBase.open(dsn=dsn)
    with pytest.raises(NotOpen, match="async with"):
        await call(kb)
    async with kb:
        pass
    with pytest.raises(NotOpen):
        await call(kb)
    with pytest.raises(NotOpen):
        _ = kb.pool


async def test_closing_twice_does_no_harm_and_opening_twice_is_refused(own):
    kb = KnowledgeBase.open(dsn=own)
    async with kb:
        with pytest.raises(QueryError, match="open already"):
            await kb.__aenter__()
        assert await works(kb)
        await kb.close()
        await kb.close()
    async with kb:
        assert await works(kb)


DRIVER_ERRORS = sorted(
    (
        kind
        for kind in vars(asyncpg.exceptions).values()
        if inspect.isclass(kind)
        and issubclass(
            kind, asyncpg.PostgresError | asyncpg.InterfaceError | asyncpg.InternalClientError
        )
    ),
    key=lambda kind: kind.__name__,
)


@pytest.mark.parametrize("kind", DRIVER_ERRORS)
def test_every_error_of_the_driver_becomes_one_of_ours(kind):
    error = kind("went wrong")
    with pytest.raises(KbError) as caught, error_boundary():
        raise error
    assert caught.value.__cause__ is error
    assert isinstance(caught.value, DatabaseError)
    assert "went wrong" in str(caught.value) or caught.value.sqlstate == "25006"
    assert caught.value.sqlstate in {None, "", getattr(error, "sqlstate", None)}


@pytest.mark.parametrize(
    ("error", "becomes"),
    [
        (TimeoutError(), QueryTimeout),
        (ConnectionRefusedError(111, "Connection refused"), Unreachable),
        (ConnectionResetError(104, "reset"), Unreachable),
        (OSError("no such host"), Unreachable),
        (NotFound("x"), NotFound),
    ],
)
def test_errors_of_the_network_become_ours(error, becomes):
    assert type(translated(error)) is becomes


def test_what_is_no_error_of_the_driver_passes_through():
    with pytest.raises(ZeroDivisionError), error_boundary():
        _ = 1 / 0
