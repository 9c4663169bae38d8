"""HTML pages, with lxml: the main part of the page, without navigation and scripts."""

from __future__ import annotations

import re
from typing import Any

import lxml.html

from kb_search.documents.cleaning import clean_line, keyword_tags
from kb_search.documents.html_text import HtmlText
from kb_search.documents.model import Document
from kb_search.documents.sections import SectionBuilder
from kb_search.documents.unreadable import Unreadable

_DROPPED = frozenset(
    [
        "script",
        "style",
        "template",
        "noscript",
        "nav",
        "svg",
        "iframe",
        "object",
        "embed",
        "applet",
        "audio",
        "video",
        "canvas",
        "map",
        "button",
        "select",
        "input",
        "textarea",
        "dialog",
        "menu",
    ]
)
_DROPPED_OUTSIDE_MAIN = frozenset({"footer", "aside"})
_DROPPED_ROLES = frozenset({"navigation", "banner", "contentinfo", "search", "dialog", "menu"})
_DROPPED_CLASSES = frozenset(
    [
        "headerlink",
        "anchor",
        "toc",
        "navheader",
        "navfooter",
        "breadcrumb",
        "breadcrumbs",
        "sphinxsidebar",
        "cookie-banner",
        "skip-link",
        "sr-only",
        "visually-hidden",
        "mw-editsection",
    ]
)


# What lxml takes out of a tree but not back into it.
_NOT_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


def read_html(_data: bytes, text: str, name: str, max_section_chars: int) -> Document:
    """A section for each heading `h1` to `h6`; the description becomes the summary."""
    root = parse_html(text)
    described = {
        str(meta.get("name", "")).lower(): clean_line(meta.get("content", ""))
        for meta in root.iter("meta")
    }
    page_title = clean_line(root.findtext(".//title") or "")
    language = root.get("lang") or root.get("xml:lang")
    _drop(root, within_main=False)
    main = _main(root)
    if main is not root:
        _drop(main, within_main=True)
    builder = SectionBuilder(max_chars=max_section_chars)
    walker = HtmlText(builder)
    walker.walk(main)
    only_h1 = walker.h1s[0] if len(walker.h1s) == 1 else ""
    title = only_h1 or page_title or builder.top_heading or name
    return Document(
        title=title,
        mime="",
        sections=builder.build(title),
        tags=keyword_tags(described.get("keywords")),
        summary=described.get("description") or None,
        metadata={"language": language} if language else {},
    )


def parse_html(text: str) -> Any:
    """The tree of a page. Nothing is fetched: HTML has no entities of its own to expand.

    Raises:
        Unreadable: there is no markup and no text in it.
    """
    # The limits of libxml2 on depth are for hostile XML; the size of a file is bounded already.
    parser = lxml.html.HTMLParser(
        encoding="utf-8", huge_tree=True, no_network=True, remove_comments=True, remove_pis=True
    )
    try:
        root = lxml.html.document_fromstring(
            _NOT_IN_XML.sub("", text).encode("utf-8", "replace"), parser=parser
        )
    except lxml.etree.ParserError:
        raise Unreadable("empty: there is no text in the file") from None
    if any(entry.type_name == "ERR_RESOURCE_LIMIT" for entry in parser.error_log):
        raise Unreadable("nested too deeply to be read")
    return root


def _drop(root: Any, *, within_main: bool) -> None:
    for element in list(root.iter()):
        if element is root or not isinstance(element.tag, str):
            continue
        if _is_dropped(element) or (
            not within_main and element.tag in _DROPPED_OUTSIDE_MAIN and not _in_main(element)
        ):
            element.drop_tree()


def _is_dropped(element: Any) -> bool:
    return (
        element.tag in _DROPPED
        or element.get("role") in _DROPPED_ROLES
        or element.get("hidden") is not None
        or "display:none" in element.get("style", "").replace(" ", "")
        or not _DROPPED_CLASSES.isdisjoint(element.get("class", "").split())
    )


def _in_main(element: Any) -> bool:
    return any(
        ancestor.tag in ("main", "article") or ancestor.get("role") == "main"
        for ancestor in element.iterancestors()
    )


def _main(root: Any) -> Any:
    """The one element that holds the page's own text, where the page names one."""
    for path in (".//main", ".//*[@role='main']", ".//article"):
        found = root.findall(path)
        if len(found) == 1 and "".join(found[0].itertext()).strip():
            return found[0]
    body = root.find("body")
    return root if body is None else body
