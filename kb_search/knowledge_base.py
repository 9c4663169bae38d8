"""The facade: everything that an application does with a knowledge base."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from kb_search import entries as _entries
from kb_search import questions as _questions
from kb_search import schema
from kb_search.database import Database
from kb_search.errors import ConfigError, NotOpen, QueryError
from kb_search.ingest import library
from kb_search.ingest.values import CorpusStats, IngestReport, SectionView, StoredDocument
from kb_search.models import (
    Check,
    CollectionStats,
    DocumentInfo,
    Entry,
    Mode,
    RebuildReport,
    SearchResult,
    StoredEntry,
    Synonym,
    Syntax,
    UnansweredGroup,
    WriteReport,
)
from kb_search.questions import QuestionLog
from kb_search.request import SearchRequest, collection_name
from kb_search.search import run_search
from kb_search.seeds.load import SeedReport, load_seeds
from kb_search.semantic import EmbedReport, Meaning
from kb_search.settings import Settings, changed_settings, load_settings

if TYPE_CHECKING:
    import asyncpg

    from kb_search.servers import EmbeddedServer


@contextmanager
def _extra_documents() -> Iterator[None]:
    try:
        yield
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"documents need the package {error.name}: pip install 'kb-search[documents]'"
        ) from error


def _collection_or_all(name: str | None) -> str | None:
    return None if name is None else collection_name(name)


class KnowledgeBase:
    """Curated entries in PostgreSQL, and the search over them.

    Use it as `async with KnowledgeBase.open() as kb`. Calls may run at once; each takes a
    connection of the pool for as long as it needs one.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._database: Database | None = None
        self._server: EmbeddedServer | None = None
        self._question_log: QuestionLog | None = None
        self._meaning: Meaning | None = None

    @classmethod
    def open(
        cls,
        settings: Settings | None = None,
        *,
        dsn: str | None = None,
        collection: str | None = None,
    ) -> KnowledgeBase:
        """A knowledge base that opens when it is entered (`async with`).

        Without `settings` they are read from KB_SEARCH_*; `dsn` and `collection` go before them.
        Without any DSN it runs on the embedded server, whose schema is applied at opening.

        Raises:
            ConfigError: a setting is malformed.
            Unreachable: (on entering) the embedded server cannot be started.
        """
        changes = {"dsn": dsn, "collection": collection}
        if settings is None:
            return cls(load_settings(**changes))
        return cls(changed_settings(settings, **changes))

    async def __aenter__(self) -> Self:
        if self._database is not None:
            raise QueryError("this knowledge base is open already")
        dsn = self.settings.dsn
        if dsn is not None:
            self._database = await Database.connect(dsn.get_secret_value(), self.settings)
            self._start_worker()
            return self
        from kb_search.servers import open_embedded_server

        self._server = await open_embedded_server(self.settings.data_dir)
        try:
            self._database = await Database.connect(self._server.dsn, self.settings)
            async with self._database.connection() as connection:
                await schema.ensure_schema(connection)
            self._start_worker()
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the connections, then leaves the embedded server; closing twice does no harm."""
        parts = (self._server, self._database, self._meaning, self._question_log)
        self._server = self._database = self._meaning = self._question_log = None
        async with AsyncExitStack() as stack:  # the last first, and each whatever happens
            for part in parts:
                if part is not None:
                    stack.push_async_callback(part.close)

    @property
    def database(self) -> Database:
        """The pool behind the error boundary.

        Raises:
            NotOpen: before entering and after closing.
        """
        if self._database is None:
            raise NotOpen
        return self._database

    @property
    def meaning(self) -> Meaning:
        """The semantic part; it loads no model before it needs one.

        Raises:
            NotOpen: before entering and after closing.
        """
        if self._meaning is None:
            self._meaning = Meaning(self.database, self.settings)
        return self._meaning

    def _start_worker(self) -> None:
        if self.settings.embed_worker:
            self.meaning.start_worker()

    @property
    def pool(self) -> asyncpg.Pool[asyncpg.Record]:
        """The asyncpg pool, for statements of your own; the driver's errors are not translated."""
        return self.database.pool

    async def search(
        self,
        text: str,
        *,
        collection: str | None = None,
        section: str | None = None,
        tags: Sequence[str] | None = None,
        metadata: Mapping[str, Any] | None = None,
        limit: int | None = None,
        mode: Mode = "auto",
        syntax: Syntax = "plain",
        explain: bool = False,
        documents: Sequence[int] | None = None,
        one_per_document: bool = False,
    ) -> SearchResult:
        """The entries that answer a question, best first, the fixed rows behind weak evidence.

        Shape: at most `limit` hits (None: the setting), then at most `fallback_limit` fixed rows;
        an entry is there once. An unknown collection is an empty one. `documents` (ids) leaves
        their sections only, `one_per_document` the best section of each.

        Raises:
            QueryError: an argument has the wrong type or is out of bounds.
            SchemaMissing: the database was never initialised.
            QueryTimeout, Unreachable: PostgreSQL is slow or gone.
        """
        request = SearchRequest.checked(
            text,
            settings=self.settings,
            collection=collection,
            section=section,
            tags=tags,
            metadata=metadata,
            limit=limit,
            mode=mode,
            syntax=syntax,
            explain=explain,
            documents=documents,
            one_per_document=one_per_document,
        )
        result = await run_search(self.database, request, self.meaning)
        if self.settings.question_log != "none":
            if self._question_log is None:
                self._question_log = QuestionLog(self.database, self.settings)
            self._question_log.note(result, collection=request.collection)
        return result

    async def add(self, entries: Sequence[Entry], *, collection: str | None = None) -> list[int]:
        """Adds entries, or updates those of the same section and title where they differ.

        Shape: the ids, in the order given. All or nothing; an equal entry stays untouched; of the
        same section and title twice the last wins and both get its id.

        Raises:
            QueryError: an entry has neither title nor content.
            DatabaseError: PostgreSQL refuses the write.
        """
        return list((await self.write(entries, collection=collection)).ids)

    async def write(
        self, entries: Sequence[Entry], *, collection: str | None = None
    ) -> WriteReport:
        """As `add`, with the counts of rows added, updated and unchanged."""
        return await _entries.add_entries(
            self.database, entries, collection=self._collection(collection)
        )

    async def get(self, entry_id: int) -> StoredEntry:
        """The entry with this id.

        Raises:
            NotFound: there is none.
        """
        return await _entries.get_entry(self.database, entry_id)

    async def entries(
        self,
        *,
        collection: str | None = None,
        section: str | None = None,
        after_id: int | None = None,
        limit: int | None = None,
    ) -> list[StoredEntry]:
        """Entries by id, those after `after_id`, at most `limit` (None: all)."""
        return await _entries.list_entries(
            self.database,
            collection=self._collection(collection),
            section=section,
            after_id=after_id,
            limit=limit,
        )

    async def remove(
        self,
        *,
        ids: Sequence[int] | None = None,
        section: str | None = None,
        document: int | None = None,
        collection: str | None = None,
    ) -> int:
        """Removes the entries that meet every condition; returns how many are gone.

        A collection named alone is emptied.

        Raises:
            QueryError: no condition is given.
        """
        return await _entries.remove_entries(
            self.database,
            ids=ids,
            section=section,
            document=document,
            collection=_collection_or_all(collection),
            default_collection=self.settings.collection,
        )

    async def seed(
        self,
        *paths: Path | str,
        collection: str | None = None,
        on_progress: Callable[[int, int], None] | None = None,
    ) -> SeedReport:
        """Loads seed files (.sql, .jsonl, .csv, .yaml), all or nothing.

        `on_progress` is told (done, total) in entries and statements.

        Raises:
            SeedError: a file or a row of it cannot be loaded (.path, .line).
        """
        return await load_seeds(
            self.database,
            [Path(path) for path in paths],
            collection=self._collection(collection),
            sql_allowed=collection is None,
            on_progress=on_progress,
        )

    async def ingest(
        self,
        *paths: Path | str,
        collection: str | None = None,
        prune: bool = False,
        dry_run: bool = False,
        ignore: Sequence[str] = (),
        retag: bool = False,
        on_progress: Callable[[int, int], None] | None = None,
    ) -> IngestReport:
        """Takes in files and folders: a section of a document becomes an entry.

        A file that is kept already and has not changed is skipped; `prune` removes the documents
        below the paths whose files are gone; `dry_run` reads and writes nothing; `ignore` are
        patterns as in a `.gitignore`; `retag` asks the model for the documents that lack its
        tags. `on_progress` is told (done, total) in files. A file that fails is in the report,
        and the rest goes on.

        Raises:
            QueryError: no path is given.
            ConfigError: the extra `documents` is missing, or a model is named badly.
            DatabaseError: PostgreSQL is gone, or refuses the write.
        """
        with _extra_documents():
            from kb_search.ingest.run import ingest
        return await ingest(
            self.database,
            self.settings,
            [Path(path) for path in paths],
            collection=self._collection(collection),
            prune=prune,
            dry_run=dry_run,
            ignore=ignore,
            retag=retag,
            on_progress=on_progress,
        )

    async def watch(
        self,
        *paths: Path | str,
        collection: str | None = None,
        prune: bool = False,
        ignore: Sequence[str] = (),
    ) -> AsyncGenerator[IngestReport, None]:
        """Ingests the paths, then again after each change below them; never ends by itself.

        A report a run. Leave it through `contextlib.aclosing`. Raises as `ingest`.
        """
        with _extra_documents():
            from kb_search.ingest.watching import watch
        runs = watch(
            self.database,
            self.settings,
            [Path(path) for path in paths],
            collection=self._collection(collection),
            prune=prune,
            ignore=ignore,
        )
        async with aclosing(runs):
            async for report in runs:
                yield report

    async def get_document(self, document_id: int, *, with_text: bool = True) -> StoredDocument:
        """A document: what is known of it, the tree of its headings and its whole text.

        Raises:
            NotFound: there is none with this id.
        """
        return await library.get_document(self.database, document_id, with_text=with_text)

    async def get_section(
        self, section_id: int, neighbours: int = 1, *, with_schema: bool = False
    ) -> SectionView:
        """A section with at most `neighbours` before it and after it in its document.

        `with_schema` gives an API operation whole, with all that its references lead to.

        Raises:
            NotFound: no section of a document has this id (a hit's `id`).
            QueryError: `neighbours` is out of bounds, or the section is no API operation.
        """
        with _extra_documents():
            return await library.get_section(
                self.database, section_id, neighbours=neighbours, with_schema=with_schema
            )

    async def list_documents(
        self,
        *,
        collection: str | None = None,
        tags: Sequence[str] | None = None,
        mime: str | None = None,
        source: str | None = None,
        title: str | None = None,
        tagged: bool | None = None,
        after_id: int | None = None,
        limit: int | None = None,
    ) -> list[DocumentInfo]:
        """Documents by id, at most `limit` (None: all), those that meet every condition.

        They have all the `tags`; `source` is a document's own or a folder it lies in; `title`
        holds all its words; `tagged` is whether a model (or the file itself) gave tags.
        """
        return await library.list_documents(
            self.database,
            collection=self._collection(collection),
            tags=tags,
            mime=mime,
            source=source,
            title=title,
            tagged=tagged,
            after_id=after_id,
            limit=limit,
        )

    async def corpus_stats(self, *, collection: str | None = None) -> CorpusStats:
        """The documents of a collection in numbers."""
        return await library.corpus_stats(self.database, collection=self._collection(collection))

    async def embed(
        self,
        *,
        collection: str | None = None,
        on_progress: Callable[[int, int], None] | None = None,
    ) -> EmbedReport:
        """Makes the vectors that are missing or stale, of one collection or (None) of all, and has
        those of later entries queued. Does each once, whoever else does so meanwhile.

        Raises:
            QueryError: no embedder is set up.
            EmbedderFailed: it gives no vectors.
        """
        return await self.meaning.embed(
            collection=_collection_or_all(collection),
            on_progress=on_progress,
        )

    async def add_synonym(
        self, phrase: str, synonym: str, *, one_way: bool = False, collection: str | None = None
    ) -> Synonym:
        """Questions that hold `phrase` are also asked with `synonym`, and the reverse.

        Raises:
            QueryError: one side has no word, or both are the same.
        """
        return await _entries.add_synonym(
            self.database,
            phrase,
            synonym,
            both_ways=not one_way,
            collection=self._collection(collection),
        )

    async def remove_synonym(
        self, phrase: str, synonym: str, *, collection: str | None = None
    ) -> int:
        """Removes a pair; returns how many are gone."""
        return await _entries.remove_synonym(
            self.database, phrase, synonym, collection=self._collection(collection)
        )

    async def synonyms(self, *, collection: str | None = None) -> list[Synonym]:
        """The synonyms of a collection, by phrase."""
        return await _entries.list_synonyms(self.database, collection=self._collection(collection))

    async def add_alias(
        self, entry: int | str, alias: str, *, collection: str | None = None
    ) -> StoredEntry:
        """Gives an entry, by id or "section/title", another way to ask for it; the entry as it is.

        Raises:
            NotFound: there is no such entry (in `collection`, where that is given).
            QueryError: the alias has no word, or is too long.
        """
        return await _questions.add_alias(
            self.database,
            entry,
            alias,
            collection=collection,
            default=self.settings.collection,
        )

    async def unanswered(
        self, *, collection: str | None = None, days: int | None = None, limit: int = 50
    ) -> list[UnansweredGroup]:
        """Logged questions of the last `days` (None: all kept) without a confident answer.

        Near-equal ones come as one, the most asked first; nothing where `question_log` is none.
        """
        await self.flush_questions()
        return await _questions.unanswered(
            self.database,
            collection=self._collection(collection),
            days=self.settings.question_log_days if days is None else days,
            limit=limit,
        )

    async def flush_questions(self) -> None:
        """Returns when every question asked so far is in the log (or was dropped)."""
        if self._question_log is not None:
            await self._question_log.flush()

    async def stats(self, *, collection: str | None = None) -> list[CollectionStats]:
        """The size of one collection, or of each that has entries."""
        return await _entries.collection_stats(
            self.database, collection=_collection_or_all(collection)
        )

    async def initialise(self) -> None:
        """Applies the schema: creates what is missing; several processes may do so at once.

        Raises:
            ExtensionMissing: pg_trgm is missing and this role may not create it.
            DatabaseError: the server is too old, or the role lacks a right.
        """
        async with self.database.connection() as connection:
            await schema.apply_schema(connection)

    async def doctor(self) -> list[Check]:
        """What is well and what is not, with what to do about it."""
        return [*await schema.examine(self.database), *await self.meaning.examine()]

    async def rebuild(self, *, collection: str | None = None) -> RebuildReport:
        """Makes everything derived again: of one collection, or of all."""
        return await schema.rebuild(self.database, collection=_collection_or_all(collection))

    def _collection(self, name: str | None) -> str:
        return collection_name(self.settings.collection if name is None else name)
