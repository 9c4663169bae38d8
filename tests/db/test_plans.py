"""Statements: each is used, accepted by the server, and planned over the index it was written for."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import asyncpg
import pytest

import kb_search
from kb_search import Entry, KnowledgeBase
from kb_search.sql import statements

PACKAGE = Path(kb_search.__file__).parent
COLLECTIONS = 50


@pytest.mark.parametrize("name", sorted(statements()))
def test_every_statement_is_used_by_a_module(name):
    sources = [
        path.read_text(encoding="utf-8")
        for path in PACKAGE.rglob("*.py")
        if path.parent.name != "sql"
    ]
    # three names are put together from their kinds
    kinds = re.sub(r"^(forget|recount)_.*", r"\1_", name)
    assert any(f'"{name}"' in text or f'f"{kinds}{{kind}}' in text for text in sources)


@pytest.mark.parametrize("name", sorted(statements()))
async def test_every_statement_is_accepted_and_says_what_it_takes(admin, name):
    text = statements()[name]
    prepared = await admin.prepare(text)
    taken = {int(number) for number in re.findall(r"\$(\d+)", re.sub(r"--.*", "", text))}
    assert taken == set(range(1, len(prepared.get_parameters()) + 1))
    told = "\n".join(line for line in text.splitlines() if line.startswith("--"))
    assert all(f"${number}" in told for number in taken)


@pytest.fixture(scope="module")
async def many(server, template):
    """A connection to a database of 50 collections of 40 entries, every statement logged with its
    plan; hands over (connection, messages).
    """
    from tests.servers.databases import new_database

    async with new_database(server.dsn, template=template) as dsn:
        async with KnowledgeBase.open(dsn=dsn) as kb:
            for number in range(COLLECTIONS):
                await kb.add(
                    [
                        Entry(
                            section=f"s{n % 5}",
                            title=f"Asunto {n} del tema {number}",
                            content=f"Texto {n} sobre facturas, envíos y devoluciones {number * n}.",
                        )
                        for n in range(40)
                    ],
                    collection=f"c{number}",
                )
            await kb.pool.execute("ANALYZE")
        connection = await asyncpg.connect(dsn)
        messages: list[str] = []
        connection.add_log_listener(lambda _, message: messages.append(message.message))
        await connection.execute(
            "LOAD 'auto_explain'; SET auto_explain.log_min_duration = 0;"
            "SET auto_explain.log_nested_statements = on; SET client_min_messages = log"
        )
        yield connection, messages
        await connection.close()


async def plans_of(many, statement, *arguments):
    connection, messages = many
    await connection.fetch(statement, *arguments)  # the driver asks for the types it does not know
    await asyncio.sleep(0)
    messages.clear()
    await connection.fetch(statement, *arguments)
    await connection.fetch("SELECT 1")  # what was logged before has come in with its answer
    await asyncio.sleep(0)
    return "\n".join(messages)


QUESTION = "SELECT t.* FROM kb_search.question_terms($1::text, $2::text, $3::integer) AS t"


async def test_the_terms_of_a_question_are_looked_up_by_index(many):
    plans = await plans_of(many, QUESTION, "c7", "facturas del tema 7, embios y asuntos", 64)
    assert "stem_count_stem" in plans
    assert "word_count_word" in plans
    assert "word_count_stem" in plans
    assert "spanish_word_stem" in plans
    assert "entry_count_collection" in plans
    assert "similar_words" in plans
    assert "Seq Scan" not in plans


async def test_candidates_come_from_the_index_of_stems_in_one_collection_of_many(many):
    arguments = [
        "c7", "factura | envio", ["facturas", "envios"], [2.0, 1.0], [0.5, 0.5],
        None, None, None, 10.0, 4, 0.4, 0.4, 0.3, None, None, False,
    ]  # fmt: skip
    plans = await plans_of(many, statements()["ranked_entries"], *arguments)
    assert "Bitmap Index Scan on entry_stems" in plans
    assert "Seq Scan" not in plans


async def test_fixed_rows_and_lists_of_a_section_use_its_index(many):
    plans = await plans_of(many, statements()["fixed_rows"], "c7", ["s1", "s2"], [1], 10)
    assert "entry_section" in plans
    assert "Seq Scan" not in plans


async def test_the_last_resort_uses_the_index_of_titles_and_aliases(many):
    plans = await plans_of(
        many,
        "SELECT id FROM kb_search.similar_entries($1::text, $2::text)",
        "c7",
        "asunto 7 del tema siete",
    )
    assert "entry_asked" in plans or "entry_section" in plans
    assert "Seq Scan" not in plans


async def test_a_natural_key_is_looked_up_by_its_index(many):
    plans = await plans_of(many, statements()["entry_of_key"], "c7", "s1", "Asunto 1 del tema 7")
    assert "entry_natural_key" in plans


async def test_an_entry_without_a_title_is_looked_up_by_its_text(many):
    plans = await plans_of(
        many,
        "SELECT id FROM kb_search.entry WHERE collection = $1 AND md5(content) = md5($2)"
        " AND title = '' AND document_id IS NULL",
        "c7",
        "texto",
    )
    assert "entry_untitled" in plans


async def test_every_index_says_which_query_needs_it(admin):
    schema = (PACKAGE.parent / "schema.sql").read_text(encoding="utf-8")
    names = [
        record["name"]
        for record in await admin.fetch(
            "SELECT indexrelid::regclass::name AS name FROM pg_index AS i"
            " JOIN pg_class AS c ON c.oid = i.indexrelid"
            " WHERE c.relnamespace = 'kb_search'::regnamespace AND NOT i.indisprimary"
        )
    ]
    semantic = PACKAGE / "semantic" / "schema.sql"
    text = schema + (semantic.read_text(encoding="utf-8") if semantic.is_file() else "")
    for name in names:
        bare = name.removeprefix("kb_search.")
        before = text[: text.index(f"EXISTS {bare} ")].splitlines()[-8:]
        assert any("-- " in line for line in before), bare
