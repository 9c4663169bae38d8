"""`ask`: a question in, the entries that answer out."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, get_args

from kb_search.cli.command import (
    DONE,
    NOT_CONFIDENT,
    Commands,
    add_command,
    json_object,
    opened,
    row_id,
    text,
)
from kb_search.cli.output import plain
from kb_search.models import Hit, Mode, SearchResult, Syntax

if TYPE_CHECKING:
    from kb_search.cli.output import Output


def register(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "ask",
        "find the entries that answer a question",
        _ask,
        epilog="Words that start with '-' go after --: kb-search ask --syntax web -- envío -islas",
    )
    parser.add_argument("question", nargs="*", metavar="QUESTION", help="the question, any words")
    parser.add_argument("--section", type=text, help="only entries of this section")
    parser.add_argument(
        "--tag",
        type=text,
        action="append",
        dest="tags",
        help="only entries with this tag; several times: with all of them",
    )
    parser.add_argument(
        "--metadata",
        type=json_object,
        metavar="JSON",
        help="only entries whose metadata contain this object",
    )
    parser.add_argument(
        "--document",
        type=row_id,
        action="append",
        dest="documents",
        metavar="ID",
        help="only sections of this document; several times: of any of them",
    )
    parser.add_argument(
        "--one-per-document", action="store_true", help="the best section of each document only"
    )
    parser.add_argument("--limit", type=int, help="hits at most (default: KB_SEARCH_LIMIT)")
    parser.add_argument("--mode", choices=get_args(Mode), default="auto", help="default: auto")
    parser.add_argument(
        "--syntax",
        choices=get_args(Syntax),
        default="plain",
        help='web: "exact phrases", -without, OR (default: plain)',
    )
    parser.add_argument("--explain", action="store_true", help="show what each word contributed")


async def _ask(args: argparse.Namespace, out: Output) -> int:
    async with opened(args) as kb:
        result = await kb.search(
            text(" ".join(args.question)),
            section=args.section,
            tags=args.tags,
            metadata=args.metadata,
            limit=args.limit,
            mode=args.mode,
            syntax=args.syntax,
            explain=args.explain,
            documents=args.documents,
            one_per_document=args.one_per_document,
        )
    out.document(_document(result, explained=args.explain))
    _show(result, out)
    return DONE if result.confident else NOT_CONFIDENT


def _document(result: SearchResult, *, explained: bool) -> dict[str, Any]:
    document: dict[str, Any] = plain(result)
    if not explained:
        del document["explanation"]
    if not result.documents:
        del document["documents"]
    return document


def _show(result: SearchResult, out: Output) -> None:
    sure = "confident" if result.confident else "not confident"
    out.line(
        f"{result.layer}, {sure} ({result.confidence:.0%})",
        "green" if result.confident else "yellow",
    )
    if result.corrections:
        pairs = (f"{typed} → {used}" for typed, used in result.corrections.items())
        out.line(f"corrected: {', '.join(pairs)}")
    if result.degraded:
        out.line(f"degraded: {'; '.join(result.degraded)}", "yellow")
    if result.truncated:
        out.line("the question was too long and was cut", "yellow")
    if result.documents:
        out.line("several APIs answer, and the question names none:", "yellow")
    for document in result.documents:
        out.line(f"{document.title}  ({document.source}, document {document.id})", indent="   ")
    if not result.hits:
        out.line("no entry found")
    for number, hit in enumerate(result.hits, start=1):
        _show_hit(number, hit, out)
    for trace in result.explanation:
        corrected = f", corrected to {', '.join(trace.corrected_to)}" if trace.corrected_to else ""
        out.line(
            f"{trace.word}: {' '.join(trace.lexemes) or 'no lexeme'}; in {trace.entries} entries,"
            f" weight {trace.weight:.2f}, share {trace.share:.0%}{corrected}",
            "dim",
        )


def _show_hit(number: int, hit: Hit, out: Output) -> None:
    kind = "fixed row" if hit.score is None else f"{hit.score:.2f}"
    out.line()
    out.line(f"{number}. {hit.title or '(no title)'}  [{hit.section}]  {kind}  id {hit.id}", "bold")
    out.line(hit.snippet, marked=hit.highlights, indent="   ")
    if hit.matched_on:
        out.line(hit.matched_on, "dim", indent="   ")
