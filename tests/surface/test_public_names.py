import kb_search
from kb_search import errors


def test_the_package_exports_exactly_its_public_names():
    assert sorted(kb_search.__all__) == [
        "ConfigError",
        "DatabaseError",
        "DocumentError",
        "EmbedderFailed",
        "Entry",
        "ExtensionMissing",
        "Hit",
        "KbError",
        "KnowledgeBase",
        "NotFound",
        "NotOpen",
        "QueryError",
        "QueryTimeout",
        "SchemaMissing",
        "SearchResult",
        "SeedError",
        "Settings",
        "Unreachable",
    ]


def test_every_exported_name_is_there():
    assert [name for name in kb_search.__all__ if not hasattr(kb_search, name)] == []


def test_every_error_is_exported_and_of_one_tree():
    of_the_tree = {
        name
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, errors.KbError)
    }
    assert of_the_tree == {
        name
        for name in kb_search.__all__
        if isinstance(getattr(kb_search, name), type)
        and issubclass(getattr(kb_search, name), Exception)
    }
