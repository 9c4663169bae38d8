from __future__ import annotations

from pathlib import Path

import pytest

from kb_search import ConfigError
from kb_search.settings import Settings, changed_settings, load_settings


def test_without_anything_set_the_defaults_hold(clean_environment):
    settings = load_settings()
    assert settings.dsn is None
    assert (settings.collection, settings.limit) == ("default", 4)
    assert settings.fallback_sections == ("identidad", "skills")
    assert settings.fallback_limit == 10


def test_the_environment_is_read(clean_environment, monkeypatch):
    monkeypatch.setenv("KB_SEARCH_LIMIT", "7")
    monkeypatch.setenv("KB_SEARCH_FALLBACK_SECTIONS", " contacto , tarifas,")
    monkeypatch.setenv("KB_SEARCH_DATA_DIR", "/somewhere")
    settings = load_settings()
    assert settings.limit == 7
    assert settings.fallback_sections == ("contacto", "tarifas")
    assert settings.data_dir == Path("/somewhere")


def test_a_file_in_the_working_folder_is_read_after_the_environment(clean_environment, monkeypatch):
    (clean_environment / ".env").write_text("KB_SEARCH_LIMIT=9\nKB_SEARCH_COLLECTION=tienda\nX=1\n")
    monkeypatch.setenv("KB_SEARCH_LIMIT", "7")
    settings = load_settings()
    assert (settings.limit, settings.collection) == (7, "tienda")


def test_arguments_go_before_the_environment_and_none_is_left_out(clean_environment, monkeypatch):
    monkeypatch.setenv("KB_SEARCH_LIMIT", "7")
    assert load_settings(limit=2).limit == 2
    assert load_settings(limit=None).limit == 7


def test_a_change_of_settings_lets_the_environment_fill_nothing_in(clean_environment, monkeypatch):
    embedded = load_settings(limit=7)
    monkeypatch.setenv("KB_SEARCH_DSN", "postgresql://me@elsewhere/db")
    changed = changed_settings(embedded, collection="tienda", dsn=None)
    assert (changed.dsn, changed.limit, changed.collection) == (None, 7, "tienda")
    assert changed_settings(embedded, collection=None) is embedded
    with pytest.raises(ConfigError, match="KB_SEARCH_COLLECTION: "):
        changed_settings(embedded, collection="x" * 201)


def test_an_empty_variable_counts_as_unset(clean_environment, monkeypatch):
    monkeypatch.setenv("KB_SEARCH_LIMIT", "")
    monkeypatch.setenv("KB_SEARCH_DSN", " ")
    assert load_settings().limit == 4
    assert load_settings().dsn is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("LIMIT", "0"),
        ("LIMIT", "101"),
        ("LIMIT", "many"),
        ("COLLECTION", "x" * 201),
        ("MIN_CONFIDENCE", "1.5"),
        ("TIMEOUT_S", "0"),
        ("POOL_MAX_SIZE", "0"),
        ("SNIPPET_CHARS", "79"),
        ("STATEMENT_CACHE_SIZE", "-1"),
    ],
)
def test_a_value_out_of_bounds_is_named_by_its_variable(
    clean_environment, monkeypatch, name, value
):
    monkeypatch.setenv(f"KB_SEARCH_{name}", value)
    with pytest.raises(ConfigError, match=f"KB_SEARCH_{name}: "):
        load_settings()


def test_every_bad_value_is_named_at_once(clean_environment, monkeypatch):
    monkeypatch.setenv("KB_SEARCH_LIMIT", "0")
    monkeypatch.setenv("KB_SEARCH_TIMEOUT_S", "0")
    with pytest.raises(ConfigError, match=r"KB_SEARCH_LIMIT.*KB_SEARCH_TIMEOUT_S"):
        load_settings()


def test_the_dsn_is_kept_verbatim_and_shown_to_nobody(clean_environment, monkeypatch):
    dsn = "postgresql://me:s%2Fecreto@a,b:5433/db?target_session_attrs=any&x=%20"
    monkeypatch.setenv("KB_SEARCH_DSN", dsn)
    settings = load_settings()
    assert settings.dsn is not None
    assert settings.dsn.get_secret_value() == dsn
    assert "ecreto" not in repr(settings) + str(settings)


def test_a_bad_setting_beside_a_dsn_does_not_tell_it(clean_environment, monkeypatch):
    monkeypatch.setenv("KB_SEARCH_DSN", "postgresql://me:secreto@a/b")
    monkeypatch.setenv("KB_SEARCH_LIMIT", "0")
    with pytest.raises(ConfigError) as caught:
        load_settings()
    assert "secreto" not in str(caught.value)


def test_every_setting_has_a_description_and_every_number_bounds():
    for name, field in Settings.model_fields.items():
        assert field.description, name
        if field.annotation in {int, float}:
            kinds = {type(bound).__name__ for bound in field.metadata}
            assert kinds & {"Ge", "Gt"}, name
            assert "Le" in kinds, name


@pytest.mark.parametrize("name", ["tagger_url", "embedder_url"])
@pytest.mark.parametrize(
    "address", ["host:80", "ftp://host/v1", "http:///v1", "http://host:abc", "http://u:secret@h:1z"]
)
def test_what_is_no_http_address_is_refused_and_not_shown(name, address):
    with pytest.raises(ConfigError, match=f"KB_SEARCH_{name.upper()}: must be") as refused:
        load_settings(**{name: address})
    assert "secret" not in str(refused.value)
