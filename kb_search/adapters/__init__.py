"""Thin adapters for other frameworks, each an extra of its own: `langchain`, `pydantic-ai`."""
