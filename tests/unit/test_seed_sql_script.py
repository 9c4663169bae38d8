from __future__ import annotations

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from kb_search.errors import SeedError
from kb_search.seeds.files import read_seed
from kb_search.seeds.sql_script import ScriptError, split_statements


def texts(script: str) -> list[str]:
    return [statement.text for statement in split_statements(script)]


def test_statements_are_split_at_semicolons_with_the_line_of_their_first_word():
    script = "-- uno\nSELECT 1;\n\n/* dos\n*/ SELECT\n 2 ; ; SELECT 3"
    found = split_statements(script)
    assert [(s.text, s.line) for s in found] == [
        ("SELECT 1", 2),
        ("SELECT\n 2", 5),
        ("SELECT 3", 6),
    ]


WHOLE = {
    "a string": "SELECT 'a;b''c;d'",
    "a backslash in a plain string": r"SELECT 'a\', 1",
    "an escape string": r"SELECT E'a\';b', e'\\'",
    "an escape string over two lines": "SELECT E'a'\n  'b\\';c'",
    "a Unicode string": r"SELECT U&'d\0061t;a', u&'x;'",
    "a quoted name": 'SELECT "a;b""c;"',
    "a quoted name after a backslash": r'SELECT "a\"',
    "dollar quotes": "SELECT $$a;b'$$",
    "tagged dollar quotes": "SELECT $año_1$a;$$;$año$ $año_1$",
    "dollars in a name": "SELECT a$b$c, d$b$e",
    "a line comment": "SELECT 1 -- a;b'\n + 1",
    "nested comments": "SELECT /* a; /* b; */ c; ' */ 1",
    "a comment after an operator": "SELECT 1 +/* a; */ 1",
    "parentheses": "CREATE RULE r AS ON INSERT TO t DO (DELETE FROM a; DELETE FROM b)",
    "a body of SQL": (
        "CREATE OR REPLACE FUNCTION f() RETURNS int LANGUAGE sql BEGIN ATOMIC"
        " SELECT CASE WHEN true THEN 1 END; SELECT 2; END"
    ),
    "a body in dollar quotes": "DO $x$ BEGIN PERFORM 1; COMMIT; END $x$",
    "a parameter": "PREPARE p AS SELECT $1",
    "words of a transaction elsewhere": "SELECT commit FROM begin WHERE \"end\" = 'ROLLBACK'",
    "copy from a file": "COPY t FROM '/tmp/stdin'",
    "copy of a table named stdin": "COPY stdin FROM '/a'",
}


@pytest.mark.parametrize("what", WHOLE)
def test_a_semicolon_inside_something_ends_no_statement(what):
    assert texts(f"SELECT 0;\n{WHOLE[what]};\nSELECT 9;") == ["SELECT 0", WHOLE[what], "SELECT 9"]


REFUSED = {
    "\\copy kb_search.entry FROM 'x.csv'": "psql commands",
    "\\c otra": "psql commands",
    "SELECT 1 \\gexec": "psql commands",
    "BEGIN": "BEGIN cannot be used",
    "begin work": "BEGIN cannot be used",
    "START TRANSACTION": "START",
    "COMMIT": "COMMIT",
    "/* x */ CoMmIt AND CHAIN": "COMMIT",
    "END": "END",
    "ABORT": "ABORT",
    "ROLLBACK": "ROLLBACK",
    "ROLLBACK TO SAVEPOINT a": "ROLLBACK",
    "SAVEPOINT a": "SAVEPOINT",
    "RELEASE a": "RELEASE",
    "PREPARE TRANSACTION 'a'": "PREPARE TRANSACTION",
    "SET TRANSACTION READ ONLY": "SET TRANSACTION",
    "COPY t FROM STDIN": "COPY … FROM STDIN",
    "copy t (a, b) from /* x */ stdin with csv": "COPY … FROM STDIN",
    "COPY (SELECT 1) TO STDOUT": "COPY … TO STDOUT",
    "SELECT 'a;": "string that starts here is never closed",
    r"SELECT E'a\'; SELECT 2": "string that starts here is never closed",
    'SELECT "a;': "quoted name that starts here is never closed",
    "SELECT $x$ a; $y$": "with $x$ is never closed",
    "/* /* */ SELECT 1": "comment that starts here is never closed",
}


@pytest.mark.parametrize("statement", REFUSED)
def test_what_cannot_be_run_is_refused_with_its_line(statement):
    with pytest.raises(ScriptError, match="here") as caught:
        split_statements(f"SELECT '\n';\n-- x\n{statement};\nSELECT 1;")
    assert REFUSED[statement] in str(caught.value)
    assert caught.value.line == 4


def test_a_position_inside_a_statement_is_a_line_of_the_script():
    statement = split_statements("\n\nSELECT\n  1,\n  nada;")[0]
    assert statement.line_at(statement.text.index("nada") + 1) == 5


def test_a_refused_statement_names_its_file(tmp_path):
    path = tmp_path / "a.sql"
    path.write_text("SELECT 1;\nCOMMIT;\n")
    with pytest.raises(SeedError) as caught:
        read_seed(path)
    assert (caught.value.path, caught.value.line) == (path, 2)


pieces = st.sampled_from(
    ["'", "''", '"', "E'", "\\", "$$", "$a$", "/*", "*/", "--", "\n", ";", "(", ")", "a", " ", "é"]
)


@given(st.lists(pieces, max_size=30).map("".join))
def test_any_text_is_split_or_refused_and_no_statement_is_lost(script):
    try:
        found = split_statements(script)
    except ScriptError as error:
        event(str(error))
        return
    at = 0
    for statement in found:
        assert statement.text == statement.text.strip() != ""
        at = script.index(statement.text, at) + len(statement.text)
