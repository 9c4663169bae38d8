"""`ingest`, `documents`, `document` and `section`: files and folders, and reading them back."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kb_search.cli.command import (
    DONE,
    PARTLY_FAILED,
    Commands,
    UsageError,
    add_command,
    count,
    opened,
    row_id,
    text,
)
from kb_search.cli.output import counted, plain

if TYPE_CHECKING:
    from kb_search.cli.output import Output
    from kb_search.ingest.values import Heading, IngestReport
    from kb_search.models import StoredEntry


def register(commands: Commands) -> None:
    """Add the commands."""
    _register_ingest(commands)
    documents = add_command(commands, "documents", "list the documents, by id", _documents)
    documents.add_argument(
        "--tag",
        type=text,
        action="append",
        dest="tags",
        help="only documents with this tag; several times: with all of them",
    )
    documents.add_argument("--mime", type=text, help="only documents of this type")
    documents.add_argument("--source", type=text, help="only this file, or those of this folder")
    documents.add_argument("--title", type=text, help="only documents whose title has these words")
    documents.add_argument(
        "--untagged", action="store_true", help="only documents that wait for a model's tags"
    )
    documents.add_argument("--limit", type=count, help="documents at most (default: all)")
    documents.add_argument("--after-id", type=row_id, help="only documents with a greater id")
    document = add_command(commands, "document", "show a document whole", _document)
    document.add_argument("id", type=row_id, metavar="ID")
    document.add_argument(
        "--outline", action="store_true", help="the tree of its headings, not its text"
    )
    section = add_command(
        commands, "section", "show a section of a document with its neighbours", _section
    )
    section.add_argument("id", type=row_id, metavar="ID", help="the id of a hit")
    section.add_argument(
        "--neighbours", type=int, default=1, metavar="N", help="sections on each side (default: 1)"
    )
    section.add_argument(
        "--schema", action="store_true", help="of an API operation: the whole of it, as JSON"
    )


def _register_ingest(commands: Commands) -> None:
    ingest = add_command(
        commands,
        "ingest",
        "take in files and folders as documents",
        _ingest,
        epilog="PDF, DOCX, XLSX, PPTX, HTML, Markdown, plain text, OpenAPI. A file that has not"
        " changed is skipped. Needs the extra: pip install 'kb-search[documents]'.",
    )
    ingest.add_argument("paths", nargs="*", type=Path, metavar="PATH")
    ingest.add_argument(
        "--prune", action="store_true", help="remove documents below the paths that are gone"
    )
    ingest.add_argument(
        "--dry-run", action="store_true", help="read the files, write nothing, say what would be"
    )
    ingest.add_argument(
        "--ignore",
        type=text,
        action="append",
        default=[],
        metavar="PATTERN",
        help="leave out what it matches, as in a .gitignore; several times: each",
    )
    ingest.add_argument(
        "--retag", action="store_true", help="ask the model for documents that lack its tags"
    )
    ingest.add_argument(
        "--watch", action="store_true", help="go on, and ingest what changes, until interrupted"
    )


async def _ingest(args: argparse.Namespace, out: Output) -> int:
    if args.watch:
        return await _watch(args, out)
    if not args.paths and not args.retag:
        raise UsageError("name at least one file or folder")
    async with opened(args) as kb:
        with out.progress("Ingesting") as advance:
            report = await kb.ingest(
                *args.paths,
                prune=args.prune,
                dry_run=args.dry_run,
                ignore=args.ignore,
                retag=args.retag,
                on_progress=advance,
            )
    out.document(_counts(report))
    _tell(report, out, would=args.dry_run)
    return PARTLY_FAILED if report.failed else DONE


async def _watch(args: argparse.Namespace, out: Output) -> int:
    """Until it is interrupted; a line whenever something changed."""
    if args.dry_run or args.retag or out.as_json:
        raise UsageError("--watch never ends: leave out --json, --dry-run and --retag")
    if not args.paths:
        raise UsageError("name at least one file or folder")
    failed: Sequence[object] | None = None
    async with opened(args) as kb:
        runs = kb.watch(*args.paths, prune=args.prune, ignore=args.ignore)
        async with aclosing(runs):
            async for report in runs:
                if report.added or report.replaced or report.removed or report.failed != failed:
                    failed = report.failed
                    _tell(report, out, would=False)
                    sys.stdout.flush()
    return DONE


def _counts(report: IngestReport) -> dict[str, Any]:
    values: dict[str, Any] = plain(report)
    return {name: values[name] for name in ("added", "replaced", "skipped", "removed", "failed")}


def _tell(report: IngestReport, out: Output, *, would: bool) -> None:
    for failure in report.failed:
        out.note(f"{failure.path}: {failure.reason}")
    for note in report.notes:
        out.note(note)
    done = "would be " if would else ""
    out.line(
        f"{counted(report.added, 'file')} {done}added, {report.replaced} replaced,"
        f" {report.skipped} skipped, {report.removed} removed, {len(report.failed)} failed"
    )


async def _documents(args: argparse.Namespace, out: Output) -> int:
    async with opened(args) as kb:
        found = await kb.list_documents(
            tags=args.tags,
            mime=args.mime,
            source=args.source,
            title=args.title,
            tagged=False if args.untagged else None,
            limit=args.limit,
            after_id=args.after_id,
        )
    out.document({"documents": found})
    for document in found:
        tags = f"\t[{', '.join(document.tags)}]" if document.tags else ""
        sections = counted(document.sections, "section")
        out.line(f"{document.id}\t{document.source}\t{document.title}\t{sections}{tags}")
    return DONE


async def _document(args: argparse.Namespace, out: Output) -> int:
    async with opened(args) as kb:
        found = await kb.get_document(args.id, with_text=not args.outline)
    out.document(found)
    if found.text is not None:
        out.line(found.text)
        return DONE
    out.line(f"{found.title}  ({found.source}, {found.mime})", "bold")
    if found.tags:
        out.line(f"tags: {', '.join(found.tags)}")
    if found.summary:
        out.line(found.summary)
    _show_headings(found.headings, out, "")
    return DONE


def _show_headings(headings: Sequence[Heading], out: Output, indent: str) -> None:
    for heading in headings:
        place = "" if heading.section_id is None else f"  (section {heading.section_id})"
        out.line(f"{heading.title}{place}", indent=indent)
        _show_headings(heading.children, out, indent + "  ")


async def _section(args: argparse.Namespace, out: Output) -> int:
    async with opened(args) as kb:
        view = await kb.get_section(args.id, args.neighbours, with_schema=args.schema)
    out.document(view)
    if view.schema is not None:
        out.line(json.dumps(plain(view.schema), ensure_ascii=False, indent=2))
        return DONE
    for entry in view.before:
        _show_section(entry, out, "dim")
    _show_section(view.section, out, "")
    for entry in view.after:
        _show_section(entry, out, "dim")
    return DONE


def _show_section(entry: StoredEntry, out: Output, style: str) -> None:
    path = " > ".join(entry.heading_path)
    out.line(f"{entry.source}, {entry.position}: {path}  (section {entry.id})", "bold")
    out.line(entry.content, style)
    out.line()
