"""Embedders behind HTTP: Ollama, and whatever speaks OpenAI's way (vLLM, LM Studio, llama.cpp).

The standard library's client, in threads; connections are kept.
"""

from __future__ import annotations

import asyncio
import http.client
import json
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from kb_search.errors import ConfigError, EmbedderFailed

if TYPE_CHECKING:
    from kb_search.semantic.embedders import Kind
    from kb_search.semantic.prefixes import Prefixes
    from kb_search.settings import Settings

_THREADS = 4
# An answer of 16 MB holds more vectors than any batch asks for; an error page is shown this far.
_MOST_BYTES = 16 * 2**20
_SHOWN = 200


class Endpoint:
    """An embedder that is asked by POST with JSON; `read` takes the vectors out of the answer."""

    def __init__(
        self,
        model: str,
        url: str,
        *,
        body: Callable[[list[str]], dict[str, Any]],
        read: Callable[[Any], Sequence[Sequence[float]]],
        prefixes: Prefixes,
        key: str | None,
        timeout_s: float,
    ) -> None:
        self.model = model
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigError("KB_SEARCH_EMBEDDER_URL is no http(s) address")
        self._secure = parts.scheme == "https"
        self._host, self._port, self._path = parts.hostname, parts.port, parts.path
        self._body, self._read, self._prefixes = body, read, prefixes
        self._headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if key is not None:
            self._headers["Authorization"] = f"Bearer {key}"
        self._timeout_s = timeout_s
        self._idle: deque[http.client.HTTPConnection] = deque()
        self._threads = ThreadPoolExecutor(_THREADS, "kb-search-embedder")

    async def embed(self, texts: Sequence[str], *, kind: Kind) -> Sequence[Sequence[float]]:
        prefixed = [self._prefixes.put(text, kind) for text in texts]
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, self._ask, prefixed)

    async def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        while self._idle:
            self._idle.pop().close()

    def _ask(self, texts: list[str]) -> Sequence[Sequence[float]]:
        payload = json.dumps(self._body(texts)).encode()
        try:
            status, answer = self._post(payload)
        except TimeoutError:
            raise EmbedderFailed(
                f"the embedder at {self._host} gave no answer in {self._timeout_s:g} s",
                reason="timeout",
            ) from None
        except (OSError, http.client.HTTPException) as error:
            raise EmbedderFailed(
                f"the embedder at {self._host} cannot be reached: {type(error).__name__}: {error}"
            ) from error
        if status != http.client.OK:
            raise EmbedderFailed(
                f"the embedder at {self._host} answered {status}:"
                f" {answer[:_SHOWN].decode(errors='replace')}"
            )
        try:
            return self._read(json.loads(answer))
        except (ValueError, KeyError, TypeError, IndexError) as error:
            raise EmbedderFailed(
                f"the embedder at {self._host} answered something else than vectors:"
                f" {answer[:_SHOWN].decode(errors='replace')}"
            ) from error

    def _post(self, payload: bytes) -> tuple[int, bytes]:
        # none may be idle, or the other side may have let go of it
        with suppress(IndexError, http.client.RemoteDisconnected, ConnectionError):
            return self._exchange(self._idle.pop(), payload)
        make = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
        return self._exchange(make(self._host, self._port, timeout=self._timeout_s), payload)

    def _exchange(
        self, connection: http.client.HTTPConnection, payload: bytes
    ) -> tuple[int, bytes]:
        try:
            connection.request("POST", self._path, payload, self._headers)
            response = connection.getresponse()
            answer = response.read(_MOST_BYTES)
        except BaseException:
            connection.close()
            raise
        if not response.isclosed():  # there was more
            connection.close()
            raise EmbedderFailed(f"the embedder at {self._host} sent more than {_MOST_BYTES} bytes")
        self._idle.append(connection)
        return response.status, answer


def ollama(model: str, settings: Settings, prefixes: Prefixes) -> Endpoint:
    """Ollama's /api/embed."""
    base = (settings.embedder_url or "http://localhost:11434").rstrip("/")
    return Endpoint(
        f"ollama/{model}{prefixes.mark}",
        f"{base}/api/embed",
        body=lambda texts: {"model": model, "input": texts},
        read=lambda answer: answer["embeddings"],
        prefixes=prefixes,
        key=_key(settings),
        timeout_s=settings.embedder_batch_timeout_s,
    )


def openai_compatible(model: str, settings: Settings, prefixes: Prefixes) -> Endpoint:
    """POST {KB_SEARCH_EMBEDDER_URL}/embeddings, as OpenAI's API has it."""
    base = (settings.embedder_url or "https://api.openai.com/v1").rstrip("/")
    return Endpoint(
        f"openai/{model}{prefixes.mark}",
        f"{base}/embeddings",
        body=lambda texts: {"model": model, "input": texts, "encoding_format": "float"},
        read=lambda answer: [
            item["embedding"] for item in sorted(answer["data"], key=lambda item: item["index"])
        ],
        prefixes=prefixes,
        key=_key(settings),
        timeout_s=settings.embedder_batch_timeout_s,
    )


def _key(settings: Settings) -> str | None:
    return None if settings.embedder_key is None else settings.embedder_key.get_secret_value()
