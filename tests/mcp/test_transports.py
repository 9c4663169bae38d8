"""Both transports with the official client, against the package's own server."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters

from kb_search import ConfigError, KnowledgeBase
from kb_search.servers import open_embedded_server, stop_server
from tests.mcp.serving import (
    answer,
    client_of,
    http_client,
    http_server,
    mcp_settings,
    read,
    refusal,
    served,
)

SEEDS = Path(__file__).parent.parent.parent / "seed"
COMMAND = [sys.executable, "-m", "kb_search", "mcp"]
LISTING = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
# Tokens are for HTTP alone.
TOKENS = {
    "KB_SEARCH_MCP_TOKENS": '[{"token": "0123456789abcdef", "name": "web", "collections": ["x"]}]'
}
HEADERS = {"Accept": "application/json, text/event-stream"}


def stdio(dsn: str) -> StdioServerParameters:
    """`kb-search mcp` in a process of its own; the collection may follow the DSN after a #."""
    dsn, _, collection = dsn.partition("#")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("KB_SEARCH_")}
    return StdioServerParameters(
        command=COMMAND[0],
        args=COMMAND[1:],
        env={**kept, "KB_SEARCH_DSN": dsn, "KB_SEARCH_COLLECTION": collection, **TOKENS},
    )


@asynccontextmanager
async def over_http(kb: KnowledgeBase, dsn: str) -> AsyncIterator[Client]:
    async with http_server(kb) as url, http_client(url) as client:
        yield client


def over_stdio(kb: KnowledgeBase, dsn: str) -> Client:
    return Client(stdio(dsn))


def over_stdio_of_before_2026(kb: KnowledgeBase, dsn: str) -> Client:
    return Client(stdio(dsn), mode="legacy")


TRANSPORTS = [over_stdio, over_stdio_of_before_2026, over_http]


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_every_tool_and_fifty_calls_at_once_over_each_transport(kb, dsn, tmp_path, transport):
    (tmp_path / "caldera.md").write_text("# Caldera\n\nSe enciende con el botón verde.\n")
    await kb.ingest(tmp_path, collection="test-transports")
    async with KnowledgeBase.open(dsn=dsn, collection="test-transports") as served_kb:
        (document,) = await served_kb.list_documents()
        async with transport(served_kb, f"{dsn}#test-transports") as client:
            tools = {tool.name for tool in (await client.list_tools()).tools}

            async def ask(tool, **arguments):
                tools.discard(tool)
                return answer(await client.call_tool(tool, arguments))

            (hit,) = (await ask("search", query="cómo se enciende"))["hits"]
            assert "botón verde" in (await ask("get_section", id=hit["id"]))["text"]
            assert (await ask("get_document", id=document.id))["title"] == "Caldera"
            assert len((await ask("list_documents"))["documents"]) == 1
            assert (await ask("corpus_stats"))["collections"][0]["documents"] == 1
            assert tools == set()
            assert "verde" in await read(client, f"kb-search://section/{hit['id']}")
            assert (await client.get_prompt("reglas")).messages

            assert "entero" in refusal(await client.call_tool("get_section", {"id": "x"}))
            assert "Hay: «search»" in refusal(await client.call_tool("borrar", {}))
            results = await asyncio.gather(
                *(client.call_tool("search", {"query": f"caldera {n}"}) for n in range(50))
            )
            assert {answer(result)["hits"][0]["id"] for result in results} == {hit["id"]}
        await served_kb.remove(collection="test-transports")


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
@pytest.mark.parametrize(("sent", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
@pytest.mark.parametrize("options", [[], ["--http", "--port", "0"]])
def test_a_server_that_is_asked_to_end_ends_with_its_client_still_there(dsn, sent, code, options):
    process = subprocess.Popen(
        [*COMMAND, *options],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "KB_SEARCH_DSN": dsn},
    )
    assert process.stdin
    assert process.stdout
    assert process.stderr
    try:
        if options:
            while b"running on" not in process.stderr.readline():
                assert process.poll() is None
        else:
            process.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
            process.stdin.flush()
            assert b'"id":1' in process.stdout.readline()
        process.send_signal(sent)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == code
    assert out == b""
    assert b"Traceback" not in err


async def test_nothing_but_the_protocol_is_on_standard_output(portfolio, dsn):
    done = subprocess.run(
        COMMAND,
        input=b'not json\n{"jsonrpc":"2.0","id":1,"method":"ping"}\n',
        capture_output=True,
        env={**os.environ, "KB_SEARCH_DSN": dsn},
        timeout=60,
        check=False,
    )
    assert done.returncode == 0
    assert all(line.startswith(b'{"jsonrpc"') for line in done.stdout.splitlines())
    assert b'"id":1' in done.stdout


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Host": "localhost:1"}, 200),
        ({"Host": "kb.example.com"}, 421),
        ({"Host": "127.0.0.1.example.com"}, 421),
        ({"Origin": "http://localhost:3000"}, 200),
        ({"Origin": "https://example.com"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://localhost.example.com"}, 403),
    ],
)
async def test_over_http_host_and_origin_are_those_of_this_machine(portfolio, headers, status):
    async with http_server(portfolio) as url, httpx2.AsyncClient() as http:
        response = await http.post(url, json=LISTING, headers={**HEADERS, **headers})
    assert response.status_code == status


async def test_names_and_pages_that_are_allowed_may_call(portfolio):
    given = {"allowed_hosts": "kb.example.com:*", "allowed_origins": "https://example.com"}
    headers = {**HEADERS, "Host": "kb.example.com:443", "Origin": "https://example.com"}
    async with http_server(portfolio, **given) as url, httpx2.AsyncClient() as http:
        assert (await http.post(url, json=LISTING, headers=headers)).status_code == 200


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "kb.example.com", "192.168.1.7"])
def test_what_others_can_reach_needs_a_token_and_a_name(portfolio, host):
    from kb_search.mcp.http import build_app

    token = {"token": "0123456789abcdef", "name": "web", "collections": ["default"]}
    server = served(portfolio)
    with pytest.raises(ConfigError, match="token"):
        build_app(server, mcp_settings(host=host))
    with pytest.raises(ConfigError, match="allowed-host"):
        build_app(server, mcp_settings(host=host, tokens=[token]))
    build_app(server, mcp_settings(host=host, tokens=[token], allowed_hosts="kb.example.com:*"))


@pytest.mark.parametrize("transport", [over_stdio, over_http])
async def test_a_database_that_goes_away_is_told_and_found_again(tmp_path, transport):
    question = {"query": "cuánto cuesta el envío"}
    first = await open_embedded_server(tmp_path)
    async with first, KnowledgeBase.open(dsn=first.dsn) as setting_up:
        await setting_up.initialise()
        await setting_up.seed(SEEDS / "tienda.jsonl")
        dsn = first.dsn
    await stop_server(tmp_path, force=True)

    async with KnowledgeBase.open(dsn=dsn) as kb, transport(kb, dsn) as client:
        assert "no está disponible" in refusal(await client.call_tool("search", question))
        async with await open_embedded_server(tmp_path) as back:
            assert back.dsn == dsn
            found = answer(await client.call_tool("search", question))
            assert found["hits"][0]["title"] == "Gastos de envío"
            await stop_server(tmp_path, force=True)
            gone = await asyncio.gather(*(client.call_tool("search", question) for _ in range(20)))
            assert all("no respondas de memoria" in refusal(result) for result in gone)
            with pytest.raises(Exception, match="no está disponible"):
                await client.read_resource("kb-search://section/1")
        async with await open_embedded_server(tmp_path):
            # The pool may hold connections of the server that is gone: each is tried once.
            while (result := await client.call_tool("search", question)).is_error:
                assert "Repite la llamada" in refusal(result)
            assert answer(result)["hits"][0]["title"] == "Gastos de envío"


async def test_a_database_that_was_never_set_up_is_told(fresh_database):
    async with KnowledgeBase.open(dsn=fresh_database) as kb, client_of(kb) as client:
        told = refusal(await client.call_tool("search", {"query": "hola"}))
    assert "kb-search init" in told
