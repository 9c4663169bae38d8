"""The least that makes the kept sections of a document those of its file."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb_search.ingest.library import heading_tree
from kb_search.ingest.sections import batches, changes, digest

Row = dict[str, Any]


def wanted(*path: str, text: str, position: int = 0) -> Row:
    return {
        "section": "Manual",
        "title": path[-1],
        "content": text,
        "aliases": [],
        "tags": [],
        "metadata": {},
        "source": "m.md",
        "heading_path": list(path),
        "position": position,
    }


def kept(identity: int, row: Row) -> Row:
    return {**{k: v for k, v in row.items() if k != "content"}, "id": identity} | {
        "digest": digest(row["content"])
    }


def test_equal_sections_are_not_written():
    rows = [wanted("A", text="uno"), wanted("A", "B", text="dos", position=1)]
    change = changes([kept(7, rows[0]), kept(9, rows[1])], rows)
    assert (change.dropped, change.replaced, change.added) == ((), (), ())


def test_a_section_that_only_moved_keeps_its_text_unwritten():
    change = changes([kept(7, wanted("A", text="uno"))], [wanted("A", text="uno", position=3)])
    (row,) = change.replaced
    assert (row["id"], row["position"], row["content"]) == (7, 3, None)


def test_an_edited_text_keeps_the_id_of_its_headings():
    change = changes([kept(7, wanted("A", text="uno"))], [wanted("A", text="otro")])
    (row,) = change.replaced
    assert (row["id"], row["content"]) == (7, "otro")


def test_a_renamed_heading_keeps_the_id_of_its_text():
    change = changes(
        [kept(7, wanted("A", text="uno")), kept(8, wanted("B", text="dos", position=1))],
        [wanted("B", text="uno"), wanted("C", text="dos", position=1)],
    )
    assert [(row["id"], row["title"]) for row in change.replaced] == [(7, "B"), (8, "C")]


def test_sections_of_the_same_headings_and_text_are_told_apart_by_their_order():
    rows = [wanted("A", text="igual", position=at) for at in range(3)]
    change = changes([kept(at, row) for at, row in enumerate(rows)], rows[:2])
    assert (change.dropped, change.replaced, change.added) == ((2,), (), ())


paths = st.lists(st.sampled_from("ABC"), min_size=1, max_size=2)
documents = st.lists(st.tuples(paths, st.sampled_from(["x", "y", "z"])), max_size=8)


@given(documents, documents)
def test_what_is_kept_and_written_is_always_the_new_document(before, after):
    old = [wanted(*path, text=text, position=at) for at, (path, text) in enumerate(before)]
    new = [wanted(*path, text=text, position=at) for at, (path, text) in enumerate(after)]
    change = changes([kept(at, row) for at, row in enumerate(old)], new)
    result = {at: row for at, row in enumerate(old) if at not in change.dropped}
    for row in change.replaced:
        text = result[row["id"]]["content"] if row["content"] is None else row["content"]
        result[row["id"]] = {**row, "content": text}
    rows = [{k: v for k, v in row.items() if k != "id"} for row in result.values()]
    assert sorted([*rows, *change.added], key=lambda row: row["position"]) == new
    unchanged = {(tuple(path), text) for path, text in before} & {
        (tuple(path), text) for path, text in after
    }
    assert len(result) >= len(unchanged)


def test_batches_are_bounded_by_rows_and_by_text():
    rows = [wanted("A", text="x") for _ in range(1_001)]
    assert [batch.count('"title"') for batch in batches(rows)] == [500, 500, 1]
    large = [wanted("A", text="x" * 3_000_000) for _ in range(3)]
    assert len(list(batches(large))) == 3
    assert list(batches([])) == []


@pytest.mark.parametrize(
    ("outline", "shape"),
    [
        ([], []),
        ([[1, "a", 0], [2, "b", None], [2, "c", 1]], [("a", [("b", []), ("c", [])])]),
        ([[3, "a", 0], [1, "b", 1], [3, "c", 2]], [("a", []), ("b", [("c", [])])]),
    ],
)
def test_a_heading_stands_below_the_last_one_of_a_smaller_level(outline, shape):
    def told(headings) -> list[tuple[str, Any]]:
        return [(heading.title, told(heading.children)) for heading in headings]

    assert told(heading_tree(outline, {0: 10, 1: 11})) == shape
