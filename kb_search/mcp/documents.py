"""Documents: their lists and their tables of contents, within access and budget."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from kb_search.errors import NotFound
from kb_search.mcp.access import Access
from kb_search.mcp.answers import (
    DocumentAnswer,
    DocumentLine,
    DocumentsAnswer,
    OutlineLine,
)
from kb_search.mcp.budget import cursor, fitting, label, labels, offset_of
from kb_search.models import DocumentInfo

if TYPE_CHECKING:
    from kb_search.ingest.values import Heading, StoredDocument
    from kb_search.knowledge_base import KnowledgeBase

_PAGE = 50
_OUTLINE_PAGE = 200
# The line that says how much is missing, and the quotation marks of the others in JSON.
_CUT_LINE_CHARS = 400


class DocumentReader:
    """Reads for one client after another; `max_chars` bounds every answer as JSON."""

    def __init__(self, kb: KnowledgeBase, *, max_chars: int) -> None:
        self.kb = kb
        self.max_chars = max_chars

    async def get_document(
        self, access: Access, document_id: int, *, given_cursor: str | None = None
    ) -> DocumentAnswer:
        """What is known of a document, and its headings from where the cursor says."""
        found = await self._document(access, document_id)
        call = ("get_document", document_id)
        headings = list(_flat(found.headings))
        offset = min(offset_of(given_cursor, *call), len(headings))
        lines = headings[offset : offset + _OUTLINE_PAGE]

        def build(shown: Sequence[OutlineLine]) -> DocumentAnswer:
            after = offset + len(shown)
            left = len(headings) - after
            return DocumentAnswer(
                id=found.id,
                title=label(found.title, 200),
                collection=access.name_of(found.collection, missing=""),
                source=label(found.source, 200),
                mime=label(found.mime, 100),
                tags=labels(found.tags, most=20, chars=60),
                summary=None if found.summary is None else label(found.summary, 600),
                sections=found.sections,
                outline=tuple(shown),
                omitted=left,
                next_cursor=cursor(after, *call) if left else None,
            )

        return fitting(lines, build, most=self.max_chars)

    async def list_documents(
        self,
        access: Access,
        *,
        collection: str | None,
        tags: Sequence[str],
        title: str | None,
        given_cursor: str | None,
    ) -> DocumentsAnswer:
        """A page of documents, by id."""
        name = access.named(collection)
        call = ("list_documents", name, tags, title)
        found = await self.kb.list_documents(
            collection=access.collections[name],
            tags=tags or None,
            title=title,
            after_id=offset_of(given_cursor, *call),
            limit=_PAGE + 1,
        )
        page = [_line(document) for document in found[:_PAGE]]

        def build(shown: Sequence[DocumentLine]) -> DocumentsAnswer:
            more = len(found) > len(shown)
            return DocumentsAnswer(
                collection=name,
                documents=tuple(shown),
                omitted=len(page) - len(shown),
                next_cursor=cursor(shown[-1].id, *call) if more and shown else None,
            )

        return fitting(page, build, most=self.max_chars)

    async def document_text(self, access: Access, document_id: int) -> str:
        """A document's table of contents as plain text, as much as fits."""
        answer = await self.get_document(access, document_id)
        lines = [
            f"{answer.title} ({answer.source})",
            *(
                f"{'  ' * min(line.level - 1, 6)}- {line.title}"
                + ("" if line.id is None else f": kb-search://section/{line.id}")
                for line in answer.outline
            ),
        ]
        if answer.summary:
            lines.insert(1, answer.summary)
        omitted = answer.omitted
        most = self.max_chars - _CUT_LINE_CHARS
        # Each line break takes two characters in JSON.
        while len(lines) > 1 and sum(len(line) + 2 for line in lines) > most:
            lines.pop()
            omitted += 1
        if omitted:
            lines.append(f"[Faltan {omitted} apartados: pídelos con get_document.]")
        return "\n".join(lines)

    async def _document(self, access: Access, document_id: int) -> StoredDocument:
        """A document that this client may read.

        Raises:
            NotFound: there is none, or it is not this client's: the message is the same.
        """
        missing = (
            f"no hay ningún documento con el id {document_id}; usa un «id» de list_documents o un"
            " «document_id» de search"
        )
        try:
            found = await self.kb.get_document(document_id, with_text=False)
        except NotFound:
            raise NotFound(missing) from None
        access.name_of(found.collection, missing=missing)
        return found


def _line(document: DocumentInfo) -> DocumentLine:
    return DocumentLine(
        id=document.id,
        title=label(document.title, 200),
        source=label(document.source, 200),
        tags=labels(document.tags, most=10, chars=60),
        sections=document.sections,
    )


def _flat(headings: Sequence[Heading]) -> Iterator[OutlineLine]:
    """The headings in the order of the file."""
    waiting = [(1, heading) for heading in reversed(headings)]
    while waiting:
        level, heading = waiting.pop()
        yield OutlineLine(id=heading.section_id, level=level, title=label(heading.title, 160))
        waiting += [(level + 1, child) for child in reversed(heading.children)]
