"""Frequencies and vocabulary: whatever changes entries, and in whatever order, equals a recount."""

from __future__ import annotations

import random

import asyncpg
import pytest

from kb_search import Entry
from kb_search.sql import statements

INSERT = (
    "INSERT INTO kb_search.entry (collection, section, title, content, tags)"
    " VALUES ($1, 'a', $2, $3, ARRAY['etiqueta'])"
)
TEXTS = [
    "La factura llega por correo.",
    "El correo de la tienda, la tienda del correo.",
    "Envíos a Canarias: año 2024, código ABC-1234.",
    "Pregunta por C++, Node.js o el 600 123 456.",
    "Niño, niña; contraseña.",
    "",
    "Factura factura FACTURA facturación.",
]


async def wrong_counts(connection, *collections):
    """What differs from a recount: (collection, kind, what, difference), also of words and stems."""
    return await connection.fetch(
        """
        WITH counted AS (
            SELECT collection, 'stem' AS kind, stem AS what, entries FROM kb_search.stem_count
            UNION ALL SELECT collection, 'word', word || ' ' || stem || ' ' || sound, entries
            FROM kb_search.word_count
            UNION ALL SELECT collection, 'entries', '', entries FROM kb_search.entry_count
            UNION ALL SELECT collection, 'content words', '', content_words FROM kb_search.entry_count
        ), recounted AS (
            SELECT e.collection, 'stem' AS kind, s.stem AS what, -1 AS entries
            FROM kb_search.entry AS e CROSS JOIN unnest(tsvector_to_array(e.stems)) AS s (stem)
            WHERE s.stem NOT LIKE '=%'
            UNION ALL SELECT e.collection, 'word', w.word || ' '
                || translate((kb_search.stems_of(ARRAY[w.word]))[1], 'ñ', 'n') || ' '
                || kb_search.sound(w.word), -1
            FROM kb_search.entry AS e CROSS JOIN unnest(tsvector_to_array(e.words)) AS w (word)
            UNION ALL SELECT collection, 'entries', '', -1 FROM kb_search.entry
            UNION ALL SELECT collection, 'content words', '', -content_words FROM kb_search.entry
        )
        SELECT collection, kind, what, sum(entries) AS difference
        FROM (TABLE counted UNION ALL TABLE recounted) AS c
        WHERE collection = ANY ($1::text[])
        GROUP BY 1, 2, 3 HAVING sum(entries) <> 0
        """,
        list(collections),
    )


async def counted(connection, collection, word):
    return await connection.fetchval(
        "SELECT coalesce(sum(entries), 0)::int FROM kb_search.word_count"
        " WHERE collection = $1 AND word = $2",
        collection,
        word,
    )


@pytest.fixture
async def emptied(admin, collection):
    """The collection and a second one, emptied afterwards."""
    yield collection, f"{collection}-2"
    await admin.execute(
        "DELETE FROM kb_search.entry WHERE collection IN ($1, $1 || '-2')", collection
    )


@pytest.fixture
async def others(database):
    """Two more connections, that do not wait long for a lock."""
    pair = [await asyncpg.connect(database.admin_dsn) for _ in range(2)]
    for connection in pair:
        await connection.execute("SET lock_timeout = 2000")
    yield pair
    for connection in pair:
        await connection.close()


async def test_inserted_updated_and_deleted_entries_are_counted(admin, emptied):
    collection, _ = emptied
    await admin.executemany(INSERT, [(collection, f"T{n}", text) for n, text in enumerate(TEXTS)])
    assert await counted(admin, collection, "correo") == 2
    assert await wrong_counts(admin, collection) == []
    await admin.execute(
        "UPDATE kb_search.entry SET content = 'correo nuevo' WHERE collection = $1 AND title <= 'T2'",
        collection,
    )
    assert await counted(admin, collection, "correo") == 3
    assert await counted(admin, collection, "tienda") == 0
    assert await wrong_counts(admin, collection) == []
    await admin.execute(
        "DELETE FROM kb_search.entry WHERE collection = $1 AND title = 'T1'", collection
    )
    assert await counted(admin, collection, "correo") == 2
    assert await wrong_counts(admin, collection) == []


async def test_an_update_of_what_is_not_searched_changes_no_count(admin, emptied):
    collection, _ = emptied
    await admin.execute(INSERT, collection, "T", TEXTS[0])
    await admin.execute(
        "UPDATE kb_search.entry SET section = 'b', metadata = '{\"a\": 1}' WHERE collection = $1",
        collection,
    )
    assert await wrong_counts(admin, collection) == []


async def test_an_entry_moved_to_another_collection_takes_its_counts_along(admin, emptied):
    here, there = emptied
    await admin.executemany(INSERT, [(here, f"T{n}", text) for n, text in enumerate(TEXTS)])
    await admin.execute(
        "UPDATE kb_search.entry SET collection = $2 WHERE collection = $1 AND title = 'T1'",
        here,
        there,
    )
    assert await counted(admin, here, "tienda") == 0
    assert await counted(admin, there, "tienda") == 1
    assert await wrong_counts(admin, here, there) == []


async def test_copied_entries_are_counted(admin, emptied):
    collection, _ = emptied
    await admin.copy_records_to_table(
        "entry",
        schema_name="kb_search",
        columns=["collection", "section", "title", "content", "aliases"],
        records=[
            (collection, "a", f"T{n}", text, ["otra pregunta"]) for n, text in enumerate(TEXTS)
        ],
    )
    assert await counted(admin, collection, "otra") == len(TEXTS)
    assert await wrong_counts(admin, collection) == []


async def test_an_upsert_counts_what_it_adds_and_what_it_changes(admin, emptied):
    collection, _ = emptied
    await admin.execute(INSERT, collection, "T1", "palabra vieja")
    await admin.execute(
        "INSERT INTO kb_search.entry (collection, section, title, content)"
        " VALUES ($1, 'a', 'T1', 'palabra nueva'), ($1, 'a', 'T2', 'palabra nueva')"
        " ON CONFLICT (collection, md5(section), md5(title)) WHERE title <> '' AND document_id IS NULL"
        " DO UPDATE SET content = excluded.content",
        collection,
    )
    assert await counted(admin, collection, "vieja") == 0
    assert await counted(admin, collection, "nueva") == 2
    assert await wrong_counts(admin, collection) == []


async def test_a_merge_counts_every_branch(admin, emptied):
    collection, _ = emptied
    await admin.executemany(INSERT, [(collection, f"T{n}", "palabra vieja") for n in range(3)])
    await admin.execute(
        """
        MERGE INTO kb_search.entry AS e
        USING (VALUES ('T0', true), ('T1', false), ('T9', false)) AS s (title, gone)
            ON e.collection = $1 AND e.title = s.title
        WHEN MATCHED AND s.gone THEN DELETE
        WHEN MATCHED THEN UPDATE SET content = 'palabra nueva'
        WHEN NOT MATCHED THEN INSERT (collection, section, title, content)
            VALUES ($1, 'a', s.title, 'palabra nueva')
        """,
        collection,
    )
    assert await counted(admin, collection, "nueva") == 2
    assert await counted(admin, collection, "vieja") == 1
    assert await wrong_counts(admin, collection) == []


async def test_truncating_entries_forgets_every_count(schema_database):
    connection = await asyncpg.connect(schema_database)
    await connection.execute(INSERT, "una", "T", TEXTS[0])
    await connection.execute("TRUNCATE kb_search.entry")
    for table in ("entry_count", "stem_count", "word_count"):
        assert await connection.fetchval(f"SELECT count(*) FROM kb_search.{table}") == 0
    await connection.execute(INSERT, "una", "T", TEXTS[0])
    assert await wrong_counts(connection, "una") == []
    await connection.close()


async def test_a_removed_document_takes_the_counts_of_its_sections_along(admin, emptied):
    collection, _ = emptied
    document = await admin.fetchval(
        "INSERT INTO kb_search.document (collection, source, sha256) VALUES ($1, 'a.pdf', 'x')"
        " RETURNING id",
        collection,
    )
    await admin.execute(
        "INSERT INTO kb_search.entry (collection, title, content, document_id, heading_path)"
        " VALUES ($1, 'Sección', 'texto largo', $2, ARRAY['Capítulo primero'])",
        collection,
        document,
    )
    assert await counted(admin, collection, "capitulo") == 1
    await admin.execute("DELETE FROM kb_search.document WHERE id = $1", document)
    assert await counted(admin, collection, "capitulo") == 0
    assert await wrong_counts(admin, collection) == []


async def test_two_transactions_with_the_same_words_in_opposite_order_never_wait(
    admin, others, emptied
):
    collection, _ = emptied
    one, two = others
    await admin.execute(INSERT, collection, "antes", "alfa beta")
    first, second = one.transaction(), two.transaction()
    await first.start()
    await second.start()
    # each would wait for the other's counter of the same word: lock_timeout would end it
    await one.execute(INSERT, collection, "a1", "alfa")
    await two.execute(INSERT, collection, "b1", "beta")
    await one.execute(INSERT, collection, "a2", "beta")
    await two.execute(INSERT, collection, "b2", "alfa")
    await admin.execute(INSERT, collection, "entre", "alfa beta")
    await one.execute("SELECT kb_search.fold_counts($1)", collection)
    await two.execute("SELECT kb_search.fold_counts($1)", collection)
    await two.execute(INSERT, collection, "b3", "alfa beta")
    await first.commit()
    await second.commit()
    assert await counted(admin, collection, "alfa") == 5
    assert await counted(admin, collection, "beta") == 5
    assert await wrong_counts(admin, collection) == []


async def test_many_small_writes_are_folded_now_and_then(admin, emptied):
    collection, _ = emptied
    for number in range(150):
        await admin.execute(INSERT, collection, f"T{number}", "siempre lo mismo")
    rows = await admin.fetchval(
        "SELECT count(*) FROM kb_search.word_count WHERE collection = $1 AND word = 'mismo'",
        collection,
    )
    assert rows <= 65
    assert await counted(admin, collection, "mismo") == 150
    assert await wrong_counts(admin, collection) == []


async def test_folding_leaves_one_row_a_word_and_none_for_words_that_are_gone(admin, emptied):
    collection, _ = emptied
    await admin.executemany(INSERT, [(collection, f"T{n}", text) for n, text in enumerate(TEXTS)])
    await admin.execute(
        "DELETE FROM kb_search.entry WHERE collection = $1 AND title = 'T3'", collection
    )
    assert await admin.fetchval("SELECT kb_search.fold_counts($1)", collection)
    rows = await admin.fetch(
        "SELECT word, count(*) AS rows, sum(entries) AS entries FROM kb_search.word_count"
        " WHERE collection = $1 GROUP BY word",
        collection,
    )
    assert {row["rows"] for row in rows} == {1}
    assert min(row["entries"] for row in rows) > 0
    assert "nodejs" not in {row["word"] for row in rows}
    assert await wrong_counts(admin, collection) == []


async def test_folding_is_left_out_while_another_folds(admin, others, emptied):
    collection, _ = emptied
    one, two = others
    await admin.execute(INSERT, collection, "T", TEXTS[0])
    async with one.transaction():
        assert await one.fetchval("SELECT kb_search.fold_counts($1)", collection)
        assert not await two.fetchval("SELECT kb_search.fold_counts($1)", collection)
        await two.execute(INSERT, collection, "T2", TEXTS[1])
    assert await two.fetchval("SELECT kb_search.fold_counts($1)", collection)
    assert await wrong_counts(admin, collection) == []


@pytest.mark.parametrize("isolation", ["repeatable_read", "serializable"])
async def test_an_old_snapshot_never_folds_what_it_cannot_see(admin, others, emptied, isolation):
    collection, _ = emptied
    one, two = others
    await admin.execute(INSERT, collection, "T", TEXTS[0])
    async with one.transaction(isolation=isolation):
        assert await counted(one, collection, "factura") == 1
        await two.execute(INSERT, collection, "T2", TEXTS[0])
        assert await two.fetchval("SELECT kb_search.fold_counts($1)", collection)
        assert not await one.fetchval("SELECT kb_search.fold_counts($1)", collection)
        await one.execute(INSERT, collection, "T3", TEXTS[0])
        assert await counted(one, collection, "factura") == 2
    assert await counted(admin, collection, "factura") == 3
    assert await wrong_counts(admin, collection) == []


class Interleaving:
    """Three connections, that change, fold, commit and roll back in an order drawn at random."""

    def __init__(self, seed, connections, collections):
        self.random = random.Random(seed)
        self.connections = connections
        self.collections = collections
        self.open = {}

    async def run(self, steps):
        for step in range(steps):
            await self._step(step, self.random.choice(self.connections))
        for transaction in self.open.values():
            await transaction.commit()

    async def _step(self, step, connection):
        kind = self.random.choice(
            [
                "begin",
                "insert",
                "insert",
                "insert",
                "update",
                "delete",
                "move",
                "fold",
                "end",
                "savepoint",
            ]
        )
        collection = self.random.choice(self.collections)
        text = " ".join(
            self.random.sample(["uno", "dos", "tres", "cuatro", "año", "ABC-12", "C++"], 3)
        )
        if kind == "begin" and connection not in self.open:
            isolation = self.random.choice(["read_committed", "read_committed", "repeatable_read"])
            self.open[connection] = connection.transaction(isolation=isolation)
            await self.open[connection].start()
        elif kind == "end" and connection in self.open:
            transaction = self.open.pop(connection)
            await (transaction.commit() if self.random.random() < 0.6 else transaction.rollback())
        elif kind == "insert":
            await connection.execute(INSERT, collection, f"T{step}", text)
        elif kind == "fold":
            await connection.execute("SELECT kb_search.fold_counts($1)", collection)
        elif kind == "savepoint" and connection in self.open:
            inner = connection.transaction()
            await inner.start()
            await connection.execute(INSERT, collection, f"S{step}", text)
            await connection.execute("SELECT kb_search.fold_counts($1)", collection)
            await inner.rollback()
        elif kind in {"update", "delete", "move"}:
            await self._change(kind, connection, collection, text)

    async def _change(self, kind, connection, collection, text):
        # rows that no other transaction holds: rows of entries do lock, their counts must not
        statement = {
            "update": "UPDATE kb_search.entry SET content = $2",
            "delete": "DELETE FROM kb_search.entry",
            "move": "UPDATE kb_search.entry SET collection = $2",
        }[kind]
        argument = {"update": [text], "delete": [], "move": [self.random.choice(self.collections)]}
        try:
            async with connection.transaction():
                await connection.execute(
                    f"{statement} WHERE id IN (SELECT id FROM kb_search.entry WHERE collection = $1"
                    " ORDER BY id DESC LIMIT 2 FOR UPDATE SKIP LOCKED)",
                    collection,
                    *argument[kind],
                )
        except asyncpg.SerializationError:
            pass  # changed since the snapshot: undone up to the savepoint


@pytest.mark.parametrize("seed", range(6))
async def test_after_any_interleaving_the_counts_equal_a_recount(admin, others, emptied, seed):
    await Interleaving(seed, [admin, *others], emptied).run(120)
    assert await wrong_counts(admin, *emptied) == []
    for collection in emptied:
        assert await admin.fetchval("SELECT kb_search.fold_counts($1)", collection)
    assert await wrong_counts(admin, *emptied) == []


async def test_the_doctor_s_recount_sees_what_this_one_sees(admin, emptied):
    collection, _ = emptied
    await admin.execute(INSERT, collection, "T", TEXTS[0])
    transaction = admin.transaction()
    await transaction.start()
    await admin.execute(
        "DELETE FROM kb_search.stem_count WHERE collection = $1 AND stem = 'corre'", collection
    )
    assert [row["kind"] for row in await wrong_counts(admin, collection)] == ["stem"]
    told = await admin.fetch(statements()["miscounted"])
    assert [row["collection"] for row in told] == [collection]
    await transaction.rollback()
    assert await admin.fetch(statements()["miscounted"]) == []


async def test_an_entry_of_sixty_thousand_different_words_is_stored_counted_and_found(kb):
    words = [f"w{number:05d}" for number in range(60_000)]
    (entry_id,) = await kb.add([Entry(section="a", title="Léxico", content=" ".join(words))])
    stored = await kb.get(entry_id)
    assert len(stored.content.split()) == 60_000
    assert (await kb.search("w00017")).hits[0].id == entry_id
    assert await kb.database.write("miscounted") == []
    assert await kb.remove(ids=[entry_id]) == 1


async def test_an_entry_of_five_megabytes_is_stored_whole_and_found_by_its_beginning(kb):
    text = "principio " + "relleno de un texto muy largo, con eñes y años. " * 105_000
    assert len(text.encode()) > 5_000_000
    (entry_id,) = await kb.add([Entry(section="a", title="Enorme", content=text)])
    assert (await kb.get(entry_id)).content == text
    result = await kb.search("principio")
    assert result.hits[0].id == entry_id
    assert len(result.hits[0].snippet) < 400
    assert await kb.database.write("miscounted") == []


@pytest.mark.parametrize(
    "text", ["ñ" * 3_000_000, "á " * 600_000, "😀 " * 400_000, "a-b" * 300_000]
)
async def test_no_long_text_is_refused(kb, text):
    (entry_id,) = await kb.add(
        [
            Entry(
                section="a",
                title="Largo",
                content=text,
                aliases=(text[:200_000],),
                tags=(text[:200_000],),
            )
        ]
    )
    assert (await kb.get(entry_id)).content == text
    assert (await kb.search("largo")).hits[0].id == entry_id
