"""Settings of the MCP server, beside those of the knowledge base."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict, SettingsError

from kb_search.errors import ConfigError
from kb_search.memory import PREFIX
from kb_search.settings import bad_settings, comma_separated

_WORDS = "comma separated"
_LEAST_TOKEN_CHARS = 16


def _readable(collections: tuple[str, ...]) -> tuple[str, ...]:
    for name in collections:
        if not 1 <= len(name) <= 200 or name.startswith(PREFIX) or name == PREFIX[:-1]:
            raise ValueError(
                f"{name!r} cannot be offered: a name has 1 to 200 characters and leaves"
                f" {PREFIX[:-1]!r} to the memory"
            )
    return collections


class TokenSettings(BaseModel):
    """A bearer token: who it belongs to and what it may read, the default collection first."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    token: SecretStr
    name: str = Field(min_length=1, max_length=200)
    collections: tuple[str, ...] = Field(min_length=1)

    _collections = field_validator("collections")(_readable)

    @field_validator("token")
    @classmethod
    def _long(cls, token: SecretStr) -> SecretStr:
        if len(token.get_secret_value()) < _LEAST_TOKEN_CHARS:
            raise ValueError(f"a token has at least {_LEAST_TOKEN_CHARS} characters")
        return token


class McpSettings(BaseSettings):
    """Read from `KB_SEARCH_MCP_*` in the environment, then from `.env` in the working folder."""

    model_config = SettingsConfigDict(
        env_prefix="KB_SEARCH_MCP_",
        env_file=".env",
        extra="ignore",
        frozen=True,
        env_ignore_empty=True,
    )

    collections: Annotated[tuple[str, ...], NoDecode] = Field(
        (),
        description=f"Collections offered without a token, the default first, {_WORDS};"
        " unset: KB_SEARCH_COLLECTION alone.",
    )
    tokens: tuple[TokenSettings, ...] = Field(
        (), description='JSON: [{"token": "…", "name": "…", "collections": ["…"]}].'
    )
    max_chars: int = Field(
        12_000, ge=8_000, le=200_000, description="Characters of one answer at most."
    )
    memory: bool = Field(False, description="Offer the tool `remember`.")
    owner: str = Field(
        "local",
        min_length=1,
        max_length=200,
        description="Owner of what is remembered without a token.",
    )
    host: str = Field("127.0.0.1", min_length=1, description="Address to listen on.")
    port: int = Field(8765, ge=0, le=65_535, description="Port to listen on; 0: any that is free.")
    allowed_hosts: Annotated[tuple[str, ...], NoDecode] = Field(
        (), description=f"Values of Host beside the loopback's, {_WORDS}; `name:*` is any port."
    )
    allowed_origins: Annotated[tuple[str, ...], NoDecode] = Field(
        (), description=f"Values of Origin beside the loopback's, {_WORDS}; `https://name:*` too."
    )

    _lists = field_validator("collections", "allowed_hosts", "allowed_origins", mode="before")(
        comma_separated
    )
    _collections = field_validator("collections")(_readable)

    @field_validator("tokens")
    @classmethod
    def _all_different(cls, tokens: tuple[TokenSettings, ...]) -> tuple[TokenSettings, ...]:
        for values in ([t.name for t in tokens], [t.token.get_secret_value() for t in tokens]):
            if len(set(values)) < len(values):
                raise ValueError("two tokens, or their names, are the same")
        return tokens

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach the address."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host.strip("[]")).is_loopback
        except ValueError:
            return False

    def token_named(self, given: str) -> TokenSettings | None:
        """The token's settings, compared in constant time."""
        digest = hashlib.sha256(given.encode()).digest()
        found = None
        for token in self.tokens:
            known = hashlib.sha256(token.token.get_secret_value().encode()).digest()
            if hmac.compare_digest(digest, known):
                found = token
        return found


def load_mcp_settings(**overrides: Any) -> McpSettings:
    """The settings of this process; `overrides` that are None are left out.

    Raises:
        ConfigError: a value is malformed or out of its bounds; no secret is in the message.
    """
    given = {name: value for name, value in overrides.items() if value is not None}
    try:
        return McpSettings(**given)
    except ValidationError as error:
        raise bad_settings(error, prefix="KB_SEARCH_MCP_") from None
    except SettingsError:
        raise ConfigError(
            'KB_SEARCH_MCP_TOKENS is not JSON such as [{"token": "…", "name": "…",'
            ' "collections": ["…"]}]'
        ) from None
