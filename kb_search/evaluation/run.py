"""One evaluation: a scratch collection loaded, asked through the public search, and dropped."""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from kb_search.errors import KbError, QueryError
from kb_search.evaluation.measures import Evaluation, Outcome, evaluate_outcomes
from kb_search.models import Mode, SearchResult

if TYPE_CHECKING:
    from kb_search.evaluation.folder import Task
    from kb_search.knowledge_base import KnowledgeBase

Progress = Callable[[int, int], None]

logger = logging.getLogger(__name__)

# As deep as the deepest measure, MRR@10.
_DEPTH = 10
_BATCH = 500
# Reasons in `SearchResult.degraded` that say the vectors had no part in the answer.
_WITHOUT_VECTORS = ("embedder", "vectors", "pgvector", "semantic")


async def evaluate(
    kb: KnowledgeBase,
    task: Task,
    *,
    mode: Mode = "auto",
    on_progress: Progress | None = None,
) -> Evaluation:
    """Load the task's entries, ask its questions one after the other, and measure.

    The scratch collection is dropped whatever happens. `on_progress` is told how many entries
    and questions are done, and of how many. Times are those of the whole call to the search.

    Raises:
        QueryError: the mode needs vectors, and there are none.
        DatabaseError: PostgreSQL said no.
    """
    run = _Run(kb, f"eval-{secrets.token_hex(8)}", mode, task, on_progress)
    try:
        await run.load()
        outcomes = [await run.ask(question.text, question.right) for question in task.questions]
        flagged = None
        if task.out_of_scope is not None:
            flagged = [not (await run.ask(text, ())).confident for text in task.out_of_scope]
    except BaseException:
        try:
            await run.drop()
        except KbError as error:  # the first error is the one to tell of
            logger.warning("the scratch collection %s is left behind: %s", run.collection, error)
        raise
    await run.drop()
    return evaluate_outcomes(outcomes, flagged)


class _Run:
    def __init__(
        self,
        kb: KnowledgeBase,
        collection: str,
        mode: Mode,
        task: Task,
        on_progress: Progress | None,
    ) -> None:
        self.kb = kb
        self.collection = collection
        self.mode = mode
        self.task = task
        self.on_progress = on_progress
        self.done = 0
        self.total = len(task.entries) + len(task.questions) + len(task.out_of_scope or ())

    async def load(self) -> None:
        for first in range(0, len(self.task.entries), _BATCH):
            batch = self.task.entries[first : first + _BATCH]
            await self.kb.add(batch, collection=self.collection)
            self._advance(len(batch))
        if self.mode in ("semantic", "hybrid"):
            report = await self.kb.embed(collection=self.collection)
            if report.waiting:
                raise QueryError(
                    f"mode {self.mode} cannot be measured: {report.waiting} entries have no"
                    f" vectors ({report.last_error})"
                )

    async def ask(self, text: str, right: Collection[str]) -> Outcome:
        started = time.perf_counter()
        result = await self.kb.search(
            text, collection=self.collection, limit=_DEPTH, mode=self.mode
        )
        took_ms = (time.perf_counter() - started) * 1000
        if self.mode in ("semantic", "hybrid"):
            _check_vectors(result, self.mode)
        self._advance(1)
        return Outcome(
            rank=first_right(result, right),
            layer=result.layer,
            confident=result.confident,
            confidence=result.confidence,
            took_ms=took_ms,
        )

    async def drop(self) -> None:
        await self.kb.remove(collection=self.collection)
        if self.mode in ("semantic", "hybrid"):
            await self.kb.meaning.forget_collection(self.collection)

    def _advance(self, steps: int) -> None:
        self.done += steps
        if self.on_progress is not None:
            self.on_progress(self.done, self.total)


def first_right(result: SearchResult, right: Collection[str]) -> int | None:
    """The rank (from 1) of the first hit whose source is right; fixed rows are no answers."""
    found = [hit for hit in result.hits if hit.layer != "fallback"]
    return next((rank for rank, hit in enumerate(found, start=1) if hit.source in right), None)


def _check_vectors(result: SearchResult, mode: Mode) -> None:
    reasons = [reason for reason in result.degraded if reason.startswith(_WITHOUT_VECTORS)]
    if reasons:
        raise QueryError(f"mode {mode} cannot be measured: {'; '.join(reasons)}")
