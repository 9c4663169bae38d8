"""The schema: applying it, looking after it, making everything derived again."""

from __future__ import annotations

import hashlib
from importlib.resources import files
from typing import TYPE_CHECKING

from kb_search.bundled import schema_sql
from kb_search.database import Database, error_boundary, fetch
from kb_search.errors import DatabaseError, SchemaMissing
from kb_search.models import Check, RebuildReport

if TYPE_CHECKING:
    from kb_search.database import Connection

SCHEMA_VERSION = "1"
_LEAST_SERVER = 15


async def apply_schema(connection: Connection) -> None:
    """Creates what is missing, in one transaction; processes that do so at once take turns.

    Raises:
        DatabaseError: PostgreSQL is older than 15, or its encoding is not UTF-8.
        ExtensionMissing: pg_trgm is missing and this role may not create it.
    """
    with error_boundary():
        async with connection.transaction():
            await fetch(connection, "lock_schema")
            await _check_server(connection)
            await connection.execute(_schema())
            words = _word_lists()
            await fetch(connection, "load_word_lists", list(words), list(words.values()))
            await fetch(connection, "remember_digest", _digest())


def _schema() -> str:
    # the semantic part has its own, where it is there
    semantic = files("kb_search") / "semantic" / "schema.sql"
    return schema_sql() + (semantic.read_text(encoding="utf-8") if semantic.is_file() else "")


async def ensure_schema(connection: Connection) -> None:
    """Applies the schema unless this very one was applied already; takes no lock then."""
    (schema,) = await fetch(connection, "schema_is_there")
    if schema["there"]:
        applied = await fetch(connection, "applied_digest")
        if applied and applied[0]["value"] == _digest():
            return
    await apply_schema(connection)


def _digest() -> str:
    words = repr(sorted(_word_lists().items()))
    return hashlib.sha256((_schema() + words).encode()).hexdigest()


async def _check_server(connection: Connection) -> None:
    major = connection.get_server_version().major
    if major < _LEAST_SERVER:
        raise DatabaseError(f"PostgreSQL {major} is too old: kb_search needs 15 or newer")
    encoding = connection.get_settings().server_encoding
    if encoding != "UTF8":
        raise DatabaseError(
            f"this database's encoding is {encoding}: create one with ENCODING 'UTF8'"
        )


def _word_lists() -> dict[str, float]:
    """{word: share of short texts that hold it (0..1), 0 where only known to be Spanish}."""
    data = files("kb_search") / "data"
    words = {
        word: 0.0
        for line in _lines((data / "spanish_words.txt").read_text(encoding="utf-8"))
        for word in line.split()
    }
    for line in _lines((data / "common_words.txt").read_text(encoding="utf-8")):
        word, share = line.split()
        words[word] = float(share)
    return words


def _lines(text: str) -> list[str]:
    bare = (line.partition("#")[0].strip() for line in text.splitlines())
    return [line for line in bare if line]


async def examine(database: Database) -> list[Check]:
    """What the doctor finds, in the order of its looking; it goes on as far as it can.

    Raises:
        Unreachable: there is nothing to look at.
    """
    try:
        (facts,) = await database.read("schema_facts")
    except SchemaMissing as error:
        return [Check(name="schema", level="error", message=str(error))]
    miscounted = await database.write("miscounted")
    wrong = ", ".join(record["collection"] for record in miscounted)
    return [
        _check("server", f"PostgreSQL {facts['server_version']}, {facts['encoding']}"),
        _check(
            "schema",
            f"version {SCHEMA_VERSION}",
            problem=facts["schema_version"] != SCHEMA_VERSION
            and f"version {facts['schema_version']}, this package has {SCHEMA_VERSION}:"
            " run `kb-search init`",
        ),
        _check(
            "analysis",
            facts["made_now"],
            problem=facts["made_by"] != facts["made_now"]
            and f"the data were made by {facts['made_by']}, questions are analysed by"
            f" {facts['made_now']}: run `kb-search rebuild`",
        ),
        _check(
            "frequencies",
            "equal to a recount",
            problem=wrong and f"differ from a recount in {wrong}: run `kb-search rebuild`",
        ),
        _check(
            "lexicon",
            f"{facts['spanish_words']} words of general Spanish",
            problem=not facts["spanish_words"] and "empty: run `kb-search init`",
        ),
        _check(
            "case",
            "letters with accents have case",
            warning=not facts["folds"]
            and "lower('Ñ') is not 'ñ' (C ctype): slips in words with ñ are found less well;"
            " create the database with LOCALE 'C.UTF-8'",
        ),
        _check(
            "writing",
            "allowed",
            warning=facts["read_only"] and "this server is read-only: searching works, seeding not",
        ),
        _check(
            "length",
            "every entry is indexed whole",
            warning=facts["too_long"]
            and f"{facts['too_long']} entries are longer than 250,000 bytes: the rest of them is"
            " stored, not searched",
        ),
    ]


def _check(name: str, fine: str, *, problem: object = None, warning: object = None) -> Check:
    if problem:
        return Check(name=name, level="error", message=str(problem))
    if warning:
        return Check(name=name, level="warning", message=str(warning))
    return Check(name=name, level="ok", message=fine)


async def rebuild(database: Database, *, collection: str | None) -> RebuildReport:
    """Makes vectors and frequencies again, in one transaction; readers go on meanwhile.

    The fingerprint is noted only where every collection was made again.
    """
    async with database.transaction() as connection:
        await fetch(connection, "lock_entries")
        (made,) = await fetch(connection, "derive_entries", collection)
        for kind in ("entry", "stem", "word"):
            await fetch(connection, f"forget_{kind}_counts", collection)
        for kind in ("entries", "stems", "words"):
            await fetch(connection, f"recount_{kind}", collection)
        (analysis,) = (
            await fetch(connection, "remember_analysis")
            if collection is None
            else await fetch(connection, "schema_facts")
        )
    fingerprint = analysis["value"] if collection is None else analysis["made_now"]
    return RebuildReport(entries=made["entries"], analysis=fingerprint)
