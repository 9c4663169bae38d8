"""No answer is longer than it may be, whatever is in the collection."""

import json
from typing import Any

import pytest

from kb_search import Entry, KnowledgeBase
from kb_search.mcp.budget import label, slice_that_fits
from tests.mcp.serving import answer, client_of, read, text

BUDGET = 8_000
HUGE = 5_000_000


@pytest.fixture(scope="module")
async def crowded(dsn):
    """A collection with an entry of 5 MB and others that are long wherever they can be."""
    name = "test-budget"
    nasty = '"\\\x01\n\t⟦🙂 '
    async with KnowledgeBase.open(dsn=dsn, collection=name) as kb:
        await kb.add(
            [
                Entry(
                    section="largo",
                    title="El largo",
                    content=("Una frase sobre la caldera.\n" * (HUGE // 28 + 1))[:HUGE],
                ),
                *(
                    Entry(
                        section=nasty * 30,
                        title=f"caldera {n} " + nasty * 2_000,
                        content=(nasty + "caldera ") * 500,
                        source=nasty * 1_000,
                        tags=tuple(f"{nasty}{i}" for i in range(50)),
                        metadata={"x": "y" * 10_000},
                    )
                    for n in range(30)
                ),
                *(
                    Entry(section=f"{n} " + "sección " * 49, title="t", content="caldera")
                    for n in range(100)
                ),
            ]
        )
        yield kb
        await kb.remove(collection=name)


def within(result) -> dict[str, Any]:
    found = answer(result)
    assert len(text(result)) <= BUDGET
    assert (
        len(json.dumps(result.structured_content, ensure_ascii=False, separators=(",", ":")))
        <= BUDGET
    )
    return found


async def test_every_page_of_a_search_keeps_to_its_budget_and_none_is_lost(crowded):
    seen = []
    async with client_of(crowded, max_chars=BUDGET) as client:
        arguments = {"query": "caldera", "limit": 20}
        page = within(await client.call_tool("search", arguments))
        assert page["omitted"] > 0
        while page["next_cursor"]:
            assert page["hits"]
            seen += [hit["id"] for hit in page["hits"]]
            arguments["cursor"] = page["next_cursor"]
            page = within(await client.call_tool("search", arguments))
        seen += [hit["id"] for hit in page["hits"]]
    assert len(seen) == len(set(seen)) == 100


async def test_five_megabytes_are_read_in_parts_that_join_up(crowded):
    (largest,) = await crowded.entries(section="largo")
    at = 0
    async with client_of(crowded, max_chars=200_000) as client:
        arguments = {"id": largest.id}
        while True:
            result = await client.call_tool("get_section", arguments)
            part = answer(result)
            assert len(text(result)) <= 200_000
            assert part["start"] == at
            assert largest.content.startswith(part["text"], at)
            at += len(part["text"])
            assert part["omitted"] == HUGE - at
            if part["next_cursor"] is None:
                break
            arguments["cursor"] = part["next_cursor"]
    assert at == HUGE


async def test_a_section_full_of_what_json_escapes_keeps_to_its_budget(crowded):
    first = (await crowded.search("caldera 7", limit=1)).hits[0]
    async with client_of(crowded, max_chars=BUDGET) as client:
        part = within(await client.call_tool("get_section", {"id": first.id}))
    assert part["text"]
    assert part["omitted"] > 0


async def test_resources_keep_to_the_budget_and_say_what_is_missing(crowded):
    (largest,) = await crowded.entries(section="largo")
    async with client_of(crowded, max_chars=BUDGET) as client:
        content = await read(client, f"kb-search://section/{largest.id}")
    assert len(content) <= BUDGET
    assert f"get_section, id {largest.id}" in content


async def test_stats_of_many_sections_keep_to_the_budget(crowded):
    async with client_of(crowded, max_chars=BUDGET) as client:
        stats = within(await client.call_tool("corpus_stats"))
    (line,) = stats["collections"]
    assert line["entries"] == 131
    assert len(line["sections"]) + line["other_sections"] == 102


async def test_a_document_of_thousands_of_headings_is_listed_in_parts(kb, tmp_path):
    body = "".join(f"## Apartado {n} {'muy ' * 30}largo\n\nTexto {n}.\n\n" for n in range(1500))
    (tmp_path / "grande.md").write_text(f"# Grande\n\nInicio.\n\n{body}")
    await kb.ingest(tmp_path)
    (document,) = await kb.list_documents()
    titles = []
    async with client_of(kb, max_chars=BUDGET) as client:
        arguments = {"id": document.id}
        while True:
            part = within(await client.call_tool("get_document", arguments))
            assert part["outline"]
            titles += [line["title"].split(" muy")[0] for line in part["outline"]]
            if part["next_cursor"] is None:
                break
            arguments["cursor"] = part["next_cursor"]
        content = await read(client, f"kb-search://document/{document.id}")
    assert [title for title in titles if title != "Grande"] == [
        f"Apartado {n}" for n in range(1500)
    ]
    assert len(json.dumps(content, ensure_ascii=False)) <= BUDGET
    assert "pídelos con get_document" in content


@pytest.mark.parametrize("room", [0, 1, 2, 5, 17, 100])
def test_parts_of_a_text_take_their_room_at_most_and_always_get_further(room):
    whole = 'uno "dos"\n\x01tres\\cuatro 🙂 cinco ' * 4
    at = 0
    while at < len(whole):
        part = slice_that_fits(whole, start=at, room=room)
        assert part
        assert whole.startswith(part, at)
        if len(part) > 1:
            assert len(json.dumps(part, ensure_ascii=False)) - 2 <= room
        at += len(part)


def test_a_label_is_one_bounded_line():
    assert label(" a\n b\x00c ", 10) == "a b c"
    assert label("x" * 50, 10) == "x" * 9 + "…"
    assert len(label(" " * 10**6 + "y", 10)) <= 10
