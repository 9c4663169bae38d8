"""What a file is, by what is in it; its name decides only among the kinds of text."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

from kb_search.documents.archives import check_archive
from kb_search.documents.decoding import BinaryData, decode_text
from kb_search.documents.unreadable import Unreadable

Kind = Literal["pdf", "docx", "xlsx", "pptx", "html", "markdown", "openapi", "text"]

MIMES: dict[Kind, str] = {
    "pdf": "application/pdf",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    "html": "text/html",
    "markdown": "text/markdown",
    "openapi": "application/vnd.oai.openapi",
    "text": "text/plain",
}
SUFFIXES: dict[str, Kind] = {
    ".pdf": "pdf",
    ".docx": "docx",
    ".docm": "docx",
    ".dotx": "docx",
    ".xlsx": "xlsx",
    ".xlsm": "xlsx",
    ".xltx": "xlsx",
    ".pptx": "pptx",
    ".pptm": "pptx",
    ".ppsx": "pptx",
    ".potx": "pptx",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".md": "markdown",
    ".markdown": "markdown",
    ".txt": "text",
    ".text": "text",
    ".rst": "text",
    ".json": "openapi",
    ".yaml": "openapi",
    ".yml": "openapi",
}
_MAIN_PARTS: dict[str, Kind] = {"word/": "docx", "xl/": "xlsx", "ppt/": "pptx"}
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ENCRYPTED_STREAM = "EncryptedPackage".encode("utf-16-le")
_HTML = re.compile(
    r"\s*(<\?xml[^>]*\?>\s*)?(<!--.*?-->\s*)*<(!doctype\s+html|html)\b", re.IGNORECASE | re.DOTALL
)
_API_KEY = re.compile(r"""^\s*\{?\s*["']?(openapi|swagger)["']?\s*:""", re.MULTILINE)
_DECLARED = re.compile(rb"""(?:charset|encoding)\s*=\s*["']?\s*([\w.:-]+)""", re.IGNORECASE)


def sniff(data: bytes, path: Path) -> tuple[Kind, str]:
    """The kind of a file and its text (empty for the binary kinds).

    Raises:
        Unreadable: empty, encrypted, damaged, or of a kind that cannot be read.
    """
    if not data.strip(b"\0 \t\r\n"):
        raise Unreadable("empty: there is nothing in the file")
    if b"%PDF-" in data[:1024]:
        return "pdf", ""
    if data.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _office_kind(check_archive(data)), ""
    if data.startswith(_OLE):
        if _ENCRYPTED_STREAM in data:
            raise Unreadable("encrypted: save the document without a password")
        raise Unreadable("an old binary Office file: save it as .docx, .xlsx or .pptx")
    return _text_kind(data, path)


def mentions_api(data: bytes) -> bool:
    """Whether a JSON or YAML file may be an API description, by its first bytes."""
    return bool(_API_KEY.search(data[: 1 << 16].decode("utf-8", "replace"))) or bool(
        re.search(rb'"(openapi|swagger)"\s*:', data)
    )


def _office_kind(names: list[str]) -> Kind:
    if "[Content_Types].xml" in names:
        for prefix, kind in _MAIN_PARTS.items():
            if any(name.startswith(prefix) for name in names):
                return kind
    if "content.xml" in names:
        raise Unreadable("an OpenDocument file: save it as .docx, .xlsx or .pptx")
    raise Unreadable("a zip archive, but no Word, Excel or PowerPoint file")


def _text_kind(data: bytes, path: Path) -> tuple[Kind, str]:
    kind = SUFFIXES.get(path.suffix.lower(), "text")
    declared = _DECLARED.search(data[:2048]) if data[:2048].lstrip()[:1] == b"<" else None
    try:
        text = decode_text(
            data, declared=declared[1].decode("ascii", "replace") if declared else None
        )
    except BinaryData:
        raise Unreadable("binary data of a kind that cannot be read as a document") from None
    if not text.strip():
        raise Unreadable("empty: there is nothing in the file")
    if kind == "markdown":
        return kind, text
    if kind == "html" or _HTML.match(text[:8192]):
        return "html", text
    if kind == "openapi" or (kind != "text" and _API_KEY.search(text[:8192])):
        return "openapi", text
    return "text", text
