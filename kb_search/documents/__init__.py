"""Files to documents and their sections. This folder knows nothing of the database."""

from __future__ import annotations

from kb_search.documents.api_schema import operation_schema
from kb_search.documents.many import read_many
from kb_search.documents.model import Document, Section
from kb_search.documents.reading import MAX_BYTES, read_document
from kb_search.documents.sections import MAX_SECTION_CHARS
from kb_search.documents.walking import DEFAULT_IGNORE, Found, walk
from kb_search.errors import DocumentError

__all__ = [
    "DEFAULT_IGNORE",
    "MAX_BYTES",
    "MAX_SECTION_CHARS",
    "Document",
    "DocumentError",
    "Found",
    "Section",
    "operation_schema",
    "read_document",
    "read_many",
    "walk",
]
