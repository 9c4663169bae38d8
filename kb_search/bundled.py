"""The files that ship with the package: `schema.sql`, the sample seeds, the rules for agents.

A wheel carries them inside `kb_search/`; in an editable install they lie beside the package.
"""

from __future__ import annotations

from pathlib import Path

from kb_search.errors import ConfigError, QueryError

SEED_SUFFIXES = (".sql", ".jsonl", ".csv", ".yaml", ".yml")

_PACKAGE = Path(__file__).resolve().parent


def _shipped(name: str) -> Path:
    for folder in (_PACKAGE, _PACKAGE.parent, _PACKAGE.parent / "docs"):
        path = folder / name
        if path.exists():
            return path
    raise ConfigError(f"kb_search is installed without its {name}: install it again")


def schema_sql() -> str:
    """The text of `schema.sql`.

    Raises:
        ConfigError: the installation lacks the file.
    """
    return _shipped("schema.sql").read_text(encoding="utf-8")


def agent_rules() -> str:
    """The rules for an agent (`docs/skill.md`), in Spanish, without their header.

    Raises:
        ConfigError: the installation lacks the file.
    """
    text = _shipped("skill.md").read_text(encoding="utf-8")
    _, _, body = text.removeprefix("---\n").partition("\n---\n")
    return body.strip()


def _seeds() -> dict[str, Path]:
    files = sorted(_shipped("seed").iterdir())
    return {path.stem: path for path in files if path.suffix in SEED_SUFFIXES}


def bundled_seed_names() -> tuple[str, ...]:
    """The names of the sample seeds, sorted.

    Raises:
        ConfigError: the installation lacks the folder.
    """
    return tuple(_seeds())


def bundled_seed(name: str) -> Path:
    """The file of one sample seed.

    Raises:
        ConfigError: the installation lacks the folder.
        QueryError: no sample has this name.
    """
    seeds = _seeds()
    if name not in seeds:
        raise QueryError(f"no sample is called {name!r}: there are {', '.join(seeds)}")
    return seeds[name]
