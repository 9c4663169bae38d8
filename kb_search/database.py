"""The one way to PostgreSQL: a pool, named statements, and the boundary round the driver's errors.

The order of the checks matters: asyncpg lets a refused connection through as OSError, a time-out
as the builtin TimeoutError, which is an OSError itself.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import asyncpg

from kb_search.errors import (
    ConfigError,
    DatabaseError,
    ExtensionMissing,
    KbError,
    NotOpen,
    QueryTimeout,
    SchemaMissing,
    Unreachable,
)
from kb_search.sql import statements

if TYPE_CHECKING:
    from asyncpg.pool import PoolConnectionProxy

    from kb_search.settings import Settings

    Connection = asyncpg.Connection[asyncpg.Record] | PoolConnectionProxy[asyncpg.Record]

_DRIVER_ERRORS = (
    OSError,
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
)
_Result = TypeVar("_Result")

_DEADLOCK = "40P01"
_TRIES = 3
_SCHEMA_STATES = {"42P01", "3F000", "42883", "42703", "42704"}
_GONE_CLASSES = ("08", "57P", "28", "3D", "53300")
_ADVICE = {
    "25006": "this server (or session) is read-only: write through the primary's DSN",
    "42501": "this role lacks a right: {message}",
    "53100": "the server's disk is full: {message}",
}


def translated(error: BaseException) -> KbError:
    """The error of our own tree for one of the driver's."""
    if isinstance(error, KbError):
        return error
    if isinstance(error, TimeoutError):
        return QueryTimeout()
    if isinstance(error, asyncpg.PostgresError):
        return _server_error(error)
    if isinstance(error, asyncpg.InternalClientError):
        # an idle connection that the server has ended, and whose end is not yet read
        return Unreachable(f"the connection to PostgreSQL is gone: {error}")
    if isinstance(error, asyncpg.InterfaceError):
        text = str(error)
        if "closed" in text or "closing" in text or "connection" in text:
            return Unreachable(f"the connection to PostgreSQL is gone: {text}")
        return DatabaseError(f"the driver refused the statement: {text}")
    if isinstance(error, OSError):
        return Unreachable(
            f"PostgreSQL cannot be reached ({error.strerror or error}):"
            " check that the server runs and that KB_SEARCH_DSN names it"
        )
    raise error


def _server_error(error: asyncpg.PostgresError) -> DatabaseError:
    state = error.sqlstate or ""
    message = error.args[0] if error.args else str(error)
    if state in {"57014", "55P03"}:
        return QueryTimeout(f"PostgreSQL gave up the statement: {message}", sqlstate=state)
    if state in _SCHEMA_STATES and "kb_search" in message:
        return SchemaMissing(f"{SchemaMissing.__doc__} PostgreSQL says: {message}", sqlstate=state)
    if state in {"0A000", "58P01"} and "extension" in message:
        return ExtensionMissing(
            f"{message}: install PostgreSQL's contrib modules on the server", sqlstate=state
        )
    if state == "42501" and "extension" in message:
        return ExtensionMissing(
            f"{message}: have a superuser run CREATE EXTENSION pg_trgm in this database once",
            sqlstate=state,
        )
    if state.startswith(_GONE_CLASSES):
        return Unreachable(f"PostgreSQL refused the connection: {message}", sqlstate=state)
    advice = _ADVICE.get(state, "PostgreSQL refused the statement: {message}")
    return DatabaseError(advice.format(message=message), sqlstate=state)


@contextmanager
def error_boundary() -> Iterator[None]:
    """No error of the driver leaves this block; each leaves as one of ours, with its cause."""
    try:
        yield
    except _DRIVER_ERRORS as error:
        raise translated(error) from error


class Database:
    """A pool of connections to one PostgreSQL."""

    def __init__(self, pool: asyncpg.Pool[asyncpg.Record], settings: Settings) -> None:
        self.pool = pool
        self.settings = settings

    @classmethod
    async def connect(cls, dsn: str, settings: Settings) -> Database:
        """Opens a pool; no connection is made yet where `pool_min_size` is 0.

        Raises:
            ConfigError: the DSN is no DSN.
            Unreachable: the first connections fail.
        """
        try:
            pool = await asyncpg.create_pool(
                dsn,
                min_size=min(settings.pool_min_size, settings.pool_max_size),
                max_size=settings.pool_max_size,
                timeout=settings.connect_timeout_s,
                command_timeout=settings.write_timeout_s,
                statement_cache_size=settings.statement_cache_size,
            )
        except (ValueError, TypeError, asyncpg.ClientConfigurationError) as error:
            raise ConfigError(_bad_dsn(error)) from None
        except _DRIVER_ERRORS as error:
            raise translated(error) from error
        return cls(pool, settings)

    async def close(self) -> None:
        """Waits for the running statements, then closes every connection."""
        with error_boundary():
            await self.pool.close()

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        """A connection of the pool; the driver's errors inside are translated.

        Raises:
            NotOpen: the pool is closed.
            Unreachable: no connection can be made in time.
        """
        if self.pool.is_closing():
            raise NotOpen
        try:
            with error_boundary():
                connection = await self.pool.acquire(timeout=self.settings.connect_timeout_s)
        except QueryTimeout as error:
            raise Unreachable(
                "no connection to PostgreSQL in time (KB_SEARCH_CONNECT_TIMEOUT_S):"
                " the server is down or slow, or every connection of the pool is busy"
            ) from error
        except (ValueError, DatabaseError) as error:
            cause = error.__cause__ or error
            if isinstance(cause, ValueError | asyncpg.ClientConfigurationError):
                raise ConfigError(_bad_dsn(cause)) from None
            raise
        try:
            with error_boundary():
                yield connection
        except Unreachable:
            # What ended this connection has most likely ended the idle ones too (a restart, a
            # failover): each is made anew when it is next wanted, so that one call fails, not all.
            await self.pool.expire_connections()
            raise
        finally:
            with error_boundary():
                await self.pool.release(connection)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        """A connection inside a transaction: committed at the end, undone by an error."""
        async with self.connection() as connection, connection.transaction():
            yield connection

    async def in_transaction(self, work: Callable[[Connection], Awaitable[_Result]]) -> _Result:
        """What `work` returns, done in one transaction; again from the start on a deadlock.

        PostgreSQL undoes one of two writers that wait for each other, and the other goes on.
        """
        for attempt in range(1, _TRIES + 1):
            try:
                async with self.transaction() as connection:
                    return await work(connection)
            except DatabaseError as error:
                if error.sqlstate != _DEADLOCK or attempt == _TRIES:
                    raise
        raise AssertionError("unreachable")

    async def read(self, name: str, *arguments: Any) -> list[asyncpg.Record]:
        """The rows of a named statement that only reads, under the time limit of a search."""
        async with self.connection() as connection:
            return await fetch(connection, name, *arguments, timeout_s=self.settings.timeout_s)

    async def write(self, name: str, *arguments: Any) -> list[asyncpg.Record]:
        """The rows of a named statement that writes, under the longer time limit."""
        async with self.connection() as connection:
            return await fetch(connection, name, *arguments)


async def fetch(
    connection: Connection, name: str, *arguments: Any, timeout_s: float | None = None
) -> list[asyncpg.Record]:
    """The rows of a named statement on a connection that the caller holds.

    Without `timeout_s` the limit of a write holds.
    """
    with error_boundary():
        return await connection.fetch(statements()[name], *arguments, timeout=timeout_s)


def _bad_dsn(error: Exception) -> str:
    return (
        "KB_SEARCH_DSN is not a PostgreSQL DSN such as"
        f" postgresql://user:password@host:5432/database ({type(error).__name__})"
    )
