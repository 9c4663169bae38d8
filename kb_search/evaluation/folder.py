"""Reading a BEIR-like folder (`corpus.jsonl`, `queries.jsonl`, `qrels.tsv`) and its tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from kb_search.errors import QueryError, SeedError
from kb_search.models import Entry
from kb_search.seeds.files import read_json_lines, read_text

_SECTION = "corpus"


@dataclass(frozen=True, kw_only=True)
class Question:
    """A question to ask; `right` are the ids (`_id`) of the entries that answer it."""

    id: str
    text: str
    right: frozenset[str]


@dataclass(frozen=True, kw_only=True)
class Task:
    """What one evaluation loads and asks; an entry's `_id` is its `source`."""

    entries: tuple[Entry, ...]
    questions: tuple[Question, ...]
    out_of_scope: tuple[str, ...] | None


def read_task(
    folder: Path,
    *,
    queries: Path | None = None,
    roles: Path | None = None,
    aliases: bool = True,
    out_of_scope: Path | None = None,
) -> Task:
    """The task of a folder; questions that the qrels do not name are left out.

    With `roles` only the questions marked `test` are asked, worded as in `queries`; those marked
    `alias` become aliases of their entries, worded as in the folder's own `queries.jsonl`.

    Raises:
        SeedError: a file is missing or has a bad line.
        QueryError: there is nothing to ask.
    """
    own_queries = folder / "queries.jsonl"
    relevant = _read_qrels(folder / "qrels.tsv")
    role_of = _read_roles(roles) if roles else None
    entries = _read_corpus(folder / "corpus.jsonl")
    if roles and role_of is not None and aliases:
        entries = _with_aliases(entries, role_of, relevant, own_queries, roles)
    asked = [
        Question(id=id_, text=text, right=relevant[id_])
        for id_, text in _read_queries(queries or own_queries).items()
        if id_ in relevant and (role_of is None or role_of.get(id_, ("", 0))[0] == "test")
    ]
    if not asked:
        raise QueryError(f"nothing to ask: {queries or own_queries} has no question with an answer")
    return Task(
        entries=tuple(entries.values()),
        questions=tuple(asked),
        out_of_scope=tuple(_read_queries(out_of_scope).values()) if out_of_scope else None,
    )


def _read_corpus(path: Path) -> dict[str, Entry]:
    entries: dict[str, Entry] = {}
    titles: Counter[str] = Counter()
    for line, row in _objects(path):
        id_, text = _texts(path, line, row, "text")
        title = row.get("title") or ""
        if not isinstance(title, str):
            raise SeedError("'title' must be text", path=path, line=line)
        if not text.strip() and not title.strip():
            raise SeedError("has neither title nor text", path=path, line=line)
        if id_ in entries:
            raise SeedError(f"the _id {id_!r} is there twice", path=path, line=line)
        # Section and title are an entry's key, where there is a title: rows that share one need
        # a section each.
        section = f"{_SECTION}{titles[title]}" if title and titles[title] else _SECTION
        titles[title] += 1
        entries[id_] = Entry(section=section, title=title, content=text, source=id_)
    return entries


def _with_aliases(
    entries: dict[str, Entry],
    role_of: dict[str, tuple[str, int]],
    relevant: dict[str, frozenset[str]],
    queries: Path,
    roles: Path,
) -> dict[str, Entry]:
    texts = _read_queries(queries)
    wording: dict[str, list[str]] = {}
    for id_, (role, line) in role_of.items():
        if role == "alias":
            if id_ not in texts:
                raise SeedError(f"{queries.name} has no question {id_!r}", path=roles, line=line)
            for entry in relevant.get(id_, frozenset()):
                wording.setdefault(entry, []).append(texts[id_])
    return {
        id_: replace(entry, aliases=tuple(wording.get(id_, ()))) for id_, entry in entries.items()
    }


def _read_queries(path: Path) -> dict[str, str]:
    return dict(_texts(path, line, row, "text") for line, row in _objects(path))


def _read_qrels(path: Path) -> dict[str, frozenset[str]]:
    relevant: dict[str, set[str]] = {}
    for line, cells in _table(path, columns=3):
        try:
            score = float(cells[2])
        except ValueError:
            if line == 1:  # the header
                continue
            raise SeedError(f"score {cells[2]!r} is no number", path=path, line=line) from None
        right = relevant.setdefault(cells[0], set())
        if score > 0:
            right.add(cells[1])
    return {id_: frozenset(right) for id_, right in relevant.items()}


def _read_roles(path: Path) -> dict[str, tuple[str, int]]:
    roles: dict[str, tuple[str, int]] = {}
    for line, (id_, role) in _table(path, columns=2):
        if role in ("alias", "test"):
            roles[id_] = (role, line)
        elif line > 1:  # the first line may be a header
            raise SeedError(f"role {role!r} is neither alias nor test", path=path, line=line)
    return roles


def _table(path: Path, *, columns: int) -> Iterator[tuple[int, list[str]]]:
    for line, row in enumerate(read_text(path).splitlines(), start=1):
        if row.strip():
            cells = row.split("\t") if "\t" in row else row.split()
            if len(cells) != columns:
                raise SeedError(
                    f"must have {columns} columns separated by tabs, not {len(cells)}",
                    path=path,
                    line=line,
                )
            yield line, [cell.strip() for cell in cells]


def _objects(path: Path) -> Iterator[tuple[int, dict[str, object]]]:
    for line, row in read_json_lines(path):
        if not isinstance(row, dict):
            raise SeedError("must be a JSON object", path=path, line=line)
        yield line, row


def _texts(path: Path, line: int, row: dict[str, object], key: str) -> tuple[str, str]:
    id_, text = row.get("_id"), row.get(key)
    if not isinstance(id_, str | int) or not isinstance(text, str):
        raise SeedError(f"must have '_id' and '{key}', both text", path=path, line=line)
    return str(id_), text
