"""What a model wants before a question and before a passage."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Prefixes:
    """`chosen` where a person set them: vectors made with others are not comparable."""

    query: str = ""
    passage: str = ""
    chosen: bool = False

    def put(self, text: str, kind: str) -> str:
        return (self.query if kind == "query" else self.passage) + text

    @property
    def mark(self) -> str:
        """What to add to a model's name: nothing for the model's own prefixes."""
        if not self.chosen:
            return ""
        return "#" + hashlib.sha256(f"{self.query}\0{self.passage}".encode()).hexdigest()[:8]


_E5_INSTRUCT = (
    "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery: "
)
# From the models' own cards; the first pattern that is in the name counts.
_KNOWN = (
    (r"e5.*instruct|qwen3-embedding", Prefixes(_E5_INSTRUCT)),
    (r"\be5\b|e5-(?:small|base|large)", Prefixes("query: ", "passage: ")),
    (r"nomic-embed", Prefixes("search_query: ", "search_document: ")),
    (r"embedding-?gemma", Prefixes("task: search result | query: ", "title: none | text: ")),
    (r"arctic-embed.*v?2", Prefixes("query: ")),
    (
        r"arctic-embed|mxbai-embed|bge-(?:small|base|large)-en",
        Prefixes("Represent this sentence for searching relevant passages: "),
    ),
)


def prefixes_of(model: str) -> Prefixes:
    """The prefixes of a model known by its name, empty ones for any other."""
    name = model.lower().replace("_", "-")
    return next((known for pattern, known in _KNOWN if re.search(pattern, name)), Prefixes())
