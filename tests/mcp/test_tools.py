"""Every tool through the official client, which checks answers against their schemas."""

import asyncio
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from mcp import Client
from mcp.types import TextContent

from kb_search import Entry
from kb_search.bundled import agent_rules
from tests.mcp.serving import answer, client_of, read, refusal, served

MANUAL = """# Manual de la caldera

Léelo antes de encenderla.

## Puesta en marcha

### Encendido

Gira la llave del gas y pulsa el botón verde durante tres segundos.

### Apagado

Pulsa el botón rojo hasta que se apague el piloto.

## Averías

Si parpadea la luz ámbar, falta presión de agua.
"""


@pytest.fixture
async def manual(kb, tmp_path: Path):
    (tmp_path / "caldera.md").write_text(MANUAL, encoding="utf-8")
    report = await kb.ingest(tmp_path)
    assert report.added == 1
    return kb


async def test_every_tool_reads_only_and_says_in_spanish_what_it_takes_and_gives(portfolio):
    async with client_of(portfolio) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert list(tools) == [
        "search",
        "get_section",
        "get_document",
        "list_documents",
        "corpus_stats",
    ]
    for tool in tools.values():
        assert tool.annotations
        assert tool.annotations.read_only_hint is True
        assert tool.annotations.open_world_hint is False
        assert tool.title
        assert tool.description
        assert 20 < len(tool.description) < 200
        Draft202012Validator.check_schema(tool.input_schema)
        assert tool.output_schema is not None
        Draft202012Validator.check_schema(tool.output_schema)
        assert tool.output_schema["properties"]
    assert "syntax" in tools["search"].input_schema["properties"]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_question_is_answered_with_citable_passages(portfolio, mode):
    async with Client(served(portfolio), mode=mode) as client:
        found = answer(await client.call_tool("search", {"query": "cuanto cobras por hora"}))
    assert found["confident"] is True
    assert found["hits"][0]["title"] == "Tarifas"
    assert found["hits"][0]["cite"] == "«Tarifas» (sección tarifas)"
    assert found["hits"][0]["snippet"]
    assert found["fixed"] == []
    assert found["collection"] == "default"


async def test_an_answer_that_is_not_sure_says_so_and_keeps_fixed_rows_apart(portfolio):
    async with client_of(portfolio) as client:
        found = answer(await client.call_tool("search", {"query": "xyzzy plugh"}))
    assert found["confident"] is False
    assert "inventes" in found["notice"]
    assert found["hits"] == []
    assert {row["section"] for row in found["fixed"]} == {"identidad", "skills"}
    assert all(row["score"] is None for row in found["fixed"])


async def test_a_search_takes_operators_sections_and_tags(tienda):
    async with client_of(tienda) as client:

        async def titles(**arguments):
            found = answer(await client.call_tool("search", {"limit": 20, **arguments}))
            return {hit["title"] for hit in found["hits"]}

        both = await titles(query="envío Canarias")
        without = await titles(query="envío -canarias", syntax="web")
        assert "Gastos de envío" in both
        assert "Gastos de envío" not in without
        assert without
        in_section = await titles(query="envío", section="devoluciones")
        assert in_section
        assert in_section.isdisjoint(await titles(query="envío", section="envios"))
        assert await titles(query="envío", tags=["seguimiento"]) == {"Seguimiento del pedido"}


async def test_a_cursor_goes_on_where_the_page_ended_until_nothing_is_left(tienda):
    arguments = {"query": "pedido", "limit": 3}
    seen: list[int] = []
    async with client_of(tienda) as client:
        page = answer(await client.call_tool("search", arguments))
        while page["next_cursor"]:
            seen += [hit["id"] for hit in page["hits"]]
            page = answer(
                await client.call_tool("search", {**arguments, "cursor": page["next_cursor"]})
            )
        seen += [hit["id"] for hit in page["hits"]]
    whole = await tienda.search("pedido", limit=100)
    assert seen == [hit.id for hit in whole.hits if hit.layer != "fallback"]
    assert len(seen) > 6


async def test_a_section_is_read_whole(portfolio):
    async with client_of(portfolio) as client:
        found = answer(await client.call_tool("search", {"query": "garantía del trabajo"}))
        id_ = found["hits"][0]["id"]
        section = answer(await client.call_tool("get_section", {"id": id_}))
        resource = await read(client, f"kb-search://section/{id_}")
    stored = await portfolio.get(id_)
    assert section["text"] == stored.content
    assert section["omitted"] == 0
    assert section["next_cursor"] is None
    assert section["cite"] in resource
    assert stored.content in resource


async def test_a_document_is_found_listed_and_opened(manual):
    async with client_of(manual) as client:
        hit = answer(await client.call_tool("search", {"query": "cómo enciendo la caldera"}))[
            "hits"
        ][0]
        assert hit["heading_path"][-1] == "Encendido"
        assert "caldera.md" in hit["cite"]
        document_id = hit["document_id"]

        listed = answer(await client.call_tool("list_documents"))
        assert [row["id"] for row in listed["documents"]] == [document_id]
        assert listed["next_cursor"] is None

        document = answer(await client.call_tool("get_document", {"id": document_id}))
        outline = {line["title"]: line["id"] for line in document["outline"]}
        assert list(outline)[-4:] == ["Puesta en marcha", "Encendido", "Apagado", "Averías"]
        assert outline["Encendido"] == hit["id"]

        section = answer(await client.call_tool("get_section", {"id": hit["id"]}))
        assert section["following"]["id"] == outline["Apagado"]
        assert "botón verde" in section["text"]

        resource = await read(client, f"kb-search://document/{document_id}")
        assert f"Encendido: kb-search://section/{hit['id']}" in resource


async def test_a_search_stays_inside_one_document(manual, tmp_path):
    (tmp_path / "otro.md").write_text("# Otra caldera\n\nSu botón verde la apaga.\n")
    await manual.ingest(tmp_path)
    documents = {row.title: row.id for row in await manual.list_documents()}
    async with client_of(manual) as client:
        found = answer(
            await client.call_tool(
                "search", {"query": "botón verde", "document_id": documents["Otra caldera"]}
            )
        )
    assert {hit["document_id"] for hit in found["hits"]} == {documents["Otra caldera"]}


async def test_documents_come_in_pages(kb, tmp_path):
    for number in range(60):
        (tmp_path / f"{number:02}.md").write_text(f"# Ficha {number}\n\nTexto {number}.\n")
    await kb.ingest(tmp_path)
    async with client_of(kb) as client:
        first = answer(await client.call_tool("list_documents"))
        rest = answer(await client.call_tool("list_documents", {"cursor": first["next_cursor"]}))
    ids = [row["id"] for row in first["documents"] + rest["documents"]]
    assert ids == [row.id for row in await kb.list_documents()]
    assert rest["next_cursor"] is None


async def test_the_size_of_each_collection_is_told(tienda):
    async with client_of(tienda, collections=("tienda", "nothing-here")) as client:
        stats = answer(await client.call_tool("corpus_stats"))
    shop, empty = stats["collections"]
    assert shop["collection"] == "tienda"
    assert shop["entries"] == 62
    assert shop["sections"]["envios"] == 9
    assert empty["entries"] == 0


async def test_the_prompt_is_the_text_of_the_rules(portfolio):
    async with client_of(portfolio) as client:
        (prompt,) = (await client.list_prompts()).prompts
        given = await client.get_prompt(prompt.name)
    (message,) = given.messages
    assert message.content == TextContent(type="text", text=agent_rules())
    rules = Path(__file__).parent.parent.parent / "docs" / "skill.md"
    assert agent_rules() in rules.read_text(encoding="utf-8")


async def test_fifty_calls_at_once_are_all_answered(portfolio):
    async with client_of(portfolio) as client:
        results = await asyncio.gather(
            *(client.call_tool("search", {"query": f"tarifas {n}"}) for n in range(50))
        )
    assert all(answer(result)["hits"][0]["title"] == "Tarifas" for result in results)


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        ("search", {}, "«query» falta"),
        ("search", {"query": ""}, "«query» no puede estar vacío"),
        ("search", {"query": "uno \ud800"}, "«query» tiene caracteres"),
        ("search", {"query": 7}, "«query» debe ser un texto"),
        ("search", {"query": "a", "limit": 10**9}, "«limit» debe ser 20 o menos"),
        ("search", {"query": "a", "limit": 0}, "«limit» debe ser 1 o más"),
        ("search", {"query": "a", "limit": "muchos"}, "«limit» debe ser un número entero"),
        ("search", {"query": "a", "syntax": "sql"}, "'plain' o 'web'"),
        ("search", {"query": "a", "tags": "x"}, "«tags» debe ser una lista"),
        ("search", {"query": "a", "cursor": "????"}, "cursor"),
        ("search", {"query": "a", "collection": "ajena"}, "puedes usar: «default»"),
        ("search", {"query": "a", "colection": "x"}, "Esta herramienta admite: «query»"),
        ("get_section", {"id": 2**62}, "usa un «id» que haya devuelto search"),
        ("get_section", {"id": 2**80}, "«id» debe ser"),
        ("get_section", {"id": -1}, "«id» debe ser 0 o más"),
        ("get_section", {"id": None}, "«id» debe ser un número entero"),
        ("get_document", {"id": 2**62}, "usa un «id» de list_documents"),
        ("list_documents", {"collection": "ajena"}, "puedes usar: «default»"),
        ("list_documents", {"cursor": "AAAA"}, "cursor"),
        ("corpus_stats", {"x": 1}, "admite: ninguno"),
        ("borrar_todo", {}, "Hay: «search»"),
    ],
)
async def test_a_wrong_call_is_told_what_to_do_instead(portfolio, tool, arguments, told):
    async with client_of(portfolio) as client:
        assert told in refusal(await client.call_tool(tool, arguments))


async def test_a_cursor_of_another_call_is_refused(tienda):
    async with client_of(tienda) as client:
        page = answer(await client.call_tool("search", {"query": "pedido", "limit": 1}))
        other = {"query": "envío", "limit": 1, "cursor": page["next_cursor"]}
        assert "cursor" in refusal(await client.call_tool("search", other))


@pytest.mark.parametrize(
    "uri",
    ["kb-search://section/0", "kb-search://section/x", "kb-search://nada", "file:///etc/passwd"],
)
async def test_an_address_of_nothing_is_an_error_that_says_what_there_is(portfolio, uri):
    async with client_of(portfolio) as client:
        with pytest.raises(Exception, match="search") as raised:
            await client.read_resource(uri)
    assert "passwd" not in str(raised.value)


async def test_a_long_question_is_cut_and_said_to_be(portfolio):
    async with client_of(portfolio) as client:
        found = answer(await client.call_tool("search", {"query": "tarifas " * 50_000}))
    assert "recortado" in found["notice"]


async def test_what_the_database_could_not_store_is_no_error(kb):
    await kb.add([Entry(section="s", title="Uno", content="dos")])
    async with client_of(kb) as client:
        for query in ("\x00uno", "\u202euno", "'; DROP TABLE kb_search.entry; --"):
            answer(await client.call_tool("search", {"query": query}))
