from __future__ import annotations

import json
from typing import Any

import pytest

from kb_search.errors import DatabaseError, QueryError, SeedError
from kb_search.seeds.load import _Load


def seed_file(folder, count: int, name: str = "a.jsonl") -> Any:
    path = folder / name
    rows = ({"section": "a", "title": f"{name} {n}", "content": "texto"} for n in range(count))
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


async def test_progress_counts_entries_and_statements_up_to_their_number(kb, tmp_path):
    script = tmp_path / "b.sql"
    script.write_text("SELECT 1; SELECT 2;")
    told = []
    report = await kb.seed(
        seed_file(tmp_path, 1200),
        script,
        str(seed_file(tmp_path, 3, "c.jsonl")),
        on_progress=lambda *at: told.append(at),
    )
    assert told == [
        (500, 1205),
        (1000, 1205),
        (1200, 1205),
        (1201, 1205),
        (1202, 1205),
        (1205, 1205),
    ]
    assert (report.files, report.added, report.statements) == (3, 1203, 2)


async def test_entries_keep_the_order_of_their_files(kb, tmp_path):
    await kb.seed(seed_file(tmp_path, 3, "b.jsonl"), seed_file(tmp_path, 3, "a.jsonl"))
    titles = [entry.title for entry in await kb.entries()]
    assert titles == [f"{name}.jsonl {n}" for name in "ba" for n in range(3)]


@pytest.fixture
def failures(monkeypatch) -> list[DatabaseError]:
    """Errors that the next loads end with, after they have written everything."""
    run = _Load.run
    left: list[DatabaseError] = []

    async def fail_at_first(self, connection):
        report = await run(self, connection)
        if left:
            raise left.pop()
        return report

    monkeypatch.setattr(_Load, "run", fail_at_first)
    return left


async def test_a_deadlock_is_tried_again(kb, tmp_path, failures):
    failures += [DatabaseError(sqlstate="40P01")] * 2
    assert (await kb.seed(seed_file(tmp_path, 2))).added == 2


@pytest.mark.parametrize(("count", "state"), [(3, "40P01"), (1, "53100")])
async def test_other_errors_and_a_third_deadlock_undo_everything(
    kb, tmp_path, failures, count, state
):
    failures += [DatabaseError(sqlstate=state)] * count
    with pytest.raises(DatabaseError) as caught:
        await kb.seed(seed_file(tmp_path, 2))
    assert caught.value.sqlstate == state
    assert await kb.entries() == []


async def test_no_file_at_all_is_an_error(kb):
    with pytest.raises(QueryError, match="at least one seed file"):
        await kb.seed()


async def test_a_statement_without_the_right_is_not_blamed_on_the_file(kb, admin, tmp_path):
    path = tmp_path / "a.sql"
    path.write_text("SET LOCAL ROLE pg_read_all_data; CREATE TABLE kb_search.nada (a int);")
    with pytest.raises(DatabaseError, match="lacks a right") as caught:
        await kb.seed(path)
    assert caught.value.sqlstate == "42501"


async def test_the_driver_s_error_is_the_cause_of_a_seed_error(kb, tmp_path):
    path = tmp_path / "a.sql"
    path.write_text("SELECT 1/0;")
    with pytest.raises(SeedError) as caught:
        await kb.seed(path)
    assert caught.value.__cause__ is not None
    assert "division by zero" in str(caught.value.__cause__)
