"""Two tokens, two collections: nothing of one reaches the other."""

import asyncio
import secrets

import httpx2
import pytest

from kb_search import ConfigError, Entry, KnowledgeBase
from tests.mcp.serving import answer, http_client, http_server, mcp_settings, refusal

ANA = "a" * 32
BETO = "b" * 32
SECRET = "zarzaparrilla"


@pytest.fixture
async def two(dsn, tmp_path):
    """A knowledge base with a collection for each of two clients, and tokens for both."""
    mark = secrets.token_hex(4)
    names = [f"test-ana-{mark}", f"test-beto-{mark}"]
    async with KnowledgeBase.open(dsn=dsn, collection=names[0]) as kb:
        for name in names:
            await kb.add(
                [
                    Entry(
                        section=f"s-{name}", title=f"{SECRET} {name}", content=f"Receta de {name}"
                    ),
                    Entry(section="identidad", title=f"Quién soy {name}", content="Yo."),
                ],
                collection=name,
            )
            (tmp_path / f"{name}.md").write_text(f"# Libro {name}\n\n## Cap\n\nTexto {name}.\n")
            await kb.ingest(tmp_path / f"{name}.md", collection=name)
        tokens = [
            {"token": token, "name": who, "collections": [name]}
            for token, who, name in zip([ANA, BETO], ["ana", "beto"], names, strict=True)
        ]
        yield kb, names, tokens
        for name in (*names, "memoria:ana", "memoria:beto"):
            await kb.remove(collection=name)


async def everything(client, ids, document_ids, names):
    """Whatever each tool and resource can be made to say."""
    everywhere = ({}, {"limit": 20}, *({"collection": name} for name in names))
    within = [{"document_id": id_} for id_ in document_ids]
    queries = (SECRET, "receta", "quién eres", "texto", "zarzaparila", "nada de nada")
    calls = [
        *(
            ("search", {"query": query, **given})
            for query in queries
            for given in (*everywhere, *within)
        ),
        *(("get_section", {"id": id_}) for id_ in ids),
        *(("get_document", {"id": id_}) for id_ in document_ids),
        *(("list_documents", {"collection": name}) for name in names),
        ("list_documents", {}),
        ("corpus_stats", {}),
    ]
    addresses = [
        *(f"kb-search://section/{id_}" for id_ in ids),
        *(f"kb-search://document/{id_}" for id_ in document_ids),
    ]
    said = [await client.call_tool(tool, arguments) for tool, arguments in calls]
    said += [await read_or_error(client, address) for address in addresses]
    return "\n".join(map(str, said))


async def read_or_error(client, uri):
    try:
        return await client.read_resource(uri)
    except Exception as error:  # noqa: BLE001 - its text is what is looked at
        return error


async def test_a_token_reads_its_collection_and_nothing_of_the_other(two):
    kb, names, tokens = two
    ids = [entry.id for name in names for entry in await kb.entries(collection=name)]
    document_ids = [d.id for name in names for d in await kb.list_documents(collection=name)]
    assert len(document_ids) == 2
    async with http_server(kb, tokens=tokens) as url:
        for token, mine, other in ((ANA, *names), (BETO, *reversed(names))):
            async with http_client(url, token=token) as client:
                said = await everything(client, ids, document_ids, ["no-such", other])
                assert f"Receta de {mine}" in said
                assert f"Libro {mine}" in said
                assert other not in said


async def test_tokens_that_call_at_the_same_time_each_read_their_own(two):
    kb, names, tokens = two
    async with (
        http_server(kb, tokens=tokens) as url,
        http_client(url, token=ANA) as ana,
        http_client(url, token=BETO) as beto,
    ):
        found = await asyncio.gather(
            *(client.call_tool("search", {"query": SECRET}) for client in (ana, beto) * 20)
        )
    assert [answer(result)["collection"] for result in found] == names * 20
    titles = [answer(result)["hits"][0]["title"] for result in found]
    assert titles == [f"{SECRET} {name}" for name in names] * 20


async def test_what_is_not_yours_is_told_like_what_does_not_exist(two):
    kb, names, tokens = two
    (foreign, *_) = await kb.entries(collection=names[1])
    async with http_server(kb, tokens=tokens) as url, http_client(url, token=ANA) as client:

        async def told(tool, **arguments):
            return refusal(await client.call_tool(tool, arguments))

        not_mine = await told("get_section", id=foreign.id)
        not_there = await told("get_section", id=2**61)
        assert not_mine.replace(str(foreign.id), "N") == not_there.replace(str(2**61), "N")
        assert await told("search", query="a", collection=names[1]) == await told(
            "search", query="a", collection="no-such"
        )


async def test_a_cursor_of_another_client_gives_nothing_of_it(two):
    kb, names, tokens = two
    async with http_server(kb, tokens=tokens) as url:
        arguments = {"query": f"{SECRET} receta quién", "limit": 1}
        async with http_client(url, token=ANA) as client:
            page = answer(await client.call_tool("search", arguments))
        async with http_client(url, token=BETO) as client:
            told = refusal(
                await client.call_tool("search", {**arguments, "cursor": page["next_cursor"]})
            )
    assert names[0] not in told


@pytest.mark.parametrize(
    "sent", [None, "Bearer wrong-wrong-wrong", f"Basic {ANA}", "Bearer x", f"Bearer {ANA}x"]
)
async def test_without_a_valid_token_nothing_is_answered(two, sent):
    kb, _, tokens = two
    headers = {"Accept": "application/json, text/event-stream"}
    if sent is not None:
        headers["Authorization"] = sent
    async with http_server(kb, tokens=tokens) as url, httpx2.AsyncClient() as http:
        for method in ("tools/list", "tools/call", "prompts/list", "initialize"):
            response = await http.post(
                url, json={"jsonrpc": "2.0", "id": 1, "method": method}, headers=headers
            )
            assert response.status_code == 401
            assert "Bearer" in response.headers["www-authenticate"]
        assert (await http.get(url, headers=headers)).status_code == 401


async def test_each_owner_remembers_apart(two):
    kb, _, tokens = two
    async with (
        http_server(kb, tokens=tokens, memory=True) as url,
        http_client(url, token=ANA) as ana,
        http_client(url, token=BETO) as beto,
    ):
        kept = answer(await ana.call_tool("remember", {"note": f"La contraseña es {SECRET}siete"}))
        mine = {"query": f"{SECRET}siete", "collection": "memoria"}
        assert answer(await ana.call_tool("search", mine))["hits"][0]["id"] == kept["id"]

        for query in (f"{SECRET}siete", f"{SECRET}sieta", "contraseña"):
            found = answer(
                await beto.call_tool("search", {"query": query, "collection": "memoria"})
            )
            assert (found["hits"], found["fixed"], found["corrections"]) == ([], [], {})
        refusal(await beto.call_tool("get_section", {"id": kept["id"]}))
        refusal(await beto.call_tool("remember", {"note": "x", "replaces": kept["id"]}))
        refusal(await beto.call_tool("search", {"query": "x", "collection": "memoria:ana"}))
        assert answer(await ana.call_tool("get_section", {"id": kept["id"]}))["text"]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"tokens": [{"token": "short", "name": "a", "collections": ["c"]}]}, "16 characters"),
        ({"tokens": [{"token": ANA, "name": "a", "collections": []}]}, "at least 1"),
        (
            {"tokens": [{"token": ANA, "name": n, "collections": ["c"]} for n in "ab"]},
            "the same",
        ),
        (
            {"tokens": [{"token": t, "name": "a", "collections": ["c"]} for t in (ANA, BETO)]},
            "the same",
        ),
        ({"collections": "memoria:ana"}, "memory"),
        ({"tokens": [{"token": ANA, "name": "a", "collections": ["memoria:b"]}]}, "memory"),
        ({"max_chars": 10}, "MAX_CHARS"),
        ({"port": 70_000}, "PORT"),
    ],
)
def test_a_wrong_setting_is_told_without_the_secret(given, told):
    with pytest.raises(ConfigError, match="KB_SEARCH_MCP_") as raised:
        mcp_settings(**given)
    assert told in str(raised.value)
    assert ANA not in str(raised.value)


def test_tokens_come_from_the_environment_as_json(clean_environment, monkeypatch):
    monkeypatch.setenv(
        "KB_SEARCH_MCP_TOKENS", f'[{{"token": "{ANA}", "name": "ana", "collections": ["c"]}}]'
    )
    settings = mcp_settings()
    found = settings.token_named(ANA)
    assert found
    assert found.name == "ana"
    assert settings.token_named(BETO) is None
    assert ANA not in repr(settings)
    monkeypatch.setenv("KB_SEARCH_MCP_TOKENS", "[{")
    with pytest.raises(ConfigError, match="not JSON"):
        mcp_settings()
