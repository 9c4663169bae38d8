"""What a search is asked for, with every argument checked."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, get_args

from kb_search import web_syntax
from kb_search.errors import QueryError
from kb_search.ids import storable_ids
from kb_search.layers import fts
from kb_search.models import Mode, Syntax
from kb_search.words import Question, clean, is_list_of_texts, or_query, storable, storable_json

if TYPE_CHECKING:
    from kb_search.settings import Settings


@dataclass(frozen=True)
class SearchRequest:
    """A search with every argument checked."""

    question: Question
    query: str
    collection: str
    filters: fts.Filters
    limit: int
    mode: Mode
    syntax: Syntax
    explain: bool
    settings: Settings

    @classmethod
    def checked(
        cls,
        text: str,
        *,
        settings: Settings,
        collection: str | None,
        section: str | None,
        tags: Sequence[str] | None,
        metadata: Mapping[str, Any] | None,
        limit: int | None,
        mode: Mode,
        syntax: Syntax,
        explain: bool,
        documents: Sequence[int] | None = None,
        one_per_document: bool = False,
    ) -> SearchRequest:
        """The request, with the settings in place of what is None.

        Raises:
            QueryError: an argument has the wrong type or is out of bounds.
        """
        if not isinstance(text, str):
            raise QueryError(f"the question must be a text, not {type(text).__name__}")
        name = collection_name(settings.collection if collection is None else collection)
        rows = settings.limit if limit is None else limit
        if isinstance(rows, bool) or not isinstance(rows, int) or not 1 <= rows <= 100:
            raise QueryError("limit must be a whole number from 1 to 100")
        if mode not in get_args(Mode):
            raise QueryError(f"mode must be one of {', '.join(get_args(Mode))}")
        if syntax not in get_args(Syntax):
            raise QueryError(f"syntax must be one of {', '.join(get_args(Syntax))}")
        question = clean(text, max_chars=settings.max_question_chars)
        filters = replace(
            _filters(section, tags, metadata),
            documents=_documents(documents),
            one_per_document=bool(one_per_document),
        )
        if syntax == "web":
            words, operators = web_syntax.parse(question.text)
            question = replace(question, text=words)
            filters = replace(filters, demands=_demands(operators))
        return cls(
            question=question,
            query=text,
            collection=name,
            filters=filters,
            limit=rows,
            mode=mode,
            syntax=syntax,
            explain=explain,
            settings=settings,
        )


def collection_name(name: str) -> str:
    """The name without what PostgreSQL cannot hold.

    Raises:
        QueryError: it is no text of 1 to 200 characters.
    """
    bare = storable(name) if isinstance(name, str) else ""
    if not 1 <= len(bare) <= 200:
        raise QueryError("a collection's name has 1 to 200 characters")
    return bare


def _filters(
    section: str | None, tags: Sequence[str] | None, metadata: Mapping[str, Any] | None
) -> fts.Filters:
    if section is not None and not isinstance(section, str):
        raise QueryError("section must be a text")
    if tags is not None and not is_list_of_texts(tags):
        raise QueryError("tags must be a list of texts")
    if metadata is not None and not isinstance(metadata, Mapping):
        raise QueryError("metadata must be an object")
    try:
        as_json = None if metadata is None else json.dumps(storable_json(metadata), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise QueryError(f"metadata is not JSON: {error}") from None
    return fts.Filters(
        section=None if section is None else storable(section),
        tags=tuple(storable(tag) for tag in tags) if tags else None,
        metadata=as_json,
    )


def _documents(documents: Sequence[int] | None) -> tuple[int, ...] | None:
    if documents is None:
        return None
    return tuple(storable_ids(documents, name="documents"))


def _demands(operators: web_syntax.Operators) -> str | None:
    """What the operators demand, as the statement `ranked_entries` takes it."""
    demands = [
        {"wanted": True, "words": or_query(group.words), "phrases": group.phrases}
        for group in operators.groups
    ]
    if operators.without_words or operators.without_phrases:
        demands.append(
            {
                "wanted": False,
                "words": or_query(operators.without_words),
                "phrases": operators.without_phrases,
            }
        )
    return json.dumps(demands) if demands else None
