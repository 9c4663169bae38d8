"""Databases of the tests' own on a server, and DSNs that lead to them."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import asyncpg


def on_database(dsn: str, name: str) -> str:
    """The same server and role, another database."""
    return _changed(dsn, path=f"/{name}")


def as_role(dsn: str, role: str, password: str) -> str:
    """The same server and database, another role."""
    parts = urlsplit(dsn)
    hosts = parts.netloc.rpartition("@")[2]
    return _changed(dsn, netloc=f"{role}:{password}@{hosts}")


def _changed(dsn: str, **parts: str) -> str:
    changed = urlsplit(dsn)._replace(**parts)
    # With no host (`postgresql:///name?host=/folder`) leaves the slashes out.
    return f"{changed.scheme}://{changed.netloc}{changed.path}" + (
        f"?{changed.query}" if changed.query else ""
    )


@asynccontextmanager
async def new_database(admin_dsn: str, *, template: str = "template0") -> AsyncIterator[str]:
    """A database of its own, dropped afterwards; its DSN, as the administrator.

    `template0` is empty and in UTF-8 wherever the server is; any other template is copied as is
    and must have no connection.
    """
    name = f"kb_test_{secrets.token_hex(6)}"
    as_utf8 = " ENCODING 'UTF8'" if template == "template0" else ""
    await _run(admin_dsn, f'CREATE DATABASE "{name}" TEMPLATE "{template}"{as_utf8}')
    try:
        yield on_database(admin_dsn, name)
    finally:
        await _run(admin_dsn, f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')


async def _run(dsn: str, statement: str) -> None:
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()
