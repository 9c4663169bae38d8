"""The embedded PostgreSQL: one folder, which the rest of the package can do without."""

from kb_search.servers.backups import backup, restore
from kb_search.servers.embedded import EmbeddedServer, open_embedded_server
from kb_search.servers.upgrades import Upgrade, upgrade
from kb_search.servers.upkeep import (
    ServerStatus,
    psql_command,
    server_path,
    server_status,
    stop_server,
)

__all__ = [
    "EmbeddedServer",
    "ServerStatus",
    "Upgrade",
    "backup",
    "open_embedded_server",
    "psql_command",
    "restore",
    "server_path",
    "server_status",
    "stop_server",
    "upgrade",
]
