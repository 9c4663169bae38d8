"""The schema: applied by many at once, by lesser roles, in odd databases; examined and mended."""

from __future__ import annotations

import asyncio
import secrets
import sys
from contextlib import asynccontextmanager
from types import SimpleNamespace

import asyncpg
import pytest

from kb_search import DatabaseError, Entry, ExtensionMissing, KnowledgeBase, SchemaMissing
from kb_search.schema import _check_server, apply_schema, ensure_schema
from tests.servers.databases import as_role, on_database
from tests.servers.roads import apply_schema_at

RATES = Entry(
    section="tarifas", title="Tarifas", content="La facturación es mensual: 40 € la hora."
)


@asynccontextmanager
async def connected(dsn):
    connection = await asyncpg.connect(dsn)
    try:
        yield connection
    finally:
        await connection.close()


async def run(dsn, *statements):
    async with connected(dsn) as connection:
        for statement in statements:
            await connection.execute(statement)


@asynccontextmanager
async def database_as(server, options):
    """A database made with options of its own."""
    name = f"kb_test_{secrets.token_hex(6)}"
    await run(server.dsn, f'CREATE DATABASE "{name}" TEMPLATE template0 {options}')
    try:
        yield on_database(server.dsn, name)
    finally:
        await run(server.dsn, f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.fixture
async def role(server):
    """A role that may log in and nothing else: (name, password)."""
    name, password = f"kb_test_{secrets.token_hex(6)}", secrets.token_hex(12)
    await run(server.dsn, f"CREATE ROLE {name} LOGIN PASSWORD '{password}'")
    yield name, password
    await run(server.dsn, f"DROP ROLE {name}")


async def made_of(dsn):
    """All that the schema holds, by name and definition."""
    async with connected(dsn) as connection:
        return await connection.fetch(
            """
            SELECT 'function', oid::regprocedure::text, md5(pg_get_functiondef(oid)) FROM pg_proc
            WHERE pronamespace = 'kb_search'::regnamespace
            UNION ALL
            SELECT 'relation', oid::regclass::text, coalesce(pg_get_indexdef(oid), relkind::text)
            FROM pg_class WHERE relnamespace = 'kb_search'::regnamespace
            UNION ALL
            SELECT 'trigger', tgname, md5(pg_get_triggerdef(oid)) FROM pg_trigger
            WHERE tgrelid = 'kb_search.entry'::regclass AND NOT tgisinternal
            UNION ALL
            SELECT 'row', xmin::text, word FROM kb_search.spanish_word
            ORDER BY 1, 2, 3
            """
        )


async def checks(kb):
    return {check.name: check for check in await kb.doctor()}


async def test_eight_processes_may_apply_the_schema_at_once(fresh_database):
    command = (sys.executable, "-m", "kb_search", "init", "--dsn", fresh_database)
    processes = [
        await asyncio.create_subprocess_exec(
            *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
        )
        for _ in range(8)
    ]
    ends = await asyncio.gather(*(process.communicate() for process in processes))
    assert [(p.returncode, err) for p, (_, err) in zip(processes, ends, strict=True)] == [
        (0, b"")
    ] * 8
    async with KnowledgeBase.open(dsn=fresh_database) as kb:
        assert {check.level for check in await kb.doctor()} <= {"ok", "warning"}


async def test_applying_again_changes_nothing(fresh_database):
    await apply_schema_at(fresh_database)
    async with KnowledgeBase.open(dsn=fresh_database) as kb:
        (entry_id,) = await kb.add([RATES])
        before, stored = await made_of(fresh_database), await kb.get(entry_id)
        await kb.initialise()
        assert await made_of(fresh_database) == before
        assert await kb.get(entry_id) == stored
        assert (await kb.search("facturas")).hits[0].id == entry_id


async def test_a_schema_that_was_applied_is_not_applied_again_at_opening(fresh_database):
    async with connected(fresh_database) as connection, connected(fresh_database) as other:
        await ensure_schema(connection)
        async with other.transaction():
            # Whoever applies it waits for this lock.
            await other.execute(
                "SELECT pg_advisory_xact_lock(hashtext('kb_search'), hashtext('schema'))"
            )
            await connection.execute("SET lock_timeout = 1000")
            await ensure_schema(connection)
            with pytest.raises(DatabaseError):
                await apply_schema(connection)


async def test_extensions_may_live_in_another_schema(fresh_database):
    await run(
        fresh_database,
        "CREATE SCHEMA extensions",
        "CREATE EXTENSION pg_trgm SCHEMA extensions",
    )
    await apply_schema_at(fresh_database)
    async with KnowledgeBase.open(dsn=fresh_database) as kb:
        await kb.add([RATES])
        slip = await kb.search("facturasion")
        alike = await kb.pool.fetch("SELECT FROM kb_search.similar_entries('default', 'tarifaz')")
    assert slip.corrections == {"facturasion": "facturacion"}
    assert slip.hits[0].title == "Tarifas"
    assert len(alike) == 1


async def test_everything_works_where_the_search_path_is_empty(fresh_database):
    async with connected(fresh_database) as connection:
        name = await connection.fetchval("SELECT current_database()")
        await connection.execute(f"ALTER DATABASE \"{name}\" SET search_path = ''")
    await apply_schema_at(fresh_database)
    async with KnowledgeBase.open(dsn=fresh_database) as kb:
        await kb.add([RATES])
        assert (await kb.search("facturasion")).hits[0].title == "Tarifas"
        await kb.pool.execute("REINDEX SCHEMA kb_search")
        assert (await kb.rebuild()).entries == 1
        assert {check.level for check in await kb.doctor()} <= {"ok", "warning"}


async def test_the_fingerprint_of_the_analysis_is_the_same_on_any_search_path(schema_database):
    fingerprint = "SELECT kb_search.analysis_fingerprint()"
    async with connected(schema_database) as connection:
        await connection.execute("SET search_path = ''")
        bare = await connection.fetchval(fingerprint)
        await connection.execute("SET search_path = kb_search, public")
        assert await connection.fetchval(fingerprint) == bare


async def test_a_plain_role_that_owns_its_database_needs_no_administrator(server, role):
    name, password = role
    async with database_as(server, f"ENCODING 'UTF8' OWNER {name}") as owned:
        dsn = as_role(owned, name, password)
        await apply_schema_at(dsn)
        async with KnowledgeBase.open(dsn=dsn) as kb:
            await kb.add([RATES])
            await kb.add_synonym("precio", "tarifa")
            result = await kb.search("precios")
            superuser = await kb.pool.fetchval("SELECT current_setting('is_superuser')")
            assert {check.level for check in await kb.doctor()} <= {"ok", "warning"}
    assert superuser == "off"
    assert result.hits[0].title == "Tarifas"


async def test_whoever_may_write_entries_needs_no_right_on_the_counts(server, role):
    name, password = role
    async with database_as(server, "ENCODING 'UTF8'") as made:
        await apply_schema_at(made)
        await run(
            made,
            f"GRANT USAGE ON SCHEMA kb_search TO {name}",
            f"GRANT SELECT, INSERT, UPDATE, DELETE ON kb_search.entry TO {name}",
        )
        async with connected(as_role(made, name, password)) as writer:
            for number in range(70):  # over the threshold of folding
                await writer.execute(
                    "INSERT INTO kb_search.entry (section, title, content) VALUES ('a', $1, 'texto')",
                    f"Entrada {number}",
                )
            await writer.execute("UPDATE kb_search.entry SET content = 'palabras'")
            await writer.execute("DELETE FROM kb_search.entry WHERE title = 'Entrada 3'")
        async with KnowledgeBase.open(dsn=made) as kb:
            assert (await checks(kb))["frequencies"].level == "ok"
        await run(made, f"DROP OWNED BY {name}")


async def test_an_extension_that_may_not_be_created_is_named(fresh_database, role):
    name, password = role
    await run(fresh_database, f"CREATE SCHEMA kb_search AUTHORIZATION {name}")
    async with KnowledgeBase.open(dsn=as_role(fresh_database, name, password)) as kb:
        with pytest.raises(ExtensionMissing, match=r"CREATE EXTENSION pg_trgm"):
            await kb.initialise()
        assert await kb.pool.fetchval("SELECT to_regclass('kb_search.entry')") is None
    await run(fresh_database, f"DROP OWNED BY {name}")


async def test_a_role_without_the_right_to_create_a_schema_is_told_so(fresh_database, role):
    async with KnowledgeBase.open(dsn=as_role(fresh_database, *role)) as kb:
        with pytest.raises(DatabaseError, match="lacks a right: permission denied") as caught:
            await kb.initialise()
    assert caught.value.sqlstate == "42501"


async def test_without_the_schema_every_call_says_how_to_get_it(fresh_database):
    async with KnowledgeBase.open(dsn=fresh_database) as kb:
        calls = [
            kb.search("tarifas"),
            kb.add([RATES]),
            kb.get(1),
            kb.entries(),
            kb.remove(section="tarifas"),
            kb.stats(),
            kb.synonyms(),
            kb.add_synonym("a", "b"),
            kb.rebuild(),
        ]
        for call in calls:
            with pytest.raises(SchemaMissing, match="run `kb-search init` once"):
                await call
        (check,) = await kb.doctor()
        assert (check.name, check.ok) == ("schema", False)
        assert "kb-search init" in check.message
        await kb.initialise()
        assert (await kb.search("tarifas")).layer == "fallback"


async def test_a_server_that_is_too_old_is_refused_by_its_version():
    server = SimpleNamespace(get_server_version=lambda: SimpleNamespace(major=14))
    with pytest.raises(DatabaseError, match="PostgreSQL 14 is too old: kb_search needs 15"):
        await _check_server(server)  # type: ignore[arg-type]


async def test_a_database_in_another_encoding_is_refused(server):
    async with (
        database_as(server, "ENCODING 'LATIN1' LOCALE_PROVIDER libc LOCALE 'C'") as latin,
        KnowledgeBase.open(dsn=latin) as kb,
    ):
        with pytest.raises(DatabaseError, match="encoding is LATIN1: create one with ENCODING"):
            await kb.initialise()
        assert await kb.pool.fetchval("SELECT to_regnamespace('kb_search')") is None


async def test_a_database_with_the_c_ctype_works_and_the_doctor_says_what_it_costs(server):
    options = "ENCODING 'UTF8' LOCALE_PROVIDER libc LOCALE 'C'"
    async with database_as(server, options) as made, KnowledgeBase.open(dsn=made) as kb:
        await kb.initialise()
        await kb.add(
            [
                Entry(section="a", title="GARANTÍA DE DOS AÑOS", content="VÉASE LA FACTURACIÓN"),
                Entry(section="a", title="Contraseña", content="Pulse «Olvidé mi contraseña»."),
            ]
        )
        found = {
            question: (await kb.search(question)).hits[0].title
            for question in ("garantia", "años", "FACTURACIÓN", "contrasena", "CONTRASEÑA")
        }
        result = await kb.search("véase la facturación")
        case = (await checks(kb))["case"]
    assert found == {
        "garantia": "GARANTÍA DE DOS AÑOS",
        "años": "GARANTÍA DE DOS AÑOS",
        "FACTURACIÓN": "GARANTÍA DE DOS AÑOS",
        "contrasena": "Contraseña",
        "CONTRASEÑA": "Contraseña",
    }
    assert "facturación" in result.hits[0].matched_on
    assert case.level == "warning"
    assert "C.UTF-8" in case.message


def unwell(found) -> set[str]:
    """The names of what is not well; pgvector is for the server to have or not."""
    return {check.name for check in found if check.level != "ok"} - {"pgvector"}


async def test_the_doctor_finds_nothing_wrong_with_a_sound_database(schema_database):
    async with KnowledgeBase.open(dsn=schema_database) as kb:
        await kb.add([RATES])
        assert unwell(await kb.doctor()) == set()


async def test_data_of_another_analysis_are_told_and_made_again(schema_database):
    old = (
        "CREATE OR REPLACE FUNCTION kb_search.stem_forms(words text) RETURNS text"
        " LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE RETURN words"
    )
    await run(
        schema_database,
        old,
        "UPDATE kb_search.meta SET value = kb_search.analysis_fingerprint() WHERE key = 'analysis'",
    )
    async with KnowledgeBase.open(dsn=schema_database) as kb:
        await kb.add([Entry(section="a", title="Facturación", content="Es mensual.")])
        assert (await checks(kb))["analysis"].level == "ok"
        await kb.initialise()
        told = (await checks(kb))["analysis"]
        assert told.level == "error"
        assert "kb-search rebuild" in told.message
        (stale,) = await kb.pool.fetch(
            "SELECT stems <> kb_search.entry_vector("
            "collection, title, heading_path, aliases, tags, content, true) AS differ"
            " FROM kb_search.entry"
        )
        report = await kb.rebuild()
        (fresh,) = await kb.pool.fetch(
            "SELECT stems <> kb_search.entry_vector("
            "collection, title, heading_path, aliases, tags, content, true) AS differ"
            " FROM kb_search.entry"
        )
        mended = await checks(kb)
        result = await kb.search("facturas")
    assert (stale["differ"], fresh["differ"]) == (True, False)
    assert report.entries == 1
    assert report.analysis == mended["analysis"].message
    assert unwell(mended.values()) == set()
    assert result.layer == "fts"


async def test_a_rebuild_of_one_collection_does_not_note_the_analysis(schema_database):
    await run(schema_database, "UPDATE kb_search.meta SET value = 'x' WHERE key = 'analysis'")
    async with KnowledgeBase.open(dsn=schema_database) as kb:
        await kb.add([RATES])
        await kb.rebuild(collection="default")
        assert (await checks(kb))["analysis"].level == "error"
        await kb.rebuild()
        assert (await checks(kb))["analysis"].level == "ok"


@pytest.mark.parametrize("table", ["entry_count", "stem_count", "word_count"])
async def test_frequencies_counted_twice_are_told_and_counted_again(schema_database, table):
    async with KnowledgeBase.open(dsn=schema_database) as kb:
        await kb.add([RATES], collection="doble")
        await kb.add([RATES], collection="sana")
        before = (await kb.search("facturas", collection="doble")).hits[0]
        # as a restore of the data alone does: the triggers count, and the counts are restored
        await kb.pool.execute(
            f"INSERT INTO kb_search.{table} SELECT * FROM kb_search.{table}"
            " WHERE collection = 'doble'"
        )
        told = (await checks(kb))["frequencies"]
        assert told.level == "error"
        assert "doble" in told.message
        assert "sana" not in told.message
        assert "kb-search rebuild" in told.message
        await kb.rebuild(collection="doble")
        assert (await checks(kb))["frequencies"].level == "ok"
        assert (await kb.search("facturas", collection="doble")).hits[0] == before


async def test_a_rebuild_keeps_writers_out_and_lets_readers_go_on(schema_database):
    async with (
        KnowledgeBase.open(dsn=schema_database) as kb,
        connected(schema_database) as rebuilding,
        connected(schema_database) as writer,
    ):
        await kb.add([RATES])
        await writer.execute("SET lock_timeout = 100")
        async with rebuilding.transaction():
            await rebuilding.execute("LOCK TABLE kb_search.entry IN SHARE ROW EXCLUSIVE MODE")
            assert (await kb.search("facturas")).layer == "fts"
            with pytest.raises(asyncpg.LockNotAvailableError):
                await writer.execute("DELETE FROM kb_search.entry")


async def test_entries_longer_than_what_is_indexed_are_told(schema_database):
    async with KnowledgeBase.open(dsn=schema_database) as kb:
        await kb.add([Entry(section="a", title="Largo", content="palabra " * 40_000)])
        length = (await checks(kb))["length"]
    assert length.level == "warning"
    assert length.message.startswith("1 entries")


WORDS = [
    ("Envío RÁPIDO", "envio rapido"),
    ("un an\u0303o", "un año"),  # decomposed
    ("con\u00adfianza ﬁel", "confianza fiel"),  # soft hyphen, ligature
    ("cero\u200bancho", "ceroancho"),
    ("¡Hola!, ¿qué tal?", "hola que tal"),
    ("clase de C++", "clase de cplusplus"),
    ("Excel en C#.", "excel en csharp"),
    ("ASP.NET y .NET 8", "asp dotnet y dotnet 8 aspnet"),
    ("Vue.js", "vue js vuejs"),
    ("compra/venta", "compra venta"),
    ("auto-escuela", "auto escuela autoescuela"),
    ("D'Angelo", "d angelo dangelo"),
    ("pieza XY-77", "pieza xy 77 xy77"),
    ("hola@tienda.example", "hola tienda example"),
    ("vale 12.500,75 €", "vale 12500 75"),
    ("tel. +34 611 222 333", "tel 34 611 222 333 34611222333 611222333"),
    ("llamar.Después", "llamar despues"),
    ("", ""),
    ("😀 — …", ""),
    (None, ""),
]


@pytest.mark.parametrize(("text", "words"), WORDS)
async def test_a_text_is_taken_apart_into_words(admin, text, words):
    assert await admin.fetchval("SELECT kb_search.words_of($1)", text) == words


async def test_a_word_longer_than_64_characters_is_cut(admin):
    assert await admin.fetchval("SELECT kb_search.words_of($1)", "a" * 500) == "a" * 64


SAME_STEM = [
    ("suscripción", "suscripciones"),
    ("inscripcion", "inscripción"),
    ("reparación", "reparar"),
    ("voz", "voces"),
    ("capaz", "capaces"),
    ("número", "numeros"),
    ("compañera", "compañeros"),
    ("gobierno", "gobiernos"),
    ("línea", "lineas"),
    ("unidad", "unidades"),
    ("imagen", "imágenes"),
    ("taller", "talleres"),
    ("dólar", "dolares"),
    ("capitán", "capitanes"),
    ("quién", "quienes"),
    ("examen", "examenes"),
    ("enlace", "enlaces"),
    ("interés", "intereses"),
    ("préstamo", "prestamos"),
    ("tía", "tías"),
    ("biología", "biologias"),
    ("cuenta", "contar"),
    ("pierde", "perder"),
    ("enviármelo", "enviar"),
    ("recogerla", "recoger"),
    ("cancelarlo", "cancelación"),
    ("trabajando", "trabajo"),
    ("gratuita", "gratuitos"),
]


@pytest.mark.parametrize(("one", "other"), SAME_STEM)
async def test_forms_of_a_word_share_their_stem(admin, one, other):
    stems = await admin.fetchval(
        "SELECT kb_search.stems_of(ARRAY[kb_search.words_of($1), kb_search.words_of($2)])",
        one,
        other,
    )
    assert stems[0] == stems[1]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("año", "ano"),
        ("casa", "caza"),
        ("factura", "fractura"),
        ("vino", "viña"),
        ("contra", "contar"),
    ],
)
async def test_different_words_keep_different_stems(admin, one, other):
    stems = await admin.fetchval(
        "SELECT kb_search.stems_of(ARRAY[kb_search.words_of($1), kb_search.words_of($2)])",
        one,
        other,
    )
    assert stems[0] != stems[1]


@pytest.mark.parametrize(
    ("word", "of_word", "is_form"),
    [
        ("significa", "significacion", True),
        ("entregamos", "entregar", True),
        ("vendiendo", "vender", True),
        ("recogida", "recoger", True),
        ("novedades", "novedad", True),
        ("rapidisimas", "rapido", True),
        ("recojida", "recojo", False),
        ("quin", "quinoas", False),
        ("novedaes", "novedad", False),
    ],
)
async def test_a_form_of_a_word_is_told_by_its_ending(admin, word, of_word, is_form):
    assert await admin.fetchval("SELECT kb_search.inflects($1, $2)", word, of_word) is is_form


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("vever", "beber"),
        ("jeneral", "general"),
        ("kilo", "quilo"),
        ("yave", "llave"),
        ("ora", "hora"),
        ("zapato", "sapato"),
        ("enbiar", "embiar"),
        ("carro", "caro"),
    ],
)
async def test_words_that_sound_alike_in_spanish_have_one_sound(admin, typed, meant):
    assert await admin.fetchval("SELECT kb_search.sound($1) = kb_search.sound($2)", typed, meant)


async def test_word_for_word_the_analysis_of_a_line_is_that_of_its_words(admin):
    line = "los numeros de las cuentas que pagarlo costaba mas veces"
    whole, single = await admin.fetchrow(
        "SELECT kb_search.stems_of(string_to_array($1, ' ')),"
        " (SELECT array_agg((kb_search.stems_of(ARRAY[w]))[1] ORDER BY n)"
        "  FROM string_to_table($1, ' ') WITH ORDINALITY AS t (w, n))",
        line,
    )
    assert whole == single
