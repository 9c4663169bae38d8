"""The collections of a folder, found by the files they have, as tasks to load and ask."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Literal, TypeVar

from kb_search import Entry
from kb_search.errors import QueryError
from kb_search.evaluation.folder import Question, Task, read_task
from kb_search.seeds.files import read_json_lines

# How the questions may be written: as they are, and `queries.NAME.jsonl`.
PLAIN = "plain"
VARIANTS = ("noaccent", "typo", "noaccent_typo", "realtypo")
# What is asked of an FAQ without its aliases.
_WITHOUT_ALIASES = (PLAIN, "noaccent")
# Larger collections are asked as written only.
_MANY = 3_000

Kind = Literal["faq", "other", "mixture"]
_Value = TypeVar("_Value")


@dataclass(frozen=True, kw_only=True)
class Load:
    """Entries to load once, and what to ask of them: {variant: questions}.

    The variants of a mixture are the collections whose questions are asked.
    """

    name: str
    kind: Kind
    aliases: bool
    entries: tuple[Entry, ...]
    asked: Mapping[str, Sequence[Question]]
    out_of_scope: Sequence[str] = ()


def loads(data: Path, *, only: Collection[str] = (), most: int | None = None) -> Iterator[Load]:
    """Every collection below `data`, FAQs first and those with and without aliases.

    A folder with `corpus.jsonl` and `qrels.tsv` is a collection, an FAQ where it has
    `alias_split.tsv`; one with nothing but `queries.jsonl` holds questions out of scope; `X_es`
    and `X_en` side by side are also loaded as one. `most` bounds the questions of each kind.
    """
    found = [p for p in sorted(data.iterdir()) if _has(p, "corpus.jsonl", "qrels.tsv")]
    wanted = [p for p in found if not only or p.name in only]
    outside = _sample(tuple(_out_of_scope(data)), most)
    faqs = [p for p in wanted if _has(p, "alias_split.tsv")]
    for folder in faqs:
        for aliases in (True, False):
            tasks = _tasks(folder, aliases=aliases, most=most)
            yield _load(folder.name, "faq", tasks, outside if aliases else (), aliases=aliases)
    for folder in (p for p in wanted if p not in faqs):
        yield _load(folder.name, "other", _tasks(folder, most=most), outside)
    names = {p.name: p for p in found}
    for name, spanish in names.items():
        english = names.get(name.removesuffix("_es") + "_en") if name.endswith("_es") else None
        if english and (not only or f"{name}+{english.name}" in only):
            yield _mixture((spanish, english), most)


def _load(
    name: str,
    kind: Kind,
    tasks: Mapping[str, Task],
    outside: Sequence[str],
    *,
    aliases: bool = True,
) -> Load:
    return Load(
        name=name,
        kind=kind,
        aliases=aliases,
        entries=tasks[PLAIN].entries,
        asked={variant: task.questions for variant, task in tasks.items()},
        out_of_scope=outside,
    )


def _tasks(folder: Path, *, aliases: bool = True, most: int | None = None) -> dict[str, Task]:
    roles = folder / "alias_split.tsv"
    tasks = {PLAIN: read_task(folder, roles=roles if roles.exists() else None, aliases=aliases)}
    for variant in VARIANTS:
        queries = folder / f"queries.{variant}.jsonl"
        left_out = not aliases and variant not in _WITHOUT_ALIASES
        if left_out or len(tasks[PLAIN].questions) > _MANY or not queries.exists():
            continue
        try:
            tasks[variant] = read_task(
                folder, queries=queries, roles=roles if roles.exists() else None, aliases=aliases
            )
        except QueryError:  # none of the questions that are asked has such a variant
            continue
    return {
        variant: replace(task, questions=_sample(task.questions, most))
        for variant, task in tasks.items()
    }


def _mixture(folders: Sequence[Path], most: int | None) -> Load:
    """Several collections in one; each question is right in its own collection only."""
    tasks = {folder.name: read_task(folder) for folder in folders}
    return Load(
        name="+".join(tasks),
        kind="mixture",
        aliases=True,
        entries=tuple(
            replace(entry, section=f"{name} {entry.section}", source=f"{name}/{entry.source}")
            for name, task in tasks.items()
            for entry in task.entries
        ),
        asked={
            name: _sample(
                [
                    replace(question, right=frozenset(f"{name}/{id_}" for id_ in question.right))
                    for question in task.questions
                ],
                most,
            )
            for name, task in tasks.items()
        },
    )


def _out_of_scope(data: Path) -> Iterator[str]:
    folders = (p for p in sorted(data.iterdir()) if _has(p, "queries.jsonl"))
    files = (p / "queries.jsonl" for p in folders if not (p / "qrels.tsv").exists())
    for _, row in chain.from_iterable(read_json_lines(file) for file in files):
        if isinstance(row, dict) and isinstance(row.get("text"), str):
            yield row["text"]


def _has(folder: Path, *names: str) -> bool:
    return folder.is_dir() and all((folder / name).is_file() for name in names)


def _sample(values: Sequence[_Value], most: int | None) -> tuple[_Value, ...]:
    """At most `most` of the values, spread evenly."""
    step = -(-len(values) // most) if most and values else 1
    return tuple(values[::step])
