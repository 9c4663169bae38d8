from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import asyncpg
import pytest

from kb_search.models import Hit, SearchResult
from tests.surface.command_line import CommandLine

FAQ = [
    {
        "section": "envíos",
        "title": "Plazo de entrega",
        "content": "Los pedidos llegan en dos días laborables.",
        "aliases": ["¿cuándo llega mi pedido?"],
        "tags": ["envío", "plazos"],
        "metadata": {"idioma": "es", "orden": 1},
        "source": "manual",
    },
    {
        "section": "pagos",
        "title": "Formas de pago",
        "content": "Aceptamos tarjeta, Bizum y transferencia.",
        "tags": ["pago"],
        "metadata": {"idioma": "es", "orden": 2},
    },
    {
        "section": "identidad",
        "title": "Quiénes somos",
        "content": "Una tienda de barrio que vende por internet.",
    },
]


@pytest.fixture
def kb_search(capsys, clean_environment, dsn) -> CommandLine:
    return CommandLine(capsys, "--dsn", dsn)


@pytest.fixture
def in_collection(capsys, clean_environment, dsn, collection):
    """A command line on a collection of its own, which is emptied afterwards."""
    run = CommandLine(capsys, "--dsn", dsn, "--collection", collection, "--json")
    yield run
    run("remove")


@pytest.fixture
def faq(tmp_path) -> Path:
    path = tmp_path / "faq.jsonl"
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in FAQ))
    return path


@pytest.fixture
def seeded(in_collection, faq) -> CommandLine:
    assert in_collection("seed", faq).code == 0
    return in_collection


def titles(answer) -> list[str]:
    return [entry["title"] for entry in answer.document["entries"]]


def test_init_sets_an_empty_database_up_and_may_be_run_again(
    capsys, clean_environment, fresh_database
):
    kb_search = CommandLine(capsys, "--dsn", fresh_database, "--json")
    missing = kb_search("ask", "hola")
    assert missing.code == 3
    assert missing.error["type"] == "SchemaMissing"
    assert "kb-search init" in missing.error["message"]
    for _ in range(2):
        assert kb_search("init").code == 0
    assert kb_search("doctor").code == 0
    assert kb_search("ask", "hola").code == 1


def test_seed_reports_what_it_did_and_a_second_run_changes_nothing(in_collection, faq):
    assert in_collection("seed", faq).document == {
        "files": 1,
        "added": 3,
        "updated": 0,
        "unchanged": 0,
        "statements": 0,
    }
    before = in_collection("entries").document
    again = in_collection("seed", faq).document
    assert (again["added"], again["updated"], again["unchanged"]) == (0, 0, 3)
    assert in_collection("entries").document == before


def test_seed_updates_only_what_differs(seeded, tmp_path):
    before = {entry["title"]: entry for entry in seeded("entries").document["entries"]}
    changed = tmp_path / "cambio.csv"
    changed.write_text(
        "section,title,content,tags,metadata\n"
        'pagos,Formas de pago,"Aceptamos tarjeta, Bizum y transferencia.",pago,'
        '"{""idioma"": ""es"", ""orden"": 2}"\n'
        "identidad,Quiénes somos,Una tienda de internet.,,\n"
    )
    report = seeded("seed", changed).document
    assert (report["added"], report["updated"], report["unchanged"]) == (0, 1, 1)
    after = {entry["title"]: entry for entry in seeded("entries").document["entries"]}
    assert after["Formas de pago"] == before["Formas de pago"]
    assert after["Quiénes somos"]["content"] == "Una tienda de internet."
    assert after["Quiénes somos"]["id"] == before["Quiénes somos"]["id"]
    assert after["Quiénes somos"]["updated_at"] != before["Quiénes somos"]["updated_at"]


def test_every_format_loads(in_collection, tmp_path):
    (tmp_path / "a.csv").write_text("section,title,content\nfaq,Uno,uno\n")
    (tmp_path / "b.yaml").write_text("- {section: faq, title: Dos, content: dos}\n")
    (tmp_path / "c.jsonl").write_text('{"section": "faq", "title": "Tres", "content": "tres"}\n')
    answer = in_collection("seed", tmp_path / "a.csv", tmp_path / "b.yaml", tmp_path / "c.jsonl")
    assert (answer.document["files"], answer.document["added"]) == (3, 3)
    assert titles(in_collection("entries")) == ["Uno", "Dos", "Tres"]


def test_the_same_entry_twice_is_loaded_once_and_the_last_wins(in_collection, tmp_path):
    for name, content in (("a.csv", "primero"), ("b.csv", "segundo")):
        (tmp_path / name).write_text(f"section,title,content\nfaq,Uno,{content}\n")
    for added in (1, 0):
        report = in_collection("seed", tmp_path / "a.csv", tmp_path / "b.csv").document
        assert (report["added"], report["updated"]) == (added, 0)
    assert in_collection("entries").document["entries"][0]["content"] == "segundo"


def test_a_bad_file_among_good_ones_loads_nothing(in_collection, faq, tmp_path):
    bad = tmp_path / "mal.jsonl"
    bad.write_text('{"section": "a", "title": "b", "content": "c"}\n{"section": "a"}\n')
    answer = in_collection("seed", faq, bad)
    assert answer.code == 2
    assert answer.error["type"] == "SeedError"
    assert (answer.error["path"], answer.error["line"]) == (str(bad), 2)
    assert titles(in_collection("entries")) == []


def sql_seed(path: Path, collection: str, *more: str) -> Path:
    path.write_text(
        "-- a seed\nINSERT INTO kb_search.entry (collection, section, title, content)\n"
        f"VALUES ('{collection}', 'faq', 'Horario; de tarde', $$De 16 a 20 h; salvo sábados.$$);\n"
        + "\n".join(more)
    )
    return path


def test_an_sql_file_is_run_and_its_entries_are_found(kb_search, collection, tmp_path):
    answer = kb_search("seed", sql_seed(tmp_path / "a.sql", collection), "--json")
    assert answer.document["statements"] == 1
    found = kb_search("--collection", collection, "ask", "horario de tarde", "--json")
    assert found.document["hits"][0]["title"] == "Horario; de tarde"
    assert kb_search("--collection", collection, "remove").code == 0


BAD_SQL = {
    ("SELECT 1;\nINSERT INTO kb_search.entry (nada)\n VALUES (1);", 5): '"nada"',
    ("\nSELECT\n  1/0;", 5): "division by zero",
    ("SELEC 1;", 4): "syntax error",
    ("SELECT\n 1,\n  nada;", 6): '"nada" does not exist',
    ("DO $$ BEGIN\n RAISE EXCEPTION 'no quiero'; END $$;", 4): "no quiero",
    ("DO $$ BEGIN\n COMMIT; END $$;", 4): "invalid transaction termination",
    ("SELECT $1;", 4): "parameter",
    ("VACUUM;", 4): "VACUUM cannot run inside a transaction block",
    ("COMMIT;", 4): "COMMIT cannot be used here",
    ("\\q", 4): "psql commands",
}


@pytest.mark.parametrize("case", BAD_SQL, ids=lambda case: " ".join(case[0].split()))
def test_a_bad_statement_is_named_with_its_line_and_nothing_is_loaded(
    kb_search, collection, tmp_path, faq, case
):
    statement, line = case
    path = sql_seed(tmp_path / "a.sql", collection, statement)
    answer = kb_search("seed", faq, path, "--json")
    assert answer.code == 2, answer.err
    assert answer.error["type"] == "SeedError"
    assert (answer.error["path"], answer.error["line"]) == (str(path), line)
    assert BAD_SQL[case] in answer.error["message"]
    assert titles(kb_search("--collection", collection, "entries", "--json")) == []
    # The entries of the first file would be in the default collection.
    assert "Plazo de entrega" not in titles(kb_search("entries", "--json"))


def test_a_collection_for_an_sql_file_is_refused_with_its_line(in_collection, collection, tmp_path):
    answer = in_collection("seed", sql_seed(tmp_path / "a.sql", collection))
    assert answer.code == 2
    assert "leave --collection out" in answer.error["message"]
    assert answer.error["line"] == 2


def test_seeding_without_the_schema_is_an_error_of_the_database(
    capsys, clean_environment, fresh_database, tmp_path, faq
):
    kb_search = CommandLine(capsys, "--dsn", fresh_database, "--json")
    for path in (faq, sql_seed(tmp_path / "a.sql", "x")):
        answer = kb_search("seed", path)
        assert (answer.code, answer.error["type"]) == (3, "SchemaMissing")


def test_the_samples_load_and_answer(capsys, clean_environment, schema_database):
    kb_search = CommandLine(capsys, "--dsn", schema_database)
    assert kb_search("seed", "--sample", "portfolio").code == 0
    answer = kb_search("ask", "que", "proyectos", "ha", "hecho")
    assert answer.code == 0
    assert answer.out.splitlines()[2].startswith("1. Proyecto")
    shop = kb_search("--collection", "tienda", "seed", "--sample", "tienda", "--json")
    assert shop.document["added"] >= 40


def test_ask_gives_the_fields_of_a_result_and_its_hits(seeded):
    answer = seeded("ask", "cuando", "llega", "mi", "pedido")
    assert answer.code == 0
    fields = set(SearchResult.__dataclass_fields__) - {"explanation", "documents"}
    assert set(answer.document) == fields
    first = answer.document["hits"][0]
    assert set(first) == set(Hit.__dataclass_fields__)
    assert first["title"] == "Plazo de entrega"
    assert first["tags"] == ["envío", "plazos"]
    assert first["metadata"] == {"idioma": "es", "orden": 1}
    assert first["document_id"] is None
    assert answer.document["layer"] == "fts"
    assert answer.document["confident"] is True


def test_ask_explains_on_demand(seeded):
    explained = seeded("ask", "--explain", "formas de pago").document["explanation"]
    assert "pago" in [trace["word"] for trace in explained]


def test_a_blank_question_shows_the_fixed_rows_and_exits_with_1(seeded):
    for words in ((), ("",), ("  ", "\t"), ("¿?",)):
        answer = seeded("ask", *words)
        assert answer.code == 1
        assert [hit["layer"] for hit in answer.document["hits"]] == ["fallback"]
        assert answer.document["hits"][0]["title"] == "Quiénes somos"


def test_what_nothing_answers_exits_with_1(seeded):
    answer = seeded("ask", "xyzzy plugh qwxyz")
    assert answer.code == 1
    assert answer.document["confident"] is False


def test_ask_narrows_by_section_tags_and_metadata(seeded):
    def found(*arguments: str) -> list[str]:
        hits = seeded("ask", "pedido pago tienda tarjeta", *arguments).document["hits"]
        return [hit["title"] for hit in hits if hit["layer"] != "fallback"]

    assert found("--section", "pagos") == ["Formas de pago"]
    assert found("--tag", "envío", "--tag", "plazos") == ["Plazo de entrega"]
    assert found("--tag", "envío", "--tag", "pago") == []
    assert found("--metadata", '{"orden": 2}') == ["Formas de pago"]
    assert len(found("--limit", "1")) == 1


def test_ask_for_people_numbers_the_hits_and_says_why(kb_search, seeded, collection):
    answer = kb_search("ask", "formas de pago", "--collection", collection)
    lines = answer.out.splitlines()
    assert lines[0].startswith("fts, confident (")
    assert lines[2].startswith("1. Formas de pago  [pagos]  ")
    assert lines[3] == "   Aceptamos tarjeta, Bizum y transferencia."
    assert "title" in lines[4]
    assert "\x1b" not in answer.out


@pytest.mark.parametrize("arguments", [("--limit", "0"), ("--limit", "-3")], ids=" ".join)
def test_a_call_that_cannot_be_carried_out_exits_with_2(seeded, arguments):
    answer = seeded("ask", "hola", *arguments)
    assert (answer.code, answer.error["type"]) == (2, "QueryError")


def test_entries_are_listed_in_pages_and_by_id(seeded):
    everything = seeded("entries").document["entries"]
    ids = [entry["id"] for entry in everything]
    assert ids == sorted(ids)
    assert len(ids) == 3
    assert everything[0]["aliases"] == ["¿cuándo llega mi pedido?"]
    first = seeded("entries", "--limit", "2").document["entries"]
    rest = seeded("entries", "--after-id", first[-1]["id"]).document["entries"]
    assert first + rest == everything
    assert titles(seeded("entries", "--section", "pagos")) == ["Formas de pago"]
    assert seeded("entries", "--id", ids[1]).document["entries"] == [everything[1]]


def test_an_unknown_entry_exits_with_2(seeded):
    answer = seeded("entries", "--id", "999999999")
    assert (answer.code, answer.error["type"]) == (2, "NotFound")


def test_remove_takes_ids_a_section_or_the_whole_collection(seeded):
    first = seeded("entries").document["entries"][0]["id"]
    assert seeded("remove", first).document == {"removed": 1}
    assert seeded("remove", "--section", "pagos").document == {"removed": 1}
    assert titles(seeded("entries")) == ["Quiénes somos"]
    assert seeded("remove").document == {"removed": 1}
    assert titles(seeded("entries")) == []


def test_remove_with_nothing_to_go_by_removes_nothing(kb_search, seeded):
    answer = kb_search("remove", "--json")
    assert (answer.code, answer.error["type"]) == (2, "QueryError")
    assert len(titles(seeded("entries"))) == 3


def test_stats_count_the_collection(seeded, collection):
    (counted,) = seeded("stats").document["collections"]
    assert counted["collection"] == collection
    assert counted["entries"] == 3
    assert counted["sections"] == {"envíos": 1, "identidad": 1, "pagos": 1}


def test_doctor_and_rebuild_say_that_all_is_well(kb_search, seeded):
    answer = kb_search("doctor", "--json")
    assert (answer.code, answer.document["ok"]) == (0, True)
    assert answer.document["checks"]
    assert kb_search("doctor").out.startswith("ok ")
    assert seeded("rebuild").code == 0
    assert seeded("ask", "formas de pago").code == 0


def test_synonyms_are_added_listed_and_removed(seeded):
    assert seeded("ask", "guita").document["layer"] != "fts"
    assert seeded("synonyms", "add", "guita", "pago").code == 0
    assert seeded("ask", "guita").document["hits"][0]["title"] == "Formas de pago"
    assert seeded("synonyms", "add", "darse de baja", "cancelar", "--one-way").code == 0
    listed = seeded("synonyms", "list").document["synonyms"]
    assert {(pair["phrase"], pair["synonym"], pair["both_ways"]) for pair in listed} == {
        ("guita", "pago", True),
        ("darse de baja", "cancelar", False),
    }
    assert seeded("synonyms", "remove", "guita", "pago").document == {"removed": 1}
    assert len(seeded("synonyms", "list").document["synonyms"]) == 1
    assert seeded("synonyms", "remove", "darse de baja", "cancelar").document == {"removed": 1}


def program(dsn: str, *arguments: object, **options) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "kb_search", "--dsn", dsn, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def test_the_program_answers_as_a_process_of_its_own(dsn, seeded, collection):
    with program(dsn, "--collection", collection, "ask", "--json", "formas de pago") as process:
        out, err = process.communicate()
    assert (process.returncode, err) == (0, "")
    assert json.loads(out)["hits"][0]["title"] == "Formas de pago"


def eval_folder(folder: Path, *, questions: int = 4) -> Path:
    corpus = [
        {"_id": "e1", "title": "Plazo de entrega", "text": "Los pedidos llegan en dos días."},
        {"_id": "e2", "title": "Formas de pago", "text": "Tarjeta, Bizum y transferencia."},
        {"_id": "e3", "title": "", "text": "Las devoluciones son gratis durante un mes."},
        {"_id": "e4", "title": "Formas de pago", "text": "En tienda, también en efectivo."},
    ]
    asked = [
        ("plazo de entrega", ["e1"]),
        ("se puede pagar en efectivo", ["e4"]),
        ("cuánto duran las devoluciones", ["e3"]),
        ("xyzzy plugh", ["e1"]),
    ]
    texts = [asked[number % len(asked)] for number in range(questions)]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in corpus))
    (folder / "queries.jsonl").write_text(
        "".join(
            json.dumps({"_id": f"q{n}", "text": text}) + "\n" for n, (text, _) in enumerate(texts)
        )
    )
    (folder / "qrels.tsv").write_text(
        "query-id\tcorpus-id\tscore\n"
        + "".join(f"q{n}\t{id_}\t1\n" for n, (_, right) in enumerate(texts) for id_ in right)
    )
    return folder


async def scratch_collections(dsn: str) -> list[str]:
    connection = await asyncpg.connect(dsn, statement_cache_size=0)
    try:
        rows = await connection.fetch(
            "SELECT DISTINCT collection FROM kb_search.entry WHERE collection LIKE 'eval-%'"
        )
    finally:
        await connection.close()
    return [row["collection"] for row in rows]


def test_eval_measures_and_leaves_nothing_behind(kb_search, tmp_path):
    folder = eval_folder(tmp_path)
    (tmp_path / "otras.jsonl").write_text(
        json.dumps({"_id": "o1", "text": "qwxyz"}) + "\n" + json.dumps({"_id": "o2", "text": "!"})
    )
    before = kb_search("stats", "--json").document
    answer = kb_search("eval", folder, "--out-of-scope", tmp_path / "otras.jsonl", "--json")
    assert answer.code == 0
    found = answer.document
    assert list(found) == [
        "queries",
        "mrr@10",
        "hit@1",
        "hit@4",
        "p50_ms",
        "p95_ms",
        "layers",
        "confident",
        "precision",
        "calibration_error",
        "out_of_scope",
    ]
    assert found["queries"] == 4
    assert found["mrr@10"] == found["hit@1"] == found["hit@4"] == 0.75
    assert 0 < found["p50_ms"] <= found["p95_ms"]
    assert sum(found["layers"].values()) == 4
    assert found["out_of_scope"] == {"queries": 2, "flagged": 1.0}
    assert kb_search("stats", "--json").document == before


def test_eval_for_people_is_a_table(kb_search, tmp_path):
    answer = kb_search("eval", eval_folder(tmp_path))
    assert "mrr@10             0.750\n" in answer.out
    assert "out_of_scope       -\n" in answer.out


@pytest.mark.parametrize("mode", ["semantic", "hybrid"])
async def test_eval_with_a_mode_that_needs_vectors_is_never_lexical(
    dsn, tmp_path, monkeypatch, mode
):
    folder = eval_folder(tmp_path)
    environment = os.environ | {"KB_SEARCH_EMBEDDER": "none"}
    with program(dsn, "eval", folder, "--mode", mode, "--json", env=environment) as process:
        out, _ = process.communicate()
    assert process.returncode == 2
    assert json.loads(out)["error"]["type"] == "QueryError"
    assert await scratch_collections(dsn) == []


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
async def test_eval_drops_its_collection_when_it_is_interrupted(dsn, tmp_path, number, code):
    folder = eval_folder(tmp_path, questions=50_000)
    with program(dsn, "eval", folder, "--json") as process:
        while not await scratch_collections(dsn):
            assert process.poll() is None
        process.send_signal(number)
        out, err = process.communicate()
    assert process.returncode == code
    assert "Traceback" not in err
    assert "error" in json.loads(out)
    assert await scratch_collections(dsn) == []


def insertions(collection: str, rows: list[dict[str, str]]) -> str:
    return "".join(
        "INSERT INTO kb_search.entry (collection, section, title, content)"
        f" VALUES ('{collection}', 'a', '{row['title']}', '{row['content']}')"
        " ON CONFLICT DO NOTHING;\n"
        for row in rows
    )


@pytest.mark.parametrize("sql", [False, True], ids=["jsonl", "sql"])
async def test_loads_of_the_same_entries_in_opposite_order_both_end_well(
    dsn, collection, kb, tmp_path, sql
):
    count = 300 if sql else 3000
    rows = [{"section": "a", "title": f"título {n}", "content": "x"} for n in range(count)]
    processes = []
    for number, order in enumerate((rows, rows[::-1])):
        changed = [row | {"content": f"texto {number}"} for row in order]
        path = tmp_path / f"{number}.{'sql' if sql else 'jsonl'}"
        lines = "".join(json.dumps(row) + "\n" for row in changed)
        path.write_text(insertions(collection, changed) if sql else lines)
        where = () if sql else ("--collection", collection)
        processes.append(program(dsn, *where, "seed", path, "--json"))
    for process in processes:
        with process:
            out, err = process.communicate()
        assert process.returncode == 0, out + err
    entries = await kb.entries()
    assert {entry.title for entry in entries} == {row["title"] for row in rows}
    assert len({entry.content for entry in entries}) == 1
