import pytest

from kb_search import KnowledgeBase
from tests.semantic.fakes import TopicEmbedder


@pytest.fixture
def embedder():
    return TopicEmbedder()


@pytest.fixture
async def kb(dsn, collection, embedder):
    """A knowledge base whose embedder is the test's."""
    async with with_embedder(dsn, collection, embedder) as opened:
        yield opened
        await opened.remove(collection=collection)
        await opened.meaning.forget_collection(collection)


def with_embedder(dsn, collection, embedder, **settings):
    return _Opened(dsn, collection, embedder, settings)


class _Opened:
    def __init__(self, dsn, collection, embedder, settings):
        from kb_search.settings import load_settings

        self.kb = KnowledgeBase.open(
            load_settings(dsn=dsn, collection=collection, embedder="none", **settings)
        )
        self.embedder = embedder

    async def __aenter__(self):
        kb = await self.kb.__aenter__()
        kb.meaning._name = "test"
        kb.meaning._embedder = self.embedder
        return kb

    async def __aexit__(self, *error):
        await self.kb.close()
