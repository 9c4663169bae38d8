"""The engines that are measured: kb_search by its public search, and what people use instead."""

from __future__ import annotations

import asyncio
import re
import secrets
import time
from collections.abc import Collection, Sequence
from typing import Protocol

import asyncpg
import bm25s
import Stemmer
import tantivy

from kb_search import Entry, KnowledgeBase
from kb_search.evaluation.folder import Question
from kb_search.evaluation.measures import Outcome
from kb_search.evaluation.run import first_right

# As deep as the deepest measure, MRR@10.
DEPTH = 10
_BATCH = 500
# Questions asked at once: enough to keep the server busy, and no time is measured here.
_AT_ONCE = 3


class Engine(Protocol):
    """One way to search: load entries, ask, throw away; `name` heads its column.

    `judges` tells whether its outcomes say something by `confident`.
    """

    name: str
    judges: bool

    async def load(self, entries: Sequence[Entry]) -> None: ...

    async def ask(self, questions: Sequence[Question]) -> list[Outcome]: ...

    async def drop(self) -> None: ...


# What autovacuum does within a minute; the answers are the same without it, only later.
_ANALYZE = "ANALYZE kb_search.entry, kb_search.stem_count, kb_search.word_count"


class KbSearch:
    """The public search with its defaults, by words alone."""

    name = "kb_search"
    judges = True

    def __init__(self, kb: KnowledgeBase) -> None:
        self.kb = kb
        self.collection = f"benchmark-quality-{secrets.token_hex(6)}"

    async def load(self, entries: Sequence[Entry]) -> None:
        for first in range(0, len(entries), _BATCH):
            await self.kb.add(entries[first : first + _BATCH], collection=self.collection)
        await self.kb.pool.execute(_ANALYZE)

    async def ask(self, questions: Sequence[Question]) -> list[Outcome]:
        turn = asyncio.Semaphore(_AT_ONCE)

        async def one(question: Question) -> Outcome:
            async with turn:
                began = time.perf_counter()
                result = await self.kb.search(
                    question.text, collection=self.collection, limit=DEPTH, mode="lexical"
                )
                return Outcome(
                    rank=first_right(result, question.right),
                    layer=result.layer,
                    confident=result.confident,
                    confidence=result.confidence,
                    took_ms=(time.perf_counter() - began) * 1000,
                )

        return await asyncio.gather(*(one(question) for question in questions))

    async def drop(self) -> None:
        await self.kb.remove(collection=self.collection)


# The recipe stores nothing; keeping the vector in a temporary table changes no answer, only the
# hours that 2,000 paragraphs would take.
_RECIPE_TABLE = """
CREATE TEMPORARY TABLE recipe (nr integer, source text, text text, lexemes tsvector)"""
_RECIPE_INSERT = """
INSERT INTO recipe SELECT $1::integer, $2::text, $3::text, pg_catalog.to_tsvector('spanish', $3)"""
_RECIPE_PATH = """
SELECT pg_catalog.set_config('search_path', pg_catalog.quote_ident(n.nspname), false)
FROM pg_catalog.pg_extension AS e JOIN pg_catalog.pg_namespace AS n ON n.oid = e.extnamespace
WHERE e.extname = 'pg_trgm'"""
_RECIPE_WORDS = """
WITH asked AS MATERIALIZED (SELECT pg_catalog.to_tsquery('spanish', $1) AS query)
SELECT source FROM recipe, asked WHERE lexemes @@ query
ORDER BY pg_catalog.ts_rank(lexemes, query) DESC, nr LIMIT $2"""
_RECIPE_SIMILAR = """
SELECT source FROM recipe WHERE word_similarity($1, text) >= 0.2
ORDER BY word_similarity($1, text) DESC, nr LIMIT $2"""


class UsualRecipe:
    """What is copied from page to page: OR-joined words, `ts_rank`, then `word_similarity`.

    Words of three letters or more; where nothing is found come the fixed rows, which counts as an
    answer that is not confident.
    """

    name = "usual recipe"
    judges = True

    def __init__(self, kb: KnowledgeBase) -> None:
        self.kb = kb
        self.connection: asyncpg.pool.PoolConnectionProxy[asyncpg.Record] | None = None

    async def load(self, entries: Sequence[Entry]) -> None:
        self.connection = await self.kb.pool.acquire()
        await self.connection.execute(_RECIPE_TABLE)
        await self.connection.fetchval(_RECIPE_PATH)
        rows = [(nr, entry.source, _text(entry)) for nr, entry in enumerate(entries)]
        await self.connection.executemany(_RECIPE_INSERT, rows)
        await self.connection.execute("ANALYZE recipe")

    async def ask(self, questions: Sequence[Question]) -> list[Outcome]:
        return [_outcome(await self._found(q.text), q.right) for q in questions]

    async def _found(self, text: str) -> list[str]:
        assert self.connection is not None
        words = [word for word in _words(text) if len(word) >= 3]
        found = (
            await self.connection.fetch(_RECIPE_WORDS, " | ".join(words), DEPTH) if words else []
        ) or await self.connection.fetch(_RECIPE_SIMILAR, text, DEPTH)
        return [record["source"] for record in found]

    async def drop(self) -> None:
        if self.connection is not None:
            await self.connection.execute("DROP TABLE IF EXISTS recipe")
            await self.kb.pool.release(self.connection)
            self.connection = None


class Bm25s:
    """BM25 in numpy with its defaults, its Spanish stop words and PyStemmer's Spanish stemmer."""

    name = "bm25s"
    judges = False

    async def load(self, entries: Sequence[Entry]) -> None:
        self.stemmer = Stemmer.Stemmer("spanish")
        self.sources = [str(entry.source) for entry in entries]
        self.index = bm25s.BM25()
        self.index.index(self._tokens([_text(entry) for entry in entries]), show_progress=False)

    async def ask(self, questions: Sequence[Question]) -> list[Outcome]:
        found, scores = self.index.retrieve(
            self._tokens([question.text for question in questions]),
            k=min(DEPTH, len(self.sources)),
            show_progress=False,
        )
        return [
            _outcome([self.sources[nr] for nr, score in zip(*row, strict=True) if score > 0], right)
            for row, right in zip(
                zip(found, scores, strict=True), (q.right for q in questions), strict=True
            )
        ]

    def _tokens(self, texts: list[str]) -> bm25s.tokenization.Tokenized:
        return bm25s.tokenize(texts, stopwords="es", stemmer=self.stemmer, show_progress=False)

    async def drop(self) -> None:
        del self.index


class Tantivy:
    """Tantivy in this process: title, aliases and content as fields, the first two at twice the
    weight; its Spanish stemmer, accents taken off after it.
    """

    name = "tantivy"
    judges = False
    _weights = {"title": 2.0, "aliases": 2.0, "content": 1.0}  # noqa: RUF012 - read only

    async def load(self, entries: Sequence[Entry]) -> None:
        schema = tantivy.SchemaBuilder()
        schema.add_text_field("source", stored=True, tokenizer_name="raw")
        for field in self._weights:
            schema.add_text_field(field, tokenizer_name="spanish")
        self.index = tantivy.Index(schema.build())
        analysis = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
        for step in (
            tantivy.Filter.lowercase(),
            tantivy.Filter.stemmer("spanish"),
            tantivy.Filter.ascii_fold(),
        ):
            analysis = analysis.filter(step)
        self.index.register_tokenizer("spanish", analysis.build())
        writer = self.index.writer(num_threads=1)
        for entry in entries:
            writer.add_document(
                tantivy.Document(
                    source=str(entry.source),
                    title=entry.title,
                    aliases=list(entry.aliases),
                    content=entry.content,
                )
            )
        writer.commit()
        self.index.reload()

    async def ask(self, questions: Sequence[Question]) -> list[Outcome]:
        searcher = self.index.searcher()
        outcomes = []
        for question in questions:
            query, _ = self.index.parse_query_lenient(
                " ".join(_words(question.text)),
                list(self._weights),
                field_boosts=self._weights,
            )
            hits = searcher.search(query, DEPTH).hits
            found = [str(searcher.doc(address)["source"][0]) for _, address in hits]
            outcomes.append(_outcome(found, question.right))
        return outcomes

    async def drop(self) -> None:
        del self.index


def _text(entry: Entry) -> str:
    return " ".join((entry.title, *entry.aliases, entry.content))


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.lower())


def _outcome(found: Sequence[str], right: Collection[str]) -> Outcome:
    rank = next((rank for rank, source in enumerate(found, start=1) if source in right), None)
    return Outcome(
        rank=rank,
        layer="fts" if found else "fallback",
        confident=bool(found),
        confidence=0.0,
        took_ms=0.0,
    )
