from typing import cast

import pytest

from kb_search import KnowledgeBase, NotFound, QueryError
from kb_search.memory import Memory, collection_of


@pytest.fixture
async def owners(kb, collection):
    """Two owners' memories; the knowledge base is emptied of them afterwards."""
    ana, beto = (Memory(kb, owner=f"{name}-{collection}") for name in ("ana", "beto"))
    yield ana, beto
    for memory in (ana, beto):
        await kb.remove(collection=memory.collection)


async def test_a_note_is_found_by_its_owner_alone(owners):
    ana, beto = owners
    id_ = await ana.remember("Prefiere que la llamen por la tarde", tags=["contacto"])
    assert [hit.id for hit in (await ana.recall("¿cuándo la llamo?")).hits] == [id_]
    assert (await ana.recall("llamar", tags=["otra"])).hits == ()
    for question in ("llamen por la tarde", "yamen", "prefiere"):
        found = await beto.recall(question)
        assert (found.hits, found.corrections) == ((), {})
    with pytest.raises(NotFound):
        await beto.get(id_)
    with pytest.raises(NotFound):
        await beto.archive(id_)


async def test_an_archived_note_is_kept_and_not_found(kb, owners):
    ana, _ = owners
    id_ = await ana.remember("Vive en Teruel")
    await ana.archive(id_)
    found = await ana.recall("vive en Teruel")
    assert found.hits == ()
    assert (await kb.get(id_)).metadata["status"] == "archived"
    with pytest.raises(NotFound):
        await ana.archive(id_)


async def test_an_archived_note_is_no_fixed_row_either(kb, owners, dsn):
    from kb_search.settings import load_settings

    ana, _ = owners
    await ana.archive(await ana.remember("Vive en Teruel"))
    settings = load_settings(dsn=dsn, fallback_sections="notas")
    async with KnowledgeBase.open(settings) as generous:
        assert (await Memory(generous, owner=ana.owner).recall("nada de eso")).hits == ()


async def test_the_same_note_again_is_one_note_and_comes_back_to_life(owners):
    ana, _ = owners
    first = await ana.remember("Vive en Teruel")
    assert await ana.remember(" Vive en\nTeruel ") == first
    await ana.archive(first)
    assert await ana.remember("Vive en Teruel") == first
    assert (await ana.recall("Teruel")).hits


async def test_long_notes_with_the_same_start_are_two(owners):
    ana, _ = owners
    start = "La reunión de seguimiento del proyecto quedó fijada, según lo hablado ayer, para el "
    ids = {await ana.remember(start + day) for day in ("lunes", "martes")}
    assert len(ids) == 2


async def test_a_new_note_takes_the_place_of_an_old_one(owners):
    ana, beto = owners
    old = await ana.remember("Vive en Teruel")
    new = await ana.remember("Vive en Soria", replaces=old)
    assert [hit.id for hit in (await ana.recall("¿dónde vive?")).hits] == [new]
    foreign = await beto.remember("Vive en Soria")
    with pytest.raises(NotFound):
        await ana.remember("x", replaces=foreign)
    assert await beto.get(foreign)


@pytest.mark.parametrize("note", ["", " \n", "x" * 4001])
async def test_a_note_is_neither_blank_nor_endless(owners, note):
    ana, _ = owners
    with pytest.raises(QueryError, match="note"):
        await ana.remember(note)


@pytest.mark.parametrize("owner", ["", " ", "x" * 201])
def test_an_owner_has_a_name(owner):
    with pytest.raises(QueryError, match="owner"):
        Memory(cast("KnowledgeBase", None), owner=owner)


def test_owners_with_long_names_share_no_collection():
    names = ["x" * 149 + tail for tail in ("ab", "ac", "b", "")]
    collections = {collection_of(name) for name in names}
    assert len(collections) == 4
    assert all(len(name) <= 200 for name in collections)
