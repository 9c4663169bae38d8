"""Seed files: reading them, and loading them all or nothing."""

from kb_search.seeds.files import SeedFile, read_seed
from kb_search.seeds.load import SeedReport, load_seeds

__all__ = ["SeedFile", "SeedReport", "load_seeds", "read_seed"]
