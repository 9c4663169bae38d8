"""Rows as plain SQL may write them: whatever the table takes is found, listed and shown."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize(
    ("array", "kept"),
    [
        ("{}", ()),
        ("{NULL,horario,NULL}", ("horario",)),
        ("{{horario,apertura},{cierre,NULL}}", ("horario", "apertura", "cierre")),
        ("[5:6]={horario,apertura}", ("horario", "apertura")),
    ],
    ids=["empty", "null", "matrix", "other-bounds"],
)
async def test_an_array_of_whatever_shape_is_a_list_of_its_texts(
    kb, collection, admin, array, kept
):
    entry_id = await admin.fetchval(
        "INSERT INTO kb_search.entry (collection, section, title, content, aliases, tags)"
        f" VALUES ($1, 'faq', 'Cuándo abrimos', 'De 9 a 18 h.', '{array}', '{array}')"
        " RETURNING id",
        collection,
    )
    for question in ("horario", "cuando abrimos", "9 a 18", "orario", "cuándo abrimmos"):
        found = await kb.search(question, mode="lexical", explain=True)
        if found.hits:
            assert (found.hits[0].id, found.hits[0].tags) == (entry_id, kept)
    assert (await kb.search("cuando abrimos", mode="lexical")).hits
    stored = await kb.get(entry_id)
    assert (stored.aliases, stored.tags) == (kept, kept)
    assert [entry.id for entry in await kb.entries()] == [entry_id]
