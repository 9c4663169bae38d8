"""`unanswered`, `alias` and `mcp` on the command line."""

from __future__ import annotations

import pytest

from tests.surface.command_line import CommandLine

QUESTION = "¿los portes van aparte?"


@pytest.fixture
def run(capsys, clean_environment, dsn, collection, monkeypatch):
    """A command line on a collection of its own that logs questions."""
    monkeypatch.setenv("KB_SEARCH_QUESTION_LOG", "text")
    command = CommandLine(capsys, "--dsn", dsn, "--collection", collection, "--json")
    seed = clean_environment / "seed.jsonl"
    seed.write_text('{"section": "envios", "title": "Gastos", "content": "Cuesta 5 euros."}\n')
    assert command("seed", seed).code == 0
    yield command
    command("remove")


def test_an_unanswered_question_becomes_an_alias_and_is_answered(run):
    assert run("ask", QUESTION).code == 1
    (group,) = run("unanswered").document["unanswered"]
    assert group["questions"] == [QUESTION]
    assert group["times"] == 1

    told = run("alias", "envios/Gastos", QUESTION)
    assert told.code == 0
    assert told.document["aliases"] == [QUESTION]
    assert run("ask", "los portes van aparte").code == 0
    assert run("unanswered").document == {"unanswered": []}


def test_an_alias_takes_an_id(run):
    (entry,) = run("entries").document["entries"]
    assert run("alias", entry["id"], "otra forma").document["aliases"] == ["otra forma"]


def test_an_alias_for_nothing_says_how_entries_are_named(run):
    told = run("alias", "envios", "hola")
    assert told.code == 2
    assert "section/title" in told.error["message"]
    assert run("alias", 10**17, "hola").code == 2


def test_for_people_the_groups_are_lines(run, capsys, dsn, collection):
    run("ask", QUESTION)
    plain = CommandLine(capsys, "--dsn", dsn, "--collection", collection)
    assert f"1 × {QUESTION}" in plain("unanswered").out


def test_whoever_logs_nothing_is_told_how_to(capsys, clean_environment, dsn, collection):
    told = CommandLine(capsys, "--dsn", dsn, "--collection", collection)("unanswered")
    assert told.code == 0
    assert "KB_SEARCH_QUESTION_LOG=text" in told.out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--json"], "--json"),
        (["--port", "1"], "--http"),
        (["--token", "0123456789abcdef"], "--http"),
        (["--http", "--host", "0.0.0.0"], "token"),
        (["--http", "--token", "short"], "16 characters"),
        (["--http", "--host", "0.0.0.0", "--token", "0123456789abcdef"], "--allowed-host"),
        (["--max-chars", "5"], "MAX_CHARS"),
    ],
)
def test_a_server_that_cannot_be_is_refused_with_what_to_do(
    capsys, clean_environment, dsn, options, message
):
    told = CommandLine(capsys, "--dsn", dsn)("mcp", *options)
    assert told.code == 2
    assert message in told.err


def test_without_its_extra_the_server_says_what_to_install(
    capsys, clean_environment, dsn, monkeypatch
):
    import sys

    monkeypatch.setitem(sys.modules, "mcp", None)
    told = CommandLine(capsys, "--dsn", dsn)("mcp")
    assert told.code == 2
    assert "kb-search[mcp]" in told.err
