"""The reason why a file cannot be read, raised inside the readers.

`read_document` adds the path and makes a `DocumentError` of it.
"""

from __future__ import annotations


class Unreadable(Exception):
    """A reason in one line, for the person who wants the file read."""
