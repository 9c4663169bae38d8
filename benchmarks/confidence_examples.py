"""Questions with what the real search saw for their first hit: what the confidence is fitted on."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from kb_search import KnowledgeBase, Settings
from kb_search.confidence import Evidence, evidence
from kb_search.evaluation.folder import Question
from quality_collections import PLAIN, Load, loads
from quality_engines import KbSearch

# What is asked: of the FAQs also with slips, of the larger collections a sample, and so many of
# the questions out of scope.
FAQ_VARIANTS = (PLAIN, "noaccent_typo")
MOST_OF_OTHERS = 330
OUTSIDE_OF_FAQ = 170
OUTSIDE_OF_OTHERS = 64


@dataclass(frozen=True, kw_only=True)
class Example:
    """One question asked: what its first hit had for it (None where no word was found)."""

    collection: str
    faq: bool
    aliases: bool
    variant: str
    in_scope: bool
    right: bool
    evidence: Evidence | None

    @property
    def group(self) -> tuple[str, bool, str, bool]:
        return self.collection, self.aliases, self.variant, self.in_scope


_box: ContextVar[list[Evidence]] = ContextVar("_box")


def _kept(*arguments: Any) -> Evidence:
    found = evidence(*arguments)
    _box.get().append(found)
    return found


async def gather(kb: KnowledgeBase, data: Path) -> list[Example]:
    """Ask everything through the public search, and keep the evidence that it saw."""
    examples: list[Example] = []
    engine = KbSearch(kb)
    with patch("kb_search.search.evidence", _kept):
        for load in loads(data):
            if load.kind == "mixture" or load.name.endswith("_en"):
                continue
            await engine.load(load.entries)
            try:
                examples += await _ask(engine, load)
            finally:
                await engine.drop()
            print(f"{load.name}: {len(examples)} so far", file=sys.stderr)
    return examples


async def _ask(engine: KbSearch, load: Load) -> list[Example]:
    faq = load.kind == "faq"
    variants = FAQ_VARIANTS if faq and load.aliases else (PLAIN,)
    outside = _some(load.out_of_scope, OUTSIDE_OF_FAQ if faq else OUTSIDE_OF_OTHERS)
    examples = []
    for variant in (name for name in variants if name in load.asked):
        asked = [*(load.asked[variant] if faq else _some(load.asked[variant], MOST_OF_OTHERS))]
        in_scope = len(asked)
        if variant == PLAIN:
            asked += [Question(id="", text=text, right=frozenset()) for text in outside]
        for nr, question in enumerate(asked):
            _box.set([])
            (outcome,) = await engine.ask([question])
            examples.append(
                Example(
                    collection=load.name,
                    faq=faq,
                    aliases=load.aliases,
                    variant=variant,
                    in_scope=nr < in_scope,
                    right=outcome.rank == 1,
                    evidence=next(iter(_box.get()), None),
                )
            )
    return examples


def _some(values: Sequence[Any], most: int) -> Sequence[Any]:
    return values[:: -(-len(values) // most)] if values else values


async def gathered(data: Path, folder: Path) -> list[Example]:
    settings = Settings() if os.environ.get("KB_SEARCH_DSN") else Settings(data_dir=folder)
    async with KnowledgeBase.open(settings) as kb:
        await kb.initialise()
        return await gather(kb, data)


def read(path: Path) -> list[Example]:
    rows = json.loads(path.read_text(encoding="utf-8"))
    return [
        Example(**{**row, "evidence": Evidence(**row["evidence"]) if row["evidence"] else None})
        for row in rows
    ]


def write(path: Path, examples: Sequence[Example]) -> None:
    path.write_text(json.dumps([asdict(one) for one in examples]), encoding="utf-8")
