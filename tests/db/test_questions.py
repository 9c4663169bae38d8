"""The log of questions: what nothing answered, and making an entry answer it."""

import asyncio
import hashlib

import asyncpg
import pytest

from kb_search import Entry, KnowledgeBase, NotFound, QueryError
from kb_search.sql import statements

SHOP = [
    Entry(section="envios", title="Gastos de envío", content="El envío cuesta 5 euros."),
    Entry(section="envios", title="Plazos", content="Llega en dos días."),
    Entry(section="a/b", title="c/d", content="Barras en los nombres."),
]


@pytest.fixture
async def logging(dsn, collection):
    """Opens knowledge bases that log questions, on one collection."""
    opened: list[KnowledgeBase] = []

    async def open_with(**settings) -> KnowledgeBase:
        from kb_search.settings import load_settings

        chosen = load_settings(
            dsn=dsn, collection=collection, **{"question_log": "text", **settings}
        )
        kb = KnowledgeBase.open(chosen)
        await kb.__aenter__()
        opened.append(kb)
        return kb

    yield open_with
    for kb in opened:
        if kb._database is not None:
            await kb.remove(collection=collection)
            await kb.close()


async def rows(admin: asyncpg.Connection, collection: str) -> list[asyncpg.Record]:
    return await admin.fetch(
        "SELECT * FROM kb_search.question WHERE collection = $1 ORDER BY id", collection
    )


async def test_nothing_is_kept_unless_it_is_asked_for(kb, admin, collection):
    await kb.search("¿hay aparcamiento?")
    assert await kb.unanswered() == []
    await kb.flush_questions()
    assert await rows(admin, collection) == []


async def test_near_equal_questions_without_an_answer_come_as_one_group(logging):
    kb = await logging()
    await kb.add(SHOP)
    for question in (
        "¿tienen aparcamiento para bicis?",
        "teneis aparcamiento de bicis",
        "¿TIENEN APARCAMIENTO para bicis?",
        "¿venden entradas de cine?",
    ):
        assert not (await kb.search(question)).confident
    assert (await kb.search("cuánto cuesta el envío")).confident

    first, second = await kb.unanswered()
    assert first.times == 3
    assert set(first.questions) == {
        "¿TIENEN APARCAMIENTO para bicis?",
        "teneis aparcamiento de bicis",
    }
    assert second.questions == ("¿venden entradas de cine?",)
    assert 0 <= second.confidence < 0.5
    assert [group.times for group in await kb.unanswered(limit=1)] == [3]


async def test_an_alias_answers_the_question_from_then_on(logging):
    kb = await logging()
    await kb.add(SHOP)
    question = "¿los portes van aparte?"
    assert not (await kb.search(question)).confident
    assert [group.questions for group in await kb.unanswered()] == [(question,)]

    stored = await kb.add_alias("envios/Gastos de envío", question)
    assert stored.aliases == (question,)
    found = await kb.search("los portes van aparte")
    assert found.confident
    assert found.hits[0].id == stored.id
    assert await kb.unanswered() == []


async def test_an_alias_that_is_there_already_is_not_added_again(kb):
    (id_, *_) = await kb.add(SHOP)
    first = await kb.add_alias(id_, "  ¿Los portes\n van aparte? ")
    assert first.aliases == ("¿Los portes van aparte?",)
    again = await kb.add_alias(id_, "los PORTES van aparte")
    assert again == first


async def test_an_entry_is_named_by_section_and_title_even_with_slashes_in_them(kb):
    await kb.add(SHOP)
    assert (await kb.add_alias("a/b/c/d", "barras")).title == "c/d"


@pytest.mark.parametrize("entry", [2**61, 2**70, "envios", "envios/Nada", "/", ""])
async def test_an_alias_for_no_entry_says_so(kb, entry):
    await kb.add(SHOP)
    with pytest.raises(NotFound):
        await kb.add_alias(entry, "hola")


async def test_an_alias_for_an_entry_of_another_collection_says_so(kb):
    (id_, *_) = await kb.add(SHOP)
    with pytest.raises(NotFound, match="collection"):
        await kb.add_alias(id_, "hola", collection="another")


@pytest.mark.parametrize("alias", ["", " ¿? ", "x" * 501])
async def test_an_alias_needs_words_and_an_end(kb, alias):
    (id_, *_) = await kb.add(SHOP)
    with pytest.raises(QueryError, match="alias"):
        await kb.add_alias(id_, alias)


async def test_where_only_digests_are_kept_no_text_is_stored(logging, admin, collection):
    kb = await logging(question_log="hash")
    await kb.add(SHOP)
    for question in ("¿Hay parking?", "hay PARKING", "otra cosa"):
        await kb.search(question)
    groups = await kb.unanswered()
    assert [(group.questions, group.times) for group in groups] == [((), 2), ((), 1)]
    assert groups[0].digests == (hashlib.sha256(b"hay parking").hexdigest(),)
    for row in await rows(admin, collection):
        assert (row["question"], row["words"]) == (None, None)


async def test_old_questions_are_forgotten(logging, admin, collection):
    kb = await logging(question_log_days=7)
    await kb.search("una pregunta vieja")
    await kb.flush_questions()
    await admin.execute(
        "UPDATE kb_search.question SET asked_at = now() - interval '8 days' WHERE collection = $1",
        collection,
    )
    assert await kb.unanswered() == []
    another = await logging(question_log_days=7)
    await another.search("una pregunta nueva")
    await another.flush_questions()
    assert [row["question"] for row in await rows(admin, collection)] == ["una pregunta nueva"]


async def test_what_was_asked_is_written_when_the_knowledge_base_is_closed(
    logging, admin, collection
):
    kb = await logging()
    await asyncio.gather(*(kb.search(f"pregunta {n}") for n in range(40)))
    await kb.close()
    assert len(await rows(admin, collection)) == 40


async def test_blank_questions_are_left_out_and_long_ones_cut(logging, admin, collection):
    kb = await logging(max_question_chars=50)
    for question in ("", " ¿? ", "\x00", "larga " * 100_000):
        await kb.search(question)
    await kb.flush_questions()
    (kept,) = await rows(admin, collection)
    assert len(kept["question"]) <= 50


async def test_a_log_that_cannot_be_written_fails_no_search(schema_database, caplog):
    connection = await asyncpg.connect(schema_database)
    await connection.execute("DROP TABLE kb_search.question")
    await connection.close()
    from kb_search.settings import load_settings

    async with KnowledgeBase.open(load_settings(dsn=schema_database, question_log="text")) as kb:
        await kb.add(SHOP)
        for _ in range(3):
            assert (await kb.search("cuánto cuesta el envío")).hits
            await kb.flush_questions()
        assert kb._question_log
        assert kb._question_log.dropped == 3
    assert len([record for record in caplog.records if "logged" in record.getMessage()]) == 1


async def test_what_does_not_fit_the_queue_is_dropped_and_no_search_waits(logging):
    kb = await logging(question_log_queue=5)
    result = await kb.search("primera")
    await kb.flush_questions()
    log = kb._question_log
    assert log
    for _ in range(20):  # nothing is written between two of these: no await
        log.note(result, collection="default")
    assert log.dropped == 15
    await kb.flush_questions()


@pytest.mark.parametrize(
    ("statement", "arguments", "index"),
    [
        ("unanswered_questions", ["c", 30, 500], "question_unanswered"),
        ("settle_questions", ["c", "hola", 1], "question_unanswered"),
        ("forget_questions", [30], "question_age"),
    ],
)
async def test_statements_use_the_index_that_was_made_for_them(admin, statement, arguments, index):
    async with admin.transaction():
        await admin.execute("SET LOCAL enable_seqscan = off")
        plan = await admin.fetch(f"EXPLAIN {statements()[statement]}", *arguments)
    assert index in "\n".join(row[0] for row in plan)


@pytest.mark.parametrize("wrong", [{"days": 0}, {"limit": 0}])
async def test_bounds_of_the_list_are_checked(kb, wrong):
    with pytest.raises(QueryError):
        await kb.unanswered(**wrong)
