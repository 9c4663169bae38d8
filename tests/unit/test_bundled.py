from __future__ import annotations

import pytest

from kb_search.bundled import agent_rules, bundled_seed, bundled_seed_names, schema_sql
from kb_search.errors import QueryError
from kb_search.seeds.files import read_seed


def test_the_schema_ships_with_the_package():
    assert "CREATE TABLE IF NOT EXISTS kb_search.entry" in schema_sql()


def test_the_rules_for_agents_ship_with_the_package_without_their_header():
    rules = agent_rules()
    assert rules.startswith("# ")
    for rule in ("search", "cite", "confident", "get_section", "Nunca de la nada"):
        assert rule in rules


def test_every_sample_can_be_read():
    assert {"portfolio", "tienda"} <= set(bundled_seed_names())
    for name in bundled_seed_names():
        seed = read_seed(bundled_seed(name))
        assert seed.entries or seed.statements


def test_an_unknown_sample_names_those_that_there_are():
    with pytest.raises(QueryError, match="portfolio"):
        bundled_seed("nada")
