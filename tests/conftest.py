"""The fixtures of all tests: a server, a database with the schema, open knowledge bases.

Which server and which road is told in docs/testing.md. Tests without a database ask for none of
these and start nothing.
"""

from __future__ import annotations

import os
import secrets
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import asyncpg
import pytest

from tests.pooler.pgbouncer import NoPooler
from tests.servers.databases import new_database
from tests.servers.ladder import NoServer, Server, open_server
from tests.servers.roads import Database, Road, apply_schema_at, open_database

if TYPE_CHECKING:
    from kb_search import KnowledgeBase

SEEDS = Path(__file__).parent.parent / "seed"
POOLER = Path(__file__).parent / "pooler"
SHARED = {"portfolio", "tienda"}
_settled_on = pytest.StashKey[str]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--road",
        choices=[road.value for road in Road],
        default=os.environ.get("KB_SEARCH_TEST_ROAD", Road.DIRECT.value),
        help="how tests reach their database (default: KB_SEARCH_TEST_ROAD, else direct)",
    )


def pytest_configure(config: pytest.Config) -> None:
    """The settings of whoever runs the tests are not theirs; nor is a SIGINT that goes unheard.

    A shell starts what it puts in the background with SIGINT ignored, and so would be the
    programs that tests start in order to interrupt them.
    """
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    for name in [name for name in os.environ if name.startswith("KB_SEARCH_")]:
        if not name.startswith("KB_SEARCH_TEST_"):
            del os.environ[name]
    if config.getoption("road") == Road.PGBOUNCER:
        os.environ["KB_SEARCH_STATEMENT_CACHE_SIZE"] = "0"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what a road does not allow, and the pooler's own tests on any other road."""
    road = Road(config.getoption("road"))
    kept = [item for item in items if _can_take(road, item)]
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = kept


def _can_take(road: Road, item: pytest.Item) -> bool:
    if item.path.parent == POOLER and road is not Road.PGBOUNCER:
        return False
    # As a role that may only read, only the tests of the shared collections can run.
    return road is not Road.READONLY or bool(SHARED & set(getattr(item, "fixturenames", ())))


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    if told := config.stash.get(_settled_on, None):
        terminalreporter.write_line(told)


@pytest.fixture(scope="session")
def road(pytestconfig: pytest.Config) -> Road:
    return Road(pytestconfig.getoption("road"))


@pytest.fixture(scope="session")
async def server(pytestconfig: pytest.Config, road: Road) -> AsyncIterator[Server]:
    """The server of this run, with an administrator's DSN."""
    async with AsyncExitStack() as stack:
        try:
            opened = await stack.enter_async_context(open_server())
        except NoServer as error:
            pytest.fail(str(error), pytrace=False)
        connection = await asyncpg.connect(opened.dsn)
        version = await connection.fetchval("SHOW server_version")
        await connection.close()
        pytestconfig.stash[_settled_on] = (
            f"PostgreSQL {version}, rung: {opened.rung}, road: {road.value}"
        )
        yield opened


@pytest.fixture(scope="session")
async def database(server: Server, road: Road) -> AsyncIterator[Database]:
    """The database of this run, the schema applied, reached by the road of this run."""
    async with AsyncExitStack() as stack:
        try:
            opened = await stack.enter_async_context(open_database(road, server.dsn))
        except NoPooler as error:
            pytest.fail(str(error), pytrace=False)
        yield opened


@pytest.fixture(scope="session")
def dsn(database: Database) -> str:
    """The DSN that a user of the library would be given."""
    return database.dsn


@pytest.fixture
async def admin(database: Database) -> AsyncIterator[asyncpg.Connection]:
    """A connection of the database's owner, straight to the server, each statement at once."""
    connection = await asyncpg.connect(database.admin_dsn)
    yield connection
    await connection.close()


@pytest.fixture
def collection() -> str:
    """A collection that no other test uses."""
    return f"test-{secrets.token_hex(6)}"


@pytest.fixture
async def kb(dsn: str, collection: str) -> AsyncIterator[KnowledgeBase]:
    """A knowledge base on a collection of its own, emptied afterwards."""
    from kb_search import KnowledgeBase

    async with KnowledgeBase.open(dsn=dsn, collection=collection) as opened:
        yield opened
        await opened.remove(collection=collection)


@pytest.fixture(scope="session")
async def portfolio(database: Database) -> AsyncIterator[KnowledgeBase]:
    """The portfolio of `seed/`, in the default collection. Shared: for reading only."""
    async with _seeded(database, "portfolio.sql", collection="default") as opened:
        yield opened


@pytest.fixture(scope="session")
async def tienda(database: Database) -> AsyncIterator[KnowledgeBase]:
    """The shop's questions of `seed/`, in the collection `tienda`. Shared: for reading only."""
    async with _seeded(database, "tienda.jsonl", collection="tienda") as opened:
        yield opened


@asynccontextmanager
async def _seeded(
    database: Database, file: str, *, collection: str
) -> AsyncIterator[KnowledgeBase]:
    from kb_search import KnowledgeBase

    async with KnowledgeBase.open(dsn=database.writer_dsn, collection=collection) as writer:
        await writer.seed(SEEDS / file)
    async with KnowledgeBase.open(dsn=database.dsn, collection=collection) as reader:
        yield reader


@pytest.fixture
async def fresh_database(server: Server) -> AsyncIterator[str]:
    """The DSN of an empty database (no schema, no extension) for one test."""
    async with new_database(server.dsn) as made:
        yield made


@pytest.fixture(scope="session")
async def template(server: Server) -> AsyncIterator[str]:
    """The name of a database with the schema applied, to be copied."""
    async with new_database(server.dsn) as made:
        await apply_schema_at(made)
        yield urlsplit(made).path.removeprefix("/")


@pytest.fixture
async def schema_database(server: Server, template: str) -> AsyncIterator[str]:
    """The DSN of a database with the schema applied, for one test that changes the schema."""
    async with new_database(server.dsn, template=template) as made:
        yield made


@pytest.fixture
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """No KB_SEARCH_* in the environment and an empty working folder, which is handed over."""
    for name in [name for name in os.environ if name.startswith("KB_SEARCH_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    return tmp_path
