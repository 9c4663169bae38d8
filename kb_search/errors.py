"""Every error that kb_search raises, in one tree.

KbError
├── ConfigError        a setting is missing, malformed or out of bounds
├── QueryError         a call that cannot be carried out as it was made
├── SeedError          a seed file has a bad row (.path, .line)
├── EmbedderFailed     an embedder gives no vectors (.reason)
├── DocumentError      a file cannot be read as a document (.path, .reason)
├── NotFound           no entry has this id
├── NotOpen            the knowledge base is not open (or closed already)
└── DatabaseError      PostgreSQL said no (.sqlstate)
    ├── Unreachable        no connection could be made, or it broke
    ├── QueryTimeout       a statement took longer than the setting allows
    ├── SchemaMissing      the database lacks the schema `kb_search`
    └── ExtensionMissing   the database lacks an extension, or the right to create it

A class's docstring is its default message. The driver's own error, where there is one, is
kept as `__cause__`.
"""

from __future__ import annotations

import inspect
from pathlib import Path


class KbError(Exception):
    """Something went wrong in kb_search."""

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or inspect.cleandoc(type(self).__doc__ or ""))


class ConfigError(KbError):
    """A setting is missing, malformed or out of bounds."""


class QueryError(KbError):
    """The call cannot be carried out as it was made."""


class SeedError(KbError):
    """A seed file has a row that cannot be loaded."""

    def __init__(self, message: str, *, path: Path | str, line: int | None = None) -> None:
        self.path = Path(path)
        self.line = line
        self.reason = message
        where = f"{path}:{line}" if line is not None else f"{path}"
        super().__init__(f"{where}: {message}")


class EmbedderFailed(KbError):
    """The embedder gives no vectors: check KB_SEARCH_EMBEDDER and the service behind it."""

    # reason: `timeout`, `unavailable` or `bad answer`

    def __init__(self, message: str | None = None, *, reason: str = "unavailable") -> None:
        self.reason = reason
        super().__init__(message)


class DocumentError(KbError):
    """A file cannot be read as a document."""

    def __init__(self, reason: str, *, path: Path | str) -> None:
        self.path = Path(path)
        self.reason = reason
        super().__init__(f"{path}: {reason}")


class NotFound(KbError):
    """No entry has this id."""


class NotOpen(KbError):
    """The knowledge base is not open: use `async with KnowledgeBase.open() as kb`."""


class DatabaseError(KbError):
    """PostgreSQL refused the statement."""

    def __init__(self, message: str | None = None, *, sqlstate: str | None = None) -> None:
        self.sqlstate = sqlstate
        super().__init__(message)


class Unreachable(DatabaseError):
    """PostgreSQL cannot be reached: check that the server runs and that KB_SEARCH_DSN names it."""


class QueryTimeout(DatabaseError):
    """PostgreSQL did not answer in time (KB_SEARCH_TIMEOUT_S)."""


class SchemaMissing(DatabaseError):
    """The database has no schema kb_search (or an older one): run `kb-search init` once."""


class ExtensionMissing(DatabaseError):
    """An extension is missing and this role may not create it."""
