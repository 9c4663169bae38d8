from __future__ import annotations

import json
from pathlib import Path

import pytest

from kb_search.errors import QueryError, SeedError
from kb_search.evaluation.folder import read_task


def lines(*rows: object) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


@pytest.fixture
def folder(tmp_path) -> Path:
    (tmp_path / "corpus.jsonl").write_text(
        lines(
            {"_id": "e1", "title": "Envíos", "text": "Dos días."},
            {"_id": "e2", "title": "", "text": "Sin título."},
            {"_id": "e3", "text": "Tampoco."},
            {"_id": "e4", "title": "Envíos", "text": "A islas, cinco."},
        )
    )
    (tmp_path / "queries.jsonl").write_text(
        lines(
            {"_id": "q1", "text": "¿Cuánto tarda?"},
            {"_id": "q2", "text": "¿Y a islas?"},
            {"_id": "q3", "text": "¿Quién eres?"},
            {"_id": "q4", "text": "nadie la juzgó"},
        )
    )
    (tmp_path / "qrels.tsv").write_text(
        "query-id\tcorpus-id\tscore\nq1\te1\t1\nq1\te4\t1\nq2\te4\t1\nq2\te1\t0\nq3\te2\t2\n"
    )
    return tmp_path


def test_entries_keep_their_id_as_source_and_may_lack_a_title(folder):
    entries = read_task(folder).entries
    assert [(e.source, e.title, e.content) for e in entries] == [
        ("e1", "Envíos", "Dos días."),
        ("e2", "", "Sin título."),
        ("e3", "", "Tampoco."),
        ("e4", "Envíos", "A islas, cinco."),
    ]


def test_rows_that_share_a_title_get_keys_of_their_own(folder):
    keys = [(e.section, e.title) for e in read_task(folder).entries if e.title]
    assert len(set(keys)) == len(keys)


def test_questions_without_a_row_in_the_qrels_are_left_out(folder):
    questions = read_task(folder).questions
    assert [(q.id, q.right) for q in questions] == [
        ("q1", frozenset({"e1", "e4"})),
        ("q2", frozenset({"e4"})),
        ("q3", frozenset({"e2"})),
    ]


def test_roles_load_the_aliases_in_their_own_wording_and_ask_the_rest_in_the_other(folder):
    (folder / "roles.tsv").write_text("query-id\trole\nq1\talias\nq2\ttest\n")
    (folder / "slips.jsonl").write_text(
        lines({"_id": "q1", "text": "cuanto trada"}, {"_id": "q2", "text": "y a isals"})
    )
    task = read_task(folder, roles=folder / "roles.tsv", queries=folder / "slips.jsonl")
    assert {e.source: e.aliases for e in task.entries} == {
        "e1": ("¿Cuánto tarda?",),
        "e2": (),
        "e3": (),
        "e4": ("¿Cuánto tarda?",),
    }
    assert [(q.id, q.text) for q in task.questions] == [("q2", "y a isals")]


def test_without_aliases_the_same_questions_are_asked(folder):
    (folder / "roles.tsv").write_text("query-id\trole\nq1\talias\nq2\ttest\n")
    task = read_task(folder, roles=folder / "roles.tsv", aliases=False)
    assert all(entry.aliases == () for entry in task.entries)
    assert [question.id for question in task.questions] == ["q2"]


def test_out_of_scope_questions_need_no_answer(folder):
    path = folder / "otras.jsonl"
    path.write_text(lines({"_id": "o1", "text": "¿Llueve?"}))
    assert read_task(folder, out_of_scope=path).out_of_scope == ("¿Llueve?",)
    assert read_task(folder).out_of_scope is None


def test_nothing_to_ask_is_an_error(folder):
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n")
    with pytest.raises(QueryError, match="nothing to ask"):
        read_task(folder)


BAD = {
    (
        "corpus.jsonl",
        "neither title nor text",
        2,
    ): '{"_id": "a", "text": "x"}\n{"_id": "b", "text": ""}\n',
    ("corpus.jsonl", "twice", 2): '{"_id": "a", "text": "x"}\n{"_id": "a", "text": "y"}\n',
    ("corpus.jsonl", "must have '_id' and 'text'", 1): '{"_id": "a"}\n',
    ("corpus.jsonl", "'title' must be text", 1): '{"_id": "a", "title": 3, "text": "x"}\n',
    ("queries.jsonl", "must be a JSON object", 1): "[]\n",
    ("queries.jsonl", "invalid JSON", 2): "\n{\n",
    ("qrels.tsv", "must have 3 columns", 2): "query-id\tcorpus-id\tscore\nq1\te1\n",
    ("qrels.tsv", "is no number", 2): "query-id\tcorpus-id\tscore\nq1\te1\tsí\n",
    ("roles.tsv", "neither alias nor test", 2): "query-id\trole\nq1\totro\n",
    ("roles.tsv", "queries.jsonl has no question 'q9'", 1): "q9\talias\n",
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_line_is_named_with_its_file_and_line(folder, case):
    name, message, line = case
    (folder / name).write_text(BAD[case])
    roles = folder / "roles.tsv"
    with pytest.raises(SeedError) as caught:
        read_task(folder, roles=roles if roles.exists() else None)
    assert message in str(caught.value)
    assert (caught.value.path, caught.value.line) == (folder / name, line)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(SeedError, match=r"qrels\.tsv: there is no such file"):
        read_task(tmp_path)
