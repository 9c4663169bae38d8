"""What reading a file gives: a document and its sections."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Section:
    """The text below one heading, up to the next heading of any level.

    `heading_path` leads from the outermost heading to this one; the text before the first
    heading has the document's title as its path and level 0. `level` is the heading's own level
    in the file (1 is the outermost). `position` counts from 0 through the document. `text` is
    empty where a heading is followed by another one at once. An overlong section comes as
    several with the same path, `part` 1 to `parts` at neighbouring positions; both are None
    where nothing was cut. `metadata` is a JSON object.
    """

    heading_path: tuple[str, ...]
    text: str
    level: int
    position: int
    part: int | None = None
    parts: int | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Document:
    """A file that was read.

    `sections` has at least one section with text. `mime` is the type found by looking into the
    file, whatever its name says. `sha256` is the digest of the bytes that were read, in hex.
    `tags`, `aliases` and `summary` are what the file says of itself. `metadata` is a JSON object.
    """

    title: str
    mime: str
    sections: tuple[Section, ...]
    tags: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    summary: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    sha256: str = ""

    @property
    def headings(self) -> tuple[tuple[str, ...], ...]:
        """The heading paths in the order of the file, each part of a cut section counted once."""
        return tuple(
            section.heading_path
            for section in self.sections
            if section.level > 0 and section.part in (None, 1)
        )

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Document:
        sections = tuple(
            Section(
                **{
                    **section,
                    "heading_path": tuple(section["heading_path"]),
                    "aliases": tuple(section["aliases"]),
                }
            )
            for section in values["sections"]
        )
        return cls(
            **{
                **values,
                "sections": sections,
                "tags": tuple(values["tags"]),
                "aliases": tuple(values["aliases"]),
            }
        )
