"""Meaning beside words: vectors of entries, and an arm of the search that may fail without harm.

An extra (`kb-search[semantic]`). Nothing here loads a model, or numpy, before it is needed.
"""

from kb_search.semantic.meaning import Meaning
from kb_search.semantic.worker import EmbedReport

__all__ = ["EmbedReport", "Meaning"]
