"""Spanish knowledge-base search on nothing but PostgreSQL."""

from kb_search.errors import (
    ConfigError,
    DatabaseError,
    DocumentError,
    EmbedderFailed,
    ExtensionMissing,
    KbError,
    NotFound,
    NotOpen,
    QueryError,
    QueryTimeout,
    SchemaMissing,
    SeedError,
    Unreachable,
)
from kb_search.knowledge_base import KnowledgeBase
from kb_search.models import Entry, Hit, SearchResult
from kb_search.settings import Settings

__all__ = [
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
