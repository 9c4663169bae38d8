"""The SQL that Python sends: static text in `.sql` files, found by name.

A statement starts at a line `-- name --`; the comment lines below it say what it does, its
parameters and its columns. Nothing is ever put into the text.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

_HEADING = re.compile(r"^-- (\w+) --$", re.MULTILINE)


@cache
def statements() -> dict[str, str]:
    """Every statement by its name, the comments included."""
    found: dict[str, str] = {}
    for file in sorted(files(__name__).iterdir(), key=lambda entry: entry.name):
        if not file.name.endswith(".sql"):
            continue
        _, *pieces = _HEADING.split(file.read_text(encoding="utf-8"))
        for name, text in zip(pieces[::2], pieces[1::2], strict=True):
            if name in found:
                raise AssertionError(f"two statements are named {name}")
            found[name] = text.strip()
    return found
