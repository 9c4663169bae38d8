"""A question as typed, made safe: bounded, cleaned, split into words, joined by OR."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from kb_search.errors import QueryError

# A run of letters and digits with what belongs inside a word (Node.js, O'Brien, C++, c#, .NET,
# post-venta, info@ejemplo.es): the database's analysis takes it apart.
_TYPED = re.compile(r"\.?[^\W_]+(?:[-.'’＇@/+#_]*[^\W_]+)*(?:\+\+|#)?")  # noqa: RUF001 - as typed
_BLANKS = re.compile(r"\s+")
_WORD = re.compile(r"[^\W_]+")
# What no text may hold on its way to the server: NUL, and halves of surrogate pairs.
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
# Deep enough for any metadata; what holds itself would never end.
_MOST_NESTED = 200
_INVISIBLE = re.compile("[\u00ad\u200b-\u200d\u2060\ufeff]")


@dataclass(frozen=True)
class Question:
    """`text` is bounded and storable; `typed` are its words as typed, in order, with repeats."""

    text: str
    typed: tuple[str, ...]
    truncated: bool


def storable(text: str) -> str:
    """The text without what PostgreSQL cannot hold: NUL and lone surrogates.

    Raises:
        QueryError: it is no text.
    """
    if not isinstance(text, str):
        raise QueryError(f"a text is wanted, not {type(text).__name__}")
    return _UNSTORABLE.sub("", text)


def is_list_of_texts(values: object) -> bool:
    """Whether these are texts, and not one text, which is a list of texts too."""
    return (
        isinstance(values, Collection)  # what can be read twice, unlike a generator
        and not isinstance(values, str | bytes)
        and all(isinstance(value, str) for value in values)
    )


def storable_json(value: Any, *, depth: int = 0) -> Any:
    """The JSON value without what jsonb cannot hold.

    Raises:
        ValueError: it is nested too deeply, or holds itself.
    """
    if depth > _MOST_NESTED:
        raise ValueError(f"it is nested more than {_MOST_NESTED} deep")
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, Mapping):
        return {
            storable(str(key)): storable_json(item, depth=depth + 1) for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [storable_json(item, depth=depth + 1) for item in value]
    return value


def clean(text: str, *, max_chars: int) -> Question:
    """The question bounded to `max_chars` characters, cut between words where it has two."""
    bare = storable(text).strip()
    truncated = len(bare) > max_chars
    if truncated:
        cut = bare[:max_chars]
        head, blank, _ = cut.rpartition(" ")
        bare = head if blank else cut
    bare = _BLANKS.sub(" ", bare)
    return Question(bare, tuple(_TYPED.findall(bare)), truncated)


def fold(text: str) -> str:
    """Lower case, no accents, ñ kept: what kb_search.fold() of schema.sql gives for a word."""
    decomposed = unicodedata.normalize("NFKD", text).lower().replace("n\u0303", "ñ")
    bare = "".join(char for char in decomposed if not unicodedata.combining(char))
    return _INVISIBLE.sub("", bare)


def or_query(words: Iterable[str]) -> str:
    """The words joined by OR for `to_tsquery`; what is no letter or digit is dropped first.

    An empty string where no word is left: `to_tsquery('')` matches nothing.
    """
    bare = (part for word in words for part in _WORD.findall(word))
    return " | ".join(dict.fromkeys(bare))


def typed_forms(typed: Iterable[str]) -> dict[str, str]:
    """{folded word: as first typed}, also for the parts of a compound."""
    forms: dict[str, str] = {}
    for word in typed:
        folded = fold(word)
        pieces = _WORD.findall(folded)
        for key in ("".join(pieces), *pieces):
            forms.setdefault(key, word if key == folded else key)
        forms[folded] = forms.get(folded, word)
    return forms
