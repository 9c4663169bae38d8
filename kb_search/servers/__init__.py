"""The embedded PostgreSQL: one folder, which the rest of the package can do without."""

from kb_search.servers.embedded import EmbeddedServer, open_embedded_server

__all__ = ["EmbeddedServer", "open_embedded_server"]
