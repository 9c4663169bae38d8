"""One file in, one document out."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path

from kb_search.documents.model import Document
from kb_search.documents.sections import MAX_SECTION_CHARS
from kb_search.documents.sniffing import MIMES, Kind, sniff
from kb_search.documents.unreadable import Unreadable
from kb_search.errors import DocumentError

MAX_BYTES = 100_000_000


def read_document(
    path: Path, *, max_bytes: int = MAX_BYTES, max_section_chars: int = MAX_SECTION_CHARS
) -> Document:
    """Read one file of at most `max_bytes`, whatever its name says it is.

    The file is read into memory once, so that the digest belongs to what was parsed.

    Raises:
        DocumentError: it cannot be read; `.reason` says why in one line.
    """
    try:
        document = _read(path, max_bytes, max_section_chars)
    except Unreadable as error:
        raise DocumentError(str(error), path=path) from error.__cause__
    except MemoryError:
        raise DocumentError("reading it takes more memory than allowed", path=path) from None
    except RecursionError:
        raise DocumentError("nested too deeply to be read", path=path) from None
    except Exception as error:  # the parsers' own errors are of every kind
        said = " ".join(str(error).split())[:200]
        reason = f"damaged: {type(error).__name__}: {said}" if said else f"damaged: {error!r}"
        raise DocumentError(reason, path=path) from error
    return document


def _read(path: Path, max_bytes: int, max_section_chars: int) -> Document:
    data = read_bytes(path, max_bytes=max_bytes)
    kind, text = sniff(data, path)
    document = _reader(kind)(data, text, path.stem, max_section_chars)
    if not any(section.text for section in document.sections):
        raise Unreadable("empty: there is no text in the file")
    return replace(document, mime=MIMES[kind], sha256=hashlib.sha256(data).hexdigest())


def read_bytes(path: Path, *, max_bytes: int) -> bytes:
    """The bytes of a regular file.

    Raises:
        Unreadable: not there, no regular file, no right to read it, or too large.
    """
    try:
        # A named pipe would block an ordinary open() until somebody writes to it.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | _BINARY)
    except PermissionError:
        raise Unreadable("unreadable: no right to read it") from None
    except FileNotFoundError:
        raise Unreadable("not found") from None
    except OSError as error:
        raise Unreadable(f"unreadable: {error.strerror}") from error
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise Unreadable("not a regular file")
    with os.fdopen(descriptor, "rb") as file:
        if status.st_size > max_bytes:
            raise Unreadable(_too_large(status.st_size, max_bytes))
        try:
            data = file.read(max_bytes + 1)
        except OSError as error:
            raise Unreadable(f"unreadable: {error.strerror}") from error
    if len(data) > max_bytes:
        raise Unreadable(_too_large(len(data), max_bytes))
    return data


_BINARY = getattr(os, "O_BINARY", 0)

# The bytes, the text (of a text kind), the name without its ending, the longest section.
Reader = Callable[[bytes, str, str, int], Document]
_READERS: dict[Kind, tuple[str, str]] = {
    "pdf": ("pdf", "read_pdf"),
    "docx": ("word", "read_word"),
    "xlsx": ("workbook", "read_workbook"),
    "pptx": ("slides", "read_slides"),
    "html": ("html_page", "read_html"),
    "markdown": ("markdown", "read_markdown"),
    "openapi": ("api_description", "read_api"),
    "text": ("plain_text", "read_plain_text"),
}


def _too_large(size: int, max_bytes: int) -> str:
    return f"too large: {size / 1e6:,.1f} MB, the limit is {max_bytes / 1e6:,.1f} MB"


def _reader(kind: Kind) -> Reader:
    """The reader of a kind; its library is imported only where such a file comes along."""
    module, function = _READERS[kind]
    try:
        reader: Reader = getattr(import_module(f"kb_search.documents.{module}"), function)
    except ModuleNotFoundError as error:
        raise Unreadable(
            f"reading it needs the package {error.name}: pip install 'kb-search[documents]'"
        ) from error
    return reader
