"""Arguments of the wrong type, or that no row can hold: a QueryError at once, nothing stored."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kb_search import Entry, NotFound, QueryError

RATES = Entry(section="tarifas", title="Tarifas", content="Desde 40 € la hora.")


def _nested(depth):
    value: dict[str, object] = {}
    for _ in range(depth):
        value = {"a": value}
    return value


def _holding_itself():
    value: dict[str, object] = {}
    value["a"] = [value]
    return value


@pytest.mark.parametrize("wrong", ["1", "", None, 1.0, True, b"1", [1]])
async def test_an_id_is_a_whole_number(kb, wrong):
    with pytest.raises(QueryError, match="whole number"):
        await kb.get(wrong)
    with pytest.raises(QueryError, match="whole number"):
        await kb.remove(ids=[wrong])
    with pytest.raises(QueryError, match="whole number"):
        await kb.search("tarifas", documents=[wrong])
    if wrong is not None:
        with pytest.raises(QueryError, match="whole number"):
            await kb.remove(document=wrong)
        with pytest.raises(QueryError, match="whole number"):
            await kb.entries(after_id=wrong)
        with pytest.raises(QueryError, match="whole number"):
            await kb.entries(limit=wrong)


@pytest.mark.parametrize("wrong", ["12", b"12", 12])
async def test_ids_are_a_list(kb, wrong):
    with pytest.raises(QueryError, match="list of whole numbers"):
        await kb.remove(ids=wrong)
    with pytest.raises(QueryError, match="list of whole numbers"):
        await kb.search("tarifas", documents=wrong)


@pytest.mark.parametrize("beyond", [2**63, -(2**63) - 1, 10**40])
async def test_an_id_beyond_bigint_is_that_of_no_row(kb, beyond):
    with pytest.raises(NotFound):
        await kb.get(beyond)
    assert await kb.remove(ids=[beyond]) == 0
    assert await kb.remove(document=beyond) == 0
    assert (await kb.search("tarifas", documents=[beyond])).layer == "fallback"


@pytest.mark.parametrize("wrong", [RATES, [{"title": "Tarifas"}], "Tarifas", 1, None])
async def test_what_is_no_list_of_entries_is_refused(kb, wrong):
    with pytest.raises(QueryError, match="entr"):
        await kb.add(wrong)


@pytest.mark.parametrize(
    "change",
    [
        {"source": 1},
        {"tags": 7},
        {"tags": None},
        {"tags": (tag for tag in ("a", "b"))},
        {"aliases": 7},
        {"aliases": "cuánto cobra"},
        {"metadata": _holding_itself()},
        {"metadata": _nested(5000)},
        {"metadata": {"a": float("nan")}},
        {"metadata": {"a": 10**5000}},
        {"title": "\x00", "content": " \ud800"},
        {"section": "s" * 401},
    ],
    ids=",".join,
)
async def test_an_entry_that_cannot_be_stored_as_it_is_stores_nothing(kb, change):
    with pytest.raises(QueryError):
        await kb.add([RATES, replace(RATES, **change)])
    assert await kb.entries() == []


async def test_entries_may_come_from_a_generator(kb):
    assert len(await kb.add(replace(RATES, title=f"Tarifa {n}") for n in range(3))) == 3


async def test_the_longest_names_in_four_bytes_a_character_are_stored(kb):
    section, collection = "".join(map(chr, range(0x20000, 0x20190))), "𠀀" * 200
    (entry_id,) = await kb.add([replace(RATES, section=section)], collection=collection)
    assert (await kb.get(entry_id)).section == section
    assert await kb.remove(collection=collection) == 1


@pytest.mark.parametrize(
    "filters",
    [
        {"tags": 7},
        {"tags": b"a"},
        {"tags": [1]},
        {"metadata": _holding_itself()},
        {"metadata": _nested(5000)},
        {"metadata": {"a": float("inf")}},
        {"section": 1},
    ],
    ids=",".join,
)
async def test_a_filter_of_the_wrong_type_is_refused(kb, filters):
    with pytest.raises(QueryError):
        await kb.search("tarifas", **filters)


async def test_metadata_of_many_levels_is_kept(kb):
    (entry_id,) = await kb.add([replace(RATES, metadata=_nested(150))])
    assert (await kb.get(entry_id)).metadata == _nested(150)


@pytest.mark.parametrize("name", ["", "\x00", "\ud800\x00", "c" * 201, 1])
async def test_a_collection_has_a_name_that_can_be_asked_for(kb, name):
    with pytest.raises(QueryError, match="1 to 200"):
        await kb.add([RATES], collection=name)
    with pytest.raises(QueryError, match="1 to 200"):
        await kb.search("tarifas", collection=name)


async def test_a_section_is_listed_and_removed_by_what_is_left_of_its_name(kb):
    (entry_id,) = await kb.add([replace(RATES, section="tari\x00fas")])
    assert [entry.id for entry in await kb.entries(section="tari\ud800fas")] == [entry_id]
    assert await kb.remove(section="\x00tarifas") == 1


@pytest.mark.parametrize("wrong", [None, 1, b"a", ["a"]])
async def test_what_is_wanted_as_a_text_is_one(kb, wrong):
    (entry_id,) = await kb.add([RATES])
    for call in (
        kb.add_synonym(wrong, "precio"),
        kb.add_synonym("precio", wrong),
        kb.remove_synonym(wrong, "precio"),
        kb.add_alias(entry_id, wrong),
    ):
        with pytest.raises(QueryError, match="text"):
            await call


@pytest.mark.parametrize("wrong", ["7", 1.5, True, [1]])
async def test_a_count_is_a_whole_number(kb, wrong):
    with pytest.raises(QueryError, match="whole number"):
        await kb.unanswered(days=wrong)
    with pytest.raises(QueryError, match="whole number"):
        await kb.unanswered(limit=wrong)
    found = await kb.search("tarifas")
    with pytest.raises(QueryError, match="whole number"):
        found.to_context(max_chars=wrong)


@pytest.mark.parametrize("wrong", [None, 1.0, True, ["s/t"]])
async def test_an_alias_goes_to_an_id_or_a_section_and_title(kb, wrong):
    with pytest.raises(QueryError, match="whole number"):
        await kb.add_alias(wrong, "precio")


@pytest.mark.parametrize("wrong", ["1", True, 1.0, None, [1]])
async def test_what_is_no_id_of_a_document_or_section_is_refused_at_once(kb, wrong):
    with pytest.raises(QueryError):
        await kb.get_document(wrong)
    with pytest.raises(QueryError):
        await kb.get_section(wrong)
    if wrong is not None:
        with pytest.raises(QueryError):
            await kb.list_documents(after_id=wrong)
