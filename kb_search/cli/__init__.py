"""The command `kb-search`."""

from kb_search.cli.program import main

__all__ = ["main"]
