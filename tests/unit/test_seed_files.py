from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from kb_search.errors import SeedError
from kb_search.models import Entry
from kb_search.seeds.files import read_seed

ROW = {"section": "tarifas", "title": "Tarifas", "content": "45 euros la hora."}


def jsonl(*rows: object) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def written(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def refused(folder: Path, name: str, text: str | bytes) -> SeedError:
    path = written(folder, name, text)
    with pytest.raises(SeedError) as caught:
        read_seed(path)
    assert caught.value.path == path
    assert str(path) in str(caught.value)
    return caught.value


FULL = Entry(
    section="envíos",
    title="¿Cuánto tarda?",
    content="Dos días.\nEn islas, cinco; o más.",
    aliases=("cuando llega", "plazo de entrega"),
    tags=("envío",),
    metadata={"url": "https://example.com", "orden": 3},
    source="manual",
)

SAME_ENTRY = {
    "full.jsonl": jsonl(
        {
            "section": "envíos",
            "title": "¿Cuánto tarda?",
            "content": "Dos días.\nEn islas, cinco; o más.",
            "aliases": ["cuando llega", "plazo de entrega"],
            "tags": ["envío"],
            "metadata": {"url": "https://example.com", "orden": 3},
            "source": "manual",
        }
    ),
    "full.csv": (
        "section,title,content,aliases,tags,metadata,source\r\n"
        'envíos,¿Cuánto tarda?,"Dos días.\nEn islas, cinco; o más.",'
        "cuando llega | plazo de entrega|,envío,"
        '"{""url"": ""https://example.com"", ""orden"": 3}",manual\r\n'
    ),
    "semicolons.csv": (
        "section;title;content;aliases;tags;metadata;source\n"
        'envíos;¿Cuánto tarda?;"Dos días.\nEn islas, cinco; o más.";'
        "cuando llega|plazo de entrega;envío;"
        '"{""url"": ""https://example.com"", ""orden"": 3}";manual\n'
    ),
    "full.yaml": """
- section: envíos
  title: ¿Cuánto tarda?
  content: "Dos días.\\nEn islas, cinco; o más."
  aliases: [cuando llega, plazo de entrega]
  tags:
    - envío
  metadata: {url: "https://example.com", orden: 3}
  source: manual
""",
}


@pytest.mark.parametrize("name", SAME_ENTRY)
@pytest.mark.parametrize("mark", ["", "\ufeff"], ids=["plain", "with a byte order mark"])
def test_every_format_gives_the_same_entry(tmp_path, name, mark):
    path = written(tmp_path, name, mark + SAME_ENTRY[name])
    assert read_seed(path).entries == (FULL,)


def test_only_section_title_and_content_are_needed(tmp_path):
    entries = read_seed(written(tmp_path, "a.jsonl", jsonl(ROW))).entries
    assert entries == (Entry(section="tarifas", title="Tarifas", content="45 euros la hora."),)


def test_blank_lines_and_empty_files_are_no_entries(tmp_path):
    assert len(read_seed(written(tmp_path, "a.jsonl", "\n" + jsonl(ROW) + "\n  \n")).entries) == 1
    for name in ("e.jsonl", "e.csv", "e.yaml", "e.sql"):
        assert read_seed(written(tmp_path, name, "")).entries == ()


def test_a_line_separator_inside_a_text_is_no_new_line(tmp_path):
    row = ROW | {"content": "uno\u2028dos"}
    assert read_seed(written(tmp_path, "a.jsonl", jsonl(row))).entries[0].content == "uno\u2028dos"


def test_a_content_of_5_mb_is_read_from_csv(tmp_path):
    content = "palabra " * 650_000
    text = f'section,title,content\na,b,"{content}"\n'
    assert read_seed(written(tmp_path, "a.csv", text)).entries[0].content == content


BAD_JSONL = {
    "invalid JSON: Expecting property name": "{",
    "NaN is no JSON number": '{"section": "a", "title": "b", "content": "c", "metadata": {"x": NaN}}',
    "not a list": "[1]",
    "not null": "null",
    "the key 'title' is there twice": '{"section": "a", "title": "b", "title": "c"}',
    "nested too deeply": "[" * 100_000,
    "'title' is missing": jsonl({"section": "a", "content": "c"}),
    "'section' has more than 400 characters": jsonl(ROW | {"section": "s" * 401}),
    "'content' is blank": jsonl(ROW | {"content": " \n"}),
    "'title' is blank": jsonl(ROW | {"title": "\0"}),
    "'title' must be text (in quotes), not a number": jsonl(ROW | {"title": 3}),
    "'section' must be text (in quotes), not null": jsonl(ROW | {"section": None}),
    "'aliases' must be a list of texts, not text": jsonl(ROW | {"aliases": "uno"}),
    "'tags' must hold texts (in quotes), not a number": jsonl(ROW | {"tags": ["uno", 2]}),
    "'metadata' must be an object, not a list": jsonl(ROW | {"metadata": []}),
    "'source' must be text (in quotes), not true or false": jsonl(ROW | {"source": True}),
    "unknown key 'titulo': an entry has section, title, content": jsonl({"titulo": "x"}),
    "chosen with --collection": jsonl(ROW | {"collection": "x"}),
    "half a character": '{"section": "a", "title": "\\ud83d", "content": "c"}',
    "'metadata' holds half a character": jsonl(ROW)[:-2] + ', "metadata": {"a": ["\\udc00"]}}',
    "inf, which is no JSON number": jsonl(ROW)[:-2] + ', "metadata": {"a": 1e999}}',
}


@pytest.mark.parametrize("message", BAD_JSONL)
def test_a_bad_json_line_is_named_with_its_line(tmp_path, message):
    error = refused(tmp_path, "a.jsonl", jsonl(ROW) + "\n" + BAD_JSONL[message])
    assert message in str(error)
    assert error.line == 3


BAD_CSV = {
    ("unknown key 'titulo'", 1): "section,titulo,content\na,b,c\n",
    ("'title' is there twice", 1): "section,title,title,content\na,b,b,c\n",
    ("has 2 cells, the header has 3", 4): 'section,title,content\na,b,"1\n2"\na,b\n',
    ("'metadata': invalid JSON", 2): "section,title,content,metadata\na,b,c,{x\n",
    ("'metadata' must be an object", 2): "section,title,content,metadata\na,b,c,3\n",
    ("'content' is blank", 3): "section,title,content\na,b,c\na,c,\n",
    ("invalid CSV: unexpected end of data", 3): 'section,title,content\na,b,c\na,b,"c\n\n\n',
    ("'title' is missing", 2): "section,content\na,c\n",
}


@pytest.mark.parametrize("case", BAD_CSV)
def test_a_bad_csv_row_is_named_with_the_line_where_it_starts(tmp_path, case):
    error = refused(tmp_path, "a.csv", BAD_CSV[case])
    assert case[0] in str(error)
    assert error.line == case[1]


BAD_YAML = {
    ("must be a list of entries", 1): "section: a\n",
    ("'title' must be text (in quotes), not true or false", 2): (
        "- section: a\n  title: no\n  content: c\n"
    ),
    ("the key 'title' is there twice", 3): "- section: a\n  title: b\n  title: c\n",
    ("'content' is missing", 2): "\n- section: a\n  title: b\n",
    ("references (*name) are not allowed", 4): (
        "- section: a\n  title: &b b\n  content: c\n  source: *b\n"
    ),
    ("invalid YAML: could not determine a constructor", 2): (
        "- section: a\n  title: !!python/object/apply:os.system [ls]\n"
    ),
    ("invalid YAML", 3): "- section: a\n  title: 'b\n",
    ("unknown key 'titulo'", 3): "- section: a\n  content: c\n  titulo: t\n",
    ("'metadata' has the key 1", 4): (
        "- section: a\n  title: b\n  content: c\n  metadata: {1: x}\n"
    ),
    ("must be an object", 1): "- hola\n",
    ("special characters are not allowed", 2): "- section: a\n  title: b\x07\n",
}


@pytest.mark.parametrize("case", BAD_YAML)
def test_a_bad_yaml_item_is_named_with_its_line(tmp_path, case):
    error = refused(tmp_path, "a.yaml", BAD_YAML[case])
    assert case[0] in str(error)
    assert error.line == case[1]


def test_yaml_nested_too_deeply_is_one_error(tmp_path):
    assert "nested too deeply" in str(refused(tmp_path, "a.yml", "[" * 20_000))


def test_a_date_in_yaml_stays_text(tmp_path):
    text = "- {section: a, title: 2024-01-05, content: c, metadata: {desde: 2024-02-01}}\n"
    entry = read_seed(written(tmp_path, "a.yaml", text)).entries[0]
    assert entry.title == "2024-01-05"
    assert entry.metadata == {"desde": "2024-02-01"}


def test_without_pyyaml_a_yaml_file_is_one_error(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "yaml", None)
    monkeypatch.delitem(sys.modules, "kb_search.seeds.yaml_rows", raising=False)
    error = refused(tmp_path, "a.yaml", SAME_ENTRY["full.yaml"])
    assert "pip install 'kb-search[cli]'" in str(error)


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.yaml", "a.sql"])
def test_a_file_that_is_not_utf_8_says_so(tmp_path, name):
    error = refused(tmp_path, name, b"uno\ndos\nenv\xedos\n")
    assert "is not UTF-8 (byte 0xed" in str(error)
    assert "save it as UTF-8" in str(error)
    assert error.line == 3
    assert "UTF-16" in str(refused(tmp_path, name, "hola".encode("utf-16")))
    assert refused(tmp_path, name, b"uno\nd\0s").line == 2


def test_a_file_that_cannot_be_read_says_so(tmp_path):
    with pytest.raises(SeedError, match="there is no such file"):
        read_seed(tmp_path / "nada.jsonl")
    (tmp_path / "carpeta.csv").mkdir()
    with pytest.raises(SeedError, match="cannot be read: Is a directory"):
        read_seed(tmp_path / "carpeta.csv")


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such files")
@pytest.mark.parametrize("name", ["a.jsonl", "a.sql", "a.csv"])
def test_what_would_be_waited_for_is_no_file(tmp_path, name):
    os.mkfifo(tmp_path / name)
    with pytest.raises(SeedError, match="is no plain file"):
        read_seed(tmp_path / name)


@pytest.mark.parametrize("name", ["a.json", "a.txt", "a"])
def test_another_kind_of_file_is_refused(tmp_path, name):
    assert ".jsonl, .csv, .yaml" in str(refused(tmp_path, name, jsonl(ROW)))
