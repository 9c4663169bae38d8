"""docs/roles.md: its grants are enough, and whoever has them can do no more."""

from __future__ import annotations

import re
import secrets
from contextlib import asynccontextmanager
from pathlib import Path

import asyncpg
import pytest

from kb_search import DatabaseError, Entry, KnowledgeBase
from kb_search.settings import load_settings
from tests.servers.databases import as_role

PAGE = Path(__file__).parents[2] / "docs" / "roles.md"
RATES = Entry(
    section="tarifas", title="Tarifas", content="La facturación es mensual: 40 € la hora."
)


async def run(dsn, *statements):
    connection = await asyncpg.connect(dsn)
    try:
        for statement in statements:
            await connection.execute(statement)
    finally:
        await connection.close()


def grants_to(role):
    """The statements of the page for a role of its own, `{role}` in place of its name."""
    blocks = re.findall(r"```sql\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    (grants,) = (block for block in blocks if role in block)
    return grants.replace(role, "{role}")


@pytest.fixture
async def granted(server, schema_database):
    """Makes roles with these rights and no others; gives the DSN of each."""
    made = []

    async def grant(grants):
        name, password = f"kb_test_{secrets.token_hex(6)}", secrets.token_hex(12)
        await run(server.dsn, f"CREATE ROLE {name} LOGIN PASSWORD '{password}'")
        made.append(name)
        await run(schema_database, grants.format(role=name))
        return as_role(schema_database, name, password)

    yield grant
    for name in made:
        await run(schema_database, f"DROP OWNED BY {name}")
        await run(server.dsn, f"DROP ROLE {name}")


@asynccontextmanager
async def connected(dsn):
    connection = await asyncpg.connect(dsn)
    yield connection
    await connection.close()


async def test_a_reader_searches_and_changes_nothing(granted, schema_database):
    async with KnowledgeBase.open(dsn=schema_database) as owner:
        (entry_id,) = await owner.add([RATES])
    async with KnowledgeBase.open(dsn=await granted(grants_to("kb_reader"))) as kb:
        assert (await kb.search("facturasion")).hits[0].id == entry_id
        assert (await kb.get(entry_id)).title == "Tarifas"
        assert [stats.entries for stats in await kb.stats()] == [1]
        assert [check for check in await kb.doctor() if not check.ok] == []
        with pytest.raises(DatabaseError, match="this role lacks a right") as refused:
            await kb.add([Entry(section="a", title="b", content="c")])
    assert refused.value.sqlstate == "42501"


async def test_a_writer_writes_removes_and_logs(granted, schema_database):
    settings = load_settings(dsn=await granted(grants_to("kb_writer")), question_log="text")
    async with KnowledgeBase.open(settings) as kb:
        (entry_id,) = await kb.add([RATES])
        await kb.add_synonym("precio", "tarifa")
        assert (await kb.search("precios")).hits[0].id == entry_id
        await kb.search("pizza")
        (group,) = await kb.unanswered()
        assert group.questions == ("pizza",)
        assert "pizza" in (await kb.add_alias(entry_id, "pizza")).aliases
        assert await kb.remove(ids=[entry_id]) == 1
    async with KnowledgeBase.open(dsn=schema_database) as owner:
        assert {check.name: check.level for check in await owner.doctor()}["frequencies"] == "ok"


async def test_a_role_that_may_only_insert_entries_keeps_the_frequencies_right(
    granted, schema_database
):
    feeder = await granted(
        "GRANT USAGE ON SCHEMA kb_search TO {role}; GRANT INSERT ON kb_search.entry TO {role}"
    )
    async with connected(feeder) as connection:
        for number in range(70):  # over the threshold of folding
            await connection.execute(
                "INSERT INTO kb_search.entry (section, title, content) VALUES ('a', $1, 'texto')",
                f"Entrada {number}",
            )
    async with KnowledgeBase.open(dsn=schema_database) as kb:
        assert {check.name: check.level for check in await kb.doctor()}["frequencies"] == "ok"
        assert (await kb.search("entrada 7")).hits[0].title == "Entrada 7"


@pytest.mark.parametrize(
    "function",
    [
        "count_changed_rows",
        "forget_counts",
        "queue_added_vectors",
        "queue_changed_vectors",
        "remove_vectors",
        "forget_vectors",
    ],
)
async def test_nobody_can_hang_the_functions_of_the_counts_on_a_table_of_their_own(
    granted, function
):
    async with connected(await granted(grants_to("kb_writer"))) as connection:
        await connection.execute("CREATE TEMPORARY TABLE mine (collection text)")
        with pytest.raises(asyncpg.InsufficientPrivilegeError, match=function):
            await connection.execute(
                "CREATE TRIGGER mine AFTER TRUNCATE ON mine"
                f" FOR EACH STATEMENT EXECUTE FUNCTION kb_search.{function}()"
            )
        with pytest.raises(asyncpg.InsufficientPrivilegeError, match="fold_counts"):
            await connection.execute("SELECT kb_search.fold_counts('default')")
