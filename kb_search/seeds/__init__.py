"""Seed files: reading them, and loading them all or nothing."""
