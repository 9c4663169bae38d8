"""Streamable HTTP: Host and Origin are checked, a bearer token is asked for where there are any."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from mcp.server import MCPServer
from mcp.server.auth.middleware.auth_context import AuthContextMiddleware
from mcp.server.auth.middleware.bearer_auth import BearerAuthBackend, RequireAuthMiddleware
from mcp.server.auth.provider import AccessToken
from mcp.server.transport_security import TransportSecuritySettings
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from kb_search.errors import ConfigError
from kb_search.mcp.settings import McpSettings

PATH = "/mcp"

_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_LOG = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"plain": {"format": "%(levelname)s %(name)s: %(message)s"}},
    "handlers": {
        "err": {
            "class": "logging.StreamHandler",
            "formatter": "plain",
            "stream": "ext://sys.stderr",
        }
    },
    "loggers": {"uvicorn": {"handlers": ["err"], "level": "INFO", "propagate": False}},
}


class _Tokens:
    """The SDK's TokenVerifier over the tokens of the settings."""

    def __init__(self, settings: McpSettings) -> None:
        self._settings = settings

    async def verify_token(self, token: str) -> AccessToken | None:
        found = self._settings.token_named(token)
        return None if found is None else AccessToken(token=token, client_id=found.name, scopes=[])


class _OnlyWithToken:
    """Lets nothing through but what a valid token comes with; life-cycle messages apart."""

    def __init__(self, app: ASGIApp, settings: McpSettings) -> None:
        self._app = app
        self._guarded = AuthenticationMiddleware(
            AuthContextMiddleware(RequireAuthMiddleware(app, [])),
            backend=BearerAuthBackend(_Tokens(settings)),
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self._app if scope["type"] == "lifespan" else self._guarded
        await app(scope, receive, send)


def build_app(server: MCPServer[Any], settings: McpSettings) -> ASGIApp:
    """The ASGI application.

    Raises:
        ConfigError: others than this machine could reach it, and there is no token, or no name
            that a client may call it by.
    """
    _check(settings)
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        json_response=True,
        stateless_http=True,  # no session that another token could take over
        transport_security=TransportSecuritySettings(
            allowed_hosts=_hosts(settings), allowed_origins=_origins(settings)
        ),
    )
    return _OnlyWithToken(app, settings) if settings.tokens else app


async def serve_http(server: MCPServer[Any], settings: McpSettings) -> None:
    """Serves until the process is asked to end; logs go to standard error."""
    config = uvicorn.Config(
        build_app(server, settings),
        host=settings.host.strip("[]"),
        port=settings.port,
        log_config=_LOG,
        access_log=False,
        timeout_graceful_shutdown=5,
    )
    web = _Uvicorn(config)
    serving = asyncio.ensure_future(web.serve())
    try:
        await asyncio.shield(serving)
    except asyncio.CancelledError:
        web.should_exit = True
        await serving
        raise


class _Uvicorn(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """The command line takes the signals, and cancels."""
        yield


def _check(settings: McpSettings) -> None:
    if settings.loopback:
        return
    if not settings.tokens:
        raise ConfigError(
            f"{settings.host} can be reached from other machines: give a token"
            " (KB_SEARCH_MCP_TOKENS, or --token), or listen on 127.0.0.1"
        )
    if not settings.allowed_hosts:
        raise ConfigError(
            "name what clients may call this server by (KB_SEARCH_MCP_ALLOWED_HOSTS, or"
            " --allowed-host), such as kb.example.com or kb.example.com:*"
        )


def _hosts(settings: McpSettings) -> list[str]:
    loopback = [form for name in _LOOPBACK for form in (name, f"{name}:*")]
    return [*(loopback if settings.loopback else ()), *settings.allowed_hosts]


def _origins(settings: McpSettings) -> list[str]:
    loopback = [
        f"{scheme}://{name}{port}"
        for scheme in ("http", "https")
        for name in _LOOPBACK
        for port in ("", ":*")
    ]
    return [*(loopback if settings.loopback else ()), *settings.allowed_origins]
