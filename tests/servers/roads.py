"""The roads from a test to its database: straight, through a pooler, as a lesser role ...

`pytest --road NAME` (or KB_SEARCH_TEST_ROAD) chooses one for a whole run. A test asks for `dsn`,
`kb`, `portfolio` or `tienda` and never knows which road it took.
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import parse_qs, quote, urlsplit

import asyncpg

from tests.pooler.pgbouncer import running_pgbouncer
from tests.servers.databases import as_role, new_database


class Road(StrEnum):
    """What lies between the library and PostgreSQL."""

    DIRECT = "direct"
    PGBOUNCER = "pgbouncer"  # transaction mode, no statement cache
    HOSTS = "hosts"  # several hosts in the DSN, the first of them dead
    READONLY = "readonly"  # a role that may only read
    PLAINROLE = "plainrole"  # a role that may create neither extensions nor schemas


@dataclass(frozen=True)
class Database:
    """`dsn` is what the road leads to, `writer_dsn` the same with the right to write.

    `admin_dsn` goes straight to the database as its owner.
    """

    dsn: str
    writer_dsn: str
    admin_dsn: str


@dataclass(frozen=True)
class Role:
    """A role that may log in and nothing else."""

    name: str
    password: str


@asynccontextmanager
async def open_database(road: Road, server_dsn: str) -> AsyncIterator[Database]:
    """A new database with the schema applied by whoever travels on this road."""
    async with AsyncExitStack() as stack:
        role = Role("", "")
        if road in {Road.READONLY, Road.PLAINROLE}:
            # The role outlives the database: what it owns goes first.
            role = await stack.enter_async_context(_new_role(server_dsn))
        admin_dsn = await stack.enter_async_context(new_database(server_dsn))
        dsn = admin_dsn
        if road is Road.PGBOUNCER:
            dsn = stack.enter_context(running_pgbouncer(admin_dsn))
        elif road is Road.HOSTS:
            dsn = behind_a_dead_host(admin_dsn)
        elif road is Road.PLAINROLE:
            await _run(admin_dsn, *_made_ready_by_an_administrator(role.name))
            dsn = as_role(admin_dsn, role.name, role.password)
        await apply_schema_at(dsn)
        if road is Road.READONLY:
            await _run(admin_dsn, *_reading_only(role.name))
            reader_dsn = as_role(admin_dsn, role.name, role.password)
            yield Database(reader_dsn, admin_dsn, admin_dsn)
        else:
            yield Database(dsn, dsn, admin_dsn)


async def apply_schema_at(dsn: str) -> None:
    """Applies the schema over a connection that any pooler bears."""
    from kb_search.schema import apply_schema

    connection = await asyncpg.connect(dsn, statement_cache_size=0)
    try:
        await apply_schema(connection)
    finally:
        await connection.close()


def behind_a_dead_host(dsn: str) -> str:
    """The DSN with a host before it on which nothing listens."""
    parts = urlsplit(dsn)
    query = parse_qs(parts.query)
    host = query.get("host", [parts.hostname or "localhost"])[0]
    port = query.get("port", [str(parts.port or 5432)])[0]
    user = parts.netloc.rpartition("@")[0]
    # Port 1 (tcpmux) is closed on any machine that tests run on.
    hosts = f"host=127.0.0.1,{quote(host)}&port=1,{port}"
    return f"{parts.scheme}://{user}{'@' if user else ''}{parts.path}?{hosts}"


def _made_ready_by_an_administrator(role: str) -> tuple[str, ...]:
    """As managed services do it: extensions in a schema of their own, one schema for the role."""
    return (
        "REVOKE CREATE ON SCHEMA public FROM PUBLIC",
        "CREATE SCHEMA extensions",
        "GRANT USAGE ON SCHEMA extensions TO PUBLIC",
        "CREATE EXTENSION pg_trgm SCHEMA extensions",
        f"CREATE SCHEMA kb_search AUTHORIZATION {role}",
    )


def _reading_only(role: str) -> tuple[str, ...]:
    return (
        f"GRANT USAGE ON SCHEMA kb_search TO {role}",
        f"GRANT SELECT ON ALL TABLES IN SCHEMA kb_search TO {role}",
        f"ALTER ROLE {role} SET default_transaction_read_only = on",
    )


@asynccontextmanager
async def _new_role(server_dsn: str) -> AsyncIterator[Role]:
    role = Role(f"kb_test_{secrets.token_hex(6)}", secrets.token_hex(12))
    await _run(server_dsn, f"CREATE ROLE {role.name} LOGIN PASSWORD '{role.password}'")
    try:
        yield role
    finally:
        await _run(server_dsn, f"DROP ROLE {role.name}")


async def _run(dsn: str, *statements: str) -> None:
    connection = await asyncpg.connect(dsn)
    try:
        for statement in statements:
            await connection.execute(statement)
    finally:
        await connection.close()
