"""What one client may read: names of collections, each with the one it stands for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kb_search.errors import NotFound, QueryError
from kb_search.mcp.settings import McpSettings, TokenSettings
from kb_search.memory import PREFIX, collection_of

# The name under which a client reads what it remembered.
MEMORY = PREFIX.removesuffix(":")


@dataclass(frozen=True)
class Access:
    """`collections` maps the names that a client uses to those of the database, the default first;
    `owner` owns what it remembers.
    """

    collections: Mapping[str, str]
    owner: str
    _names: Mapping[str, str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        names = {actual: name for name, actual in self.collections.items()}
        object.__setattr__(self, "_names", names)

    @property
    def default(self) -> str:
        return next(iter(self.collections))

    def named(self, name: str | None) -> str:
        """The name that a client gave, or the default.

        Raises:
            QueryError: it is none of this client's; the message is the same whether or not there
                is such a collection.
        """
        if name is None:
            return self.default
        if name not in self.collections:
            offered = ", ".join(f"«{known}»" for known in self.collections)
            raise QueryError(
                f"no hay ninguna colección con ese nombre a tu alcance; puedes usar: {offered}"
            )
        return name

    def name_of(self, actual: str, *, missing: str) -> str:
        """The client's name of a collection of the database.

        Raises:
            NotFound: it is none of this client's; with the message `missing`, the same as for
                what does not exist.
        """
        if actual not in self._names:
            raise NotFound(missing)
        return self._names[actual]


def open_access(settings: McpSettings, *, collection: str) -> Access:
    """What a client without a token may read."""
    return _access(settings.collections or (collection,), settings.owner, settings)


def token_access(token: TokenSettings, settings: McpSettings) -> Access:
    """What the client with this token may read."""
    return _access(token.collections, token.name, settings)


def _access(collections: tuple[str, ...], owner: str, settings: McpSettings) -> Access:
    names = {name: name for name in collections}
    if settings.memory:
        names[MEMORY] = collection_of(owner)
    return Access(names, owner)
