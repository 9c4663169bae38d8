"""Markdown, with markdown-it-py: front matter, then the text by way of HTML."""

from __future__ import annotations

import re
import tomllib
from typing import Any

import markdown_it

from kb_search.documents.cleaning import clean_line
from kb_search.documents.html_page import parse_html
from kb_search.documents.html_text import HtmlText
from kb_search.documents.model import Document
from kb_search.documents.sections import SectionBuilder
from kb_search.documents.unreadable import Unreadable
from kb_search.documents.yaml_text import load_yaml, plain

_FRONT_MATTER = re.compile(
    r"\A\ufeff?(?P<mark>---|\+\+\+)[ \t]*\r?\n(?P<text>.*?)"
    r"(?:^|\n)(?P<end>---|\.\.\.|\+\+\+)[ \t]*(?:\r?\n|\Z)",
    re.DOTALL | re.MULTILINE,
)
_WIKI_LINK = re.compile(r"!?\[\[(?:[^\]|\n]*\|)?([^\]|\n]+)\]\]")
_TAG_KEYS = ("tags", "tag", "keywords", "etiquetas", "categories", "categorias", "categorías")
_ALIAS_KEYS = ("aliases", "alias", "alias_es")
_SUMMARY_KEYS = ("summary", "description", "resumen", "descripcion", "descripción", "abstract")
_TITLE_KEYS = ("title", "titulo", "título")
_DROPPED = ("script", "style", "template", "noscript", "iframe", "object", "svg")


def read_markdown(_data: bytes, text: str, name: str, max_section_chars: int) -> Document:
    """A section for each heading; front matter gives title, tags, aliases and summary."""
    matter, text = _front_matter(text)
    builder = SectionBuilder(max_chars=max_section_chars)
    walker = HtmlText(builder, keep_links=True)
    rendered = _PARSER.render(_WIKI_LINK.sub(r"\1", text))
    if rendered.strip():
        root = parse_html(f"<html><body>{rendered}</body></html>")
        for element in list(root.iter(*_DROPPED)):
            element.drop_tree()
        walker.walk(root.find("body"))
    only_h1 = walker.h1s[0] if len(walker.h1s) == 1 else ""
    title = _one(matter, _TITLE_KEYS) or only_h1 or builder.top_heading or name
    summary = _one(matter, _SUMMARY_KEYS) or None
    return Document(
        tags=_many(matter, _TAG_KEYS),
        aliases=_many(matter, _ALIAS_KEYS),
        title=title,
        mime="",
        summary=summary,
        sections=builder.build(title),
        metadata=matter,  # what was not taken out by name
    )


_PARSER = markdown_it.MarkdownIt("commonmark").enable(["table", "strikethrough"])


def _front_matter(text: str) -> tuple[dict[str, Any], str]:
    """The values before the text, and the text. A malformed block is left out, and said so."""
    found = _FRONT_MATTER.match(text)
    if not found or (found["mark"] == "+++") != (found["end"] == "+++"):
        return {}, text
    rest = text[found.end() :]
    try:
        if found["mark"] == "+++":
            values = plain(tomllib.loads(found["text"]))
        else:
            values = load_yaml(found["text"])
    except (Unreadable, tomllib.TOMLDecodeError) as error:
        return {"front_matter_error": " ".join(str(error).split())}, rest
    if isinstance(values, dict):
        return values, rest
    return {}, rest if values is None else text


def _one(matter: dict[str, Any], keys: tuple[str, ...]) -> str:
    values = _many(matter, keys, split=False)
    return " ".join(values)


def _many(matter: dict[str, Any], keys: tuple[str, ...], *, split: bool = True) -> tuple[str, ...]:
    """The values under the first of the keys that are there, taken out of the front matter."""
    found: list[str] = []
    for key in [key for key in matter if key.lower() in keys]:
        value = matter.pop(key)
        if isinstance(value, str) and split:
            value = value.split(",") if "," in value or "#" not in value else value.split()
        for item in value if isinstance(value, list) else [value]:
            text = clean_line(str(item)).lstrip("#") if item is not None else ""
            if text and text not in found:
                found.append(text)
    return tuple(found)
