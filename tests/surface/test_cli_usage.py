from __future__ import annotations

import asyncio
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kb_search.cli import ask, content, program
from kb_search.cli.output import Output
from kb_search.errors import NotFound, SeedError
from tests.surface.command_line import CommandLine

NOBODY = "postgresql://nobody@127.0.0.1:1/nothing?connect_timeout=2"


@pytest.fixture
def kb_search(capsys, clean_environment) -> CommandLine:
    return CommandLine(capsys)


@pytest.fixture
def asked(monkeypatch) -> list[Any]:
    """The arguments of every `ask`, which is answered with nothing."""
    seen = []

    async def remember(args, out):
        seen.append(args)
        return 0

    monkeypatch.setattr(ask, "_ask", remember)
    return seen


def fail_with(monkeypatch, error: BaseException) -> None:
    async def fail(args, out):
        raise error

    monkeypatch.setattr(ask, "_ask", fail)


def test_help_lists_every_command_and_exits_with_0(kb_search):
    answer = kb_search("--help")
    assert answer.code == 0
    for command in ("init", "seed", "ask", "entries", "remove", "stats", "doctor", "rebuild"):
        assert f"\n    {command} " in answer.out
    assert "synonyms" in answer.out
    assert "eval" in answer.out
    assert kb_search("ask", "--help").code == 0


def test_the_version_is_that_of_the_package(kb_search):
    answer = kb_search("--version")
    assert (answer.code, answer.out) == (0, "kb-search 0.1.0\n")


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("nada",),
        ("ask", "--nada", "hola"),
        ("ask", "--sec", "faq", "hola"),
        ("ask", "--mode", "nada", "hola"),
        ("ask", "--limit", "dos", "hola"),
        ("ask", "--metadata", "[1]", "hola"),
        ("ask", "--metadata", "{", "hola"),
        ("seed",),
        ("remove", "uno"),
        ("remove", "9223372036854775808"),
        ("entries", "--limit", "0"),
        ("entries", "--after-id", "-1"),
        ("synonyms",),
        ("synonyms", "add", "uno"),
        ("eval",),
        ("stats", "de", "mas"),
    ],
    ids=" ".join,
)
def test_wrong_usage_exits_with_2_and_one_document(kb_search, arguments):
    plain = kb_search(*arguments)
    assert (plain.code, plain.out) == (2, "")
    assert plain.err.splitlines()[-1].startswith("kb-search: ")
    with_json = kb_search("--json", *arguments)
    assert with_json.code == 2
    assert with_json.error["type"] == "UsageError"
    assert with_json.error["message"] in plain.err


def test_options_of_all_stand_before_or_after_the_command(kb_search, asked):
    options = ("--dsn", "postgresql://x", "--collection", "tienda", "--json")
    for arguments in ((*options, "ask", "hola"), ("ask", "hola", *options)):
        assert kb_search(*arguments).code == 0
        assert (asked[-1].dsn, asked[-1].collection, asked[-1].json) == (
            "postgresql://x",
            "tienda",
            True,
        )
    kb_search("--collection", "a", "ask", "hola", "--collection", "b")
    assert asked[-1].collection == "b"
    kb_search("ask", "hola")
    assert (asked[-1].dsn, asked[-1].collection, asked[-1].json) == (None, None, False)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("que", "proyectos", "ha", "hecho"), "que proyectos ha hecho"),
        (("que proyectos", "--limit", "2", "ha", "hecho"), "que proyectos ha hecho"),
        (("--syntax", "web", "--", "envío", "-islas", "--json"), "envío -islas --json"),
        (("envío", "--", "-islas"), "envío -islas"),
        (("--", "--", "uno"), "-- uno"),
        ((), ""),
    ],
)
def test_a_question_is_all_its_words_in_order(kb_search, asked, arguments, words):
    assert kb_search("ask", *arguments).code == 0
    assert " ".join(asked[-1].question) == words
    assert asked[-1].json is False


def test_a_word_that_looks_like_an_option_is_told_to_go_after_two_dashes(kb_search):
    answer = kb_search("ask", "precio", "-plan")
    assert answer.code == 2
    assert "go after --" in answer.err


def test_tags_add_up(kb_search, asked):
    kb_search("ask", "x", "--tag", "a", "--tag", "b", "--metadata", '{"idioma": "es"}')
    assert asked[-1].tags == ["a", "b"]
    assert asked[-1].metadata == {"idioma": "es"}


@pytest.mark.parametrize(
    "command", [("ask", "hola"), ("stats",), ("entries",), ("remove", "1"), ("init",), ("doctor",)]
)
def test_a_server_that_is_down_exits_with_3(kb_search, command):
    answer = kb_search("--dsn", NOBODY, "--json", *command)
    assert answer.code == 3
    assert answer.error["type"] == "Unreachable"
    assert "KB_SEARCH_DSN" in answer.error["message"]
    assert answer.error["message"] in answer.err


def test_a_setting_out_of_bounds_exits_with_2(kb_search, monkeypatch):
    monkeypatch.setenv("KB_SEARCH_LIMIT", "0")
    answer = kb_search("--dsn", NOBODY, "--json", "ask", "hola")
    assert answer.code == 2
    assert answer.error["type"] == "ConfigError"
    assert "KB_SEARCH_LIMIT" in answer.error["message"]


def test_an_error_document_carries_what_the_error_knows(kb_search, monkeypatch):
    fail_with(monkeypatch, SeedError("mal", path="a.jsonl", line=3))
    answer = kb_search("ask", "hola", "--json")
    assert answer.code == 2
    assert answer.error == {
        "type": "SeedError",
        "message": "a.jsonl:3: mal",
        "path": "a.jsonl",
        "line": 3,
    }
    fail_with(monkeypatch, NotFound("no entry 7"))
    assert kb_search("ask", "hola").err == "kb-search: no entry 7\n"


def test_ctrl_c_exits_with_130(kb_search, monkeypatch):
    fail_with(monkeypatch, KeyboardInterrupt())
    answer = kb_search("ask", "hola", "--json")
    assert answer.code == 130
    assert answer.error["type"] == "KeyboardInterrupt"


def test_a_fault_of_our_own_is_a_sentence_and_no_traceback(kb_search, monkeypatch):
    fail_with(monkeypatch, ZeroDivisionError("entre cero"))
    answer = kb_search("ask", "hola", "--json")
    assert answer.code == 2
    assert "unexpected ZeroDivisionError at test_cli_usage.py:" in answer.error["message"]


def test_an_unknown_sample_names_those_that_there_are(kb_search):
    answer = kb_search("--dsn", NOBODY, "seed", "--sample", "nada")
    assert answer.code == 2
    assert "portfolio, tienda" in answer.err


def test_every_module_of_commands_is_listed():
    folder = Path(program.__file__).parent
    commands = {
        path.stem
        for path in folder.glob("*.py")
        if "def register(" in path.read_text(encoding="utf-8")
    }
    listed = {module.__name__.rpartition(".")[2] for module in program.COMMAND_MODULES}
    assert commands == listed
    assert content in program.COMMAND_MODULES


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self):
        return True


def on_terminal(monkeypatch, **environment: str) -> tuple[Terminal, Terminal]:
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    streams = Terminal(), Terminal()
    monkeypatch.setattr(sys, "stdout", streams[0])
    monkeypatch.setattr(sys, "stderr", streams[1])
    return streams


def test_colours_are_for_terminals(monkeypatch, capsys):
    Output(as_json=False).line("hola", "green", marked=((0, 2),))
    assert capsys.readouterr().out == "hola\n"
    terminal, _ = on_terminal(monkeypatch)
    Output(as_json=False).line("hola", "green", marked=((0, 2),))
    assert "\x1b[" in terminal.getvalue()


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_no_colours_where_they_are_not_wanted(monkeypatch, environment):
    terminal, _ = on_terminal(monkeypatch, **environment)
    Output(as_json=False).line("hola", "green", marked=((0, 2),))
    assert terminal.getvalue() == "hola\n"


def test_without_rich_a_terminal_gets_plain_text(monkeypatch):
    terminal, errors = on_terminal(monkeypatch)
    monkeypatch.setitem(sys.modules, "rich.console", None)
    out = Output(as_json=False)
    out.line("hola", "green")
    with out.progress("x") as advance:
        advance(1, 2)
    assert terminal.getvalue() == "hola\n"
    assert errors.getvalue() == ""


@pytest.mark.parametrize("tty", [True, False])
def test_control_characters_of_an_entry_reach_no_terminal(monkeypatch, capsys, tty):
    if tty:
        terminal, _ = on_terminal(monkeypatch, TERM="dumb")
    Output(as_json=False).line("a\x1b]0;mal\x07\x9b31mb\r\nc\td")
    text = terminal.getvalue() if tty else capsys.readouterr().out
    assert text == "a ]0;mal  31mb \nc\td\n"


@pytest.mark.parametrize("seconds", [0.0, 1.5])
def test_a_bar_is_shown_on_standard_error_after_a_second(monkeypatch, seconds):
    terminal, errors = on_terminal(monkeypatch)
    clock = iter([0.0, *[seconds] * 1000])
    monkeypatch.setattr("kb_search.cli.output.time.monotonic", lambda: next(clock))
    with Output(as_json=True).progress("Loading") as advance:
        advance(1, 2)
    assert ("Loading" in errors.getvalue()) is (seconds > 1)
    assert terminal.getvalue() == ""


def test_json_is_ascii_where_standard_output_is_not_utf_8():
    script = (
        "import sys; from kb_search.cli.output import Output\n"
        "out = Output(as_json='--json' in sys.argv); out.document({'a': 'ñ'}); out.line('ñ')\n"
        "out.finish()"
    )
    for arguments, expected in (["--json"], '{\n  "a": "\\u00f1"\n}\n'), ([], "?\n"):
        found = subprocess.run(
            [sys.executable, "-c", script, *arguments],
            env=os.environ | {"PYTHONIOENCODING": "ascii"},
            capture_output=True,
            text=True,
            check=True,
        )
        assert found.stdout == expected


def test_a_reader_that_leaves_early_is_no_error():
    script = (
        "import sys\nfrom kb_search.cli import ask, main\n"
        "async def talk(args, out):\n"
        "    for _ in range(100_000): out.line('palabra')\n"
        "    return 0\n"
        "ask._ask = talk\n"
        "sys.exit(main(['ask', 'x']))"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == b"palabra\n"
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


def test_the_program_can_be_run_where_an_event_loop_runs_in_another_thread(capsys, asked):
    async def elsewhere():
        return await asyncio.to_thread(CommandLine(capsys), "ask", "hola")

    assert asyncio.run(elsewhere()).code == 0


def test_json_document_is_printed_once_even_when_an_error_follows(kb_search, monkeypatch):
    async def late(args, out):
        out.document({"done": True})
        raise NotFound

    monkeypatch.setattr(ask, "_ask", late)
    answer = kb_search("ask", "x", "--json")
    assert list(json.loads(answer.out)) == ["error"]
