"""YAML seed files: plain values only, with the line of each row and key (extra `cli`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml


class YamlError(ValueError):
    """What is wrong with a YAML file; `line` counts from 1."""

    def __init__(self, message: str, line: int | None) -> None:
        self.line = line
        super().__init__(message)


@dataclass(frozen=True)
class YamlRow:
    """An item of the list; `lines` gives the line (from 1) of each of its keys."""

    value: object
    line: int
    lines: dict[str, int]


class _Loader(yaml.SafeLoader):
    """Safe, without references (they can grow without bound) and with dates left as text."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - as the base class declares it
        first: [(tag, regexp) for tag, regexp in found if not tag.endswith(":timestamp")]
        for first, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
            raise YamlError("references (*name) are not allowed: write the value out", _line(mark))
        return super().compose_node(parent, index)


def yaml_rows(text: str) -> Iterator[YamlRow]:
    """The items of the list that a YAML text holds; none where it is empty.

    Raises:
        YamlError: it is not YAML, not a list, or a key is there twice.
    """
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        if node is None:
            return
        if not isinstance(node, yaml.SequenceNode):
            raise YamlError("the file must be a list of entries (- section: …)", _line(node))
        for item in node.value:
            lines = _key_lines(item)
            yield YamlRow(loader.construct_object(item, deep=True), _line(item), lines)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = _line(mark) if mark else None
        raise YamlError(f"invalid YAML: {error.problem}", line) from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, int(error.position)) + 1
        raise YamlError(f"invalid YAML: {error.reason}", line) from None
    except RecursionError:
        raise YamlError("invalid YAML: nested too deeply", None) from None


def _key_lines(node: yaml.Node) -> dict[str, int]:
    lines: dict[str, int] = {}
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            name = str(key.value)
            if name in lines:
                raise YamlError(f"the key {name!r} is there twice", _line(key))
            lines[name] = _line(key)
            _key_lines(value)
    elif isinstance(node, yaml.SequenceNode):
        for value in node.value:
            _key_lines(value)
    return lines


def _line(place: Any) -> int:
    mark = getattr(place, "start_mark", place)
    return int(mark.line) + 1
