"""A LangChain retriever on an open knowledge base (extra `langchain`).

retriever = KnowledgeBaseRetriever(kb=kb, limit=4)
documents = await retriever.ainvoke("cuánto cobras por un proyecto")
"""

from __future__ import annotations

from typing import Any

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict, Field

from kb_search.knowledge_base import KnowledgeBase
from kb_search.models import Hit, Mode, SearchResult


class KnowledgeBaseRetriever(BaseRetriever):
    """Entries as documents, best first; only asynchronous, as the knowledge base is.

    `page_content` is the whole text of an entry; `metadata` says where it comes from and whether
    the search was `confident`, the same in every document. The fixed rows, which no question
    found, come where `with_fixed_rows`; their `score` is None.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    kb: KnowledgeBase
    collection: str | None = None
    section: str | None = None
    wanted_tags: list[str] | None = None
    limit: int | None = Field(default=None, ge=1, le=100)
    mode: Mode = "auto"
    with_fixed_rows: bool = False

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,  # noqa: ARG002 - as the base class calls it
    ) -> list[Document]:
        result = await self.kb.search(
            query,
            collection=self.collection,
            section=self.section,
            tags=self.wanted_tags,
            limit=self.limit,
            mode=self.mode,
        )
        return [
            _document(hit, result)
            for hit in result.hits
            if self.with_fixed_rows or hit.layer != "fallback"
        ]

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        raise NotImplementedError("kb_search is asynchronous: use ainvoke() or abatch()")


def _document(hit: Hit, result: SearchResult) -> Document:
    metadata: dict[str, Any] = {
        **hit.metadata,
        "collection": hit.collection,
        "section": hit.section,
        "title": hit.title,
        "tags": list(hit.tags),
        "source": hit.source,
        "document_id": hit.document_id,
        "heading_path": list(hit.heading_path),
        "score": hit.score,
        "layer": hit.layer,
        "snippet": hit.snippet,
        "confident": result.confident,
        "confidence": result.confidence,
    }
    return Document(id=str(hit.id), page_content=hit.content, metadata=metadata)
