"""Tags and a summary by a model, which may be down, slow or talking nonsense."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from kb_search import ConfigError, KnowledgeBase
from kb_search.ingest.tagging import TaggerFailed, read_answer

GOOD = {
    "tags": ["Devoluciones", "#postventa", "atención al  cliente", "postventa"],
    "summary": "Cómo pedir el reembolso de una compra defectuosa.",
}


class Model:
    """A service that answers chat completions as a test wants it to."""

    def __init__(self) -> None:
        self.content: str | None = json.dumps(GOOD)
        self.status = 200
        self.asked: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.release = threading.Event()
        self.silent = False
        self.url = ""

    def answer(self) -> bytes:
        return json.dumps({"choices": [{"message": {"content": self.content}}]}).encode()


@contextmanager
def serving(model: Model) -> Iterator[Model]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            model.asked.append(json.loads(self.rfile.read(length)))
            model.headers.append({name.lower(): value for name, value in self.headers.items()})
            assert self.path == "/v1/chat/completions"
            if model.silent:
                model.release.wait(30)
            body = model.answer()
            self.send_response(model.status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

        def handle(self) -> None:
            with suppress(OSError):  # the caller did not wait
                super().handle()

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    model.url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield model
    finally:
        model.release.set()
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def model() -> Iterator[Model]:
    with serving(Model()) as opened:
        yield opened


@pytest.fixture
async def tagging(kb, model):
    """A knowledge base that has the model."""
    settings = kb.settings.model_copy(
        update={"tagger_url": model.url, "tagger_model": "chico", "tagger_timeout_s": 20}
    )
    async with KnowledgeBase.open(settings) as opened:
        yield opened


@pytest.fixture
def folder(tmp_path):
    for number in range(5):
        (tmp_path / f"{number}.md").write_text(
            f"# Nota {number}\n\nTexto {number}.\n\n## Sigue {number}\n\nMás texto.\n"
        )
    return tmp_path


async def test_a_models_tags_and_summary_are_kept_searched_and_come_with_the_hits(
    tagging, model, folder
):
    report = await tagging.ingest(folder / "0.md")
    assert (report.added, report.notes) == (1, ())
    (document,) = await tagging.list_documents()
    assert document.tags == ("devoluciones", "postventa", "atención al cliente")
    assert document.summary == GOOD["summary"]
    assert document.tagged
    for question in ("postventa", "reembolso defectuosa"):
        hit = (await tagging.search(question)).hits[0]
        assert hit.source == "0.md"
        assert hit.tags == document.tags
        assert hit.metadata["summary"] == GOOD["summary"]
    (request,) = model.asked
    assert request["model"] == "chico"
    assert "Texto 0." in request["messages"][-1]["content"]
    assert all(check.ok for check in await tagging.doctor())


async def test_what_a_file_says_of_itself_needs_no_model_and_wins(tagging, model, tmp_path):
    (tmp_path / "todo.md").write_text(
        "---\ntags: [propia]\nsummary: Un resumen hecho a mano.\n---\n# Uno\n\nTexto.\n"
    )
    (tmp_path / "tags.md").write_text("---\ntags: [propia, postventa]\n---\n# Dos\n\nTexto.\n")
    await tagging.ingest(tmp_path)
    by_source = {document.source: document for document in await tagging.list_documents()}
    assert by_source["todo.md"].tags == ("propia",)
    assert by_source["todo.md"].summary == "Un resumen hecho a mano."
    assert by_source["tags.md"].tags == (
        "propia",
        "postventa",
        "devoluciones",
        "atención al cliente",
    )
    assert all(document.tagged for document in by_source.values())
    assert len(model.asked) == 1


async def test_without_a_model_documents_wait_and_retag_asks_for_them(kb, tagging, model, folder):
    await kb.ingest(folder)
    assert [document.tagged for document in await kb.list_documents()] == [False] * 5
    assert (await kb.corpus_stats()).untagged == 5
    with pytest.raises(ConfigError, match="KB_SEARCH_TAGGER_URL"):
        await kb.ingest(retag=True)
    ids = [entry.id for entry in await kb.entries()]
    report = await tagging.ingest(folder / "3.md", retag=True)
    assert (report.added, report.skipped) == (0, 1)
    assert [doc.source for doc in await kb.list_documents(tagged=True)] == ["3.md"]
    await tagging.ingest(retag=True)
    assert (await kb.corpus_stats()).untagged == 0
    assert len(model.asked) == 5
    assert [entry.id for entry in await kb.entries()] == ids


@pytest.mark.parametrize("status", [404, 500])
async def test_a_service_that_refuses_costs_only_the_tags(tagging, model, folder, status):
    model.status = status
    report = await tagging.ingest(folder)
    assert (report.added, report.failed) == (5, ())
    assert "without the model's tags: 5" in report.notes[0]
    assert str(status) in report.notes[0]
    assert len(model.asked) == 1  # the others would fare no better
    assert (await tagging.search("nota 3")).hits[0].source == "3.md"
    assert (await tagging.corpus_stats()).untagged == 5


async def test_a_model_that_is_down_costs_only_the_tags(kb, folder):
    with serving(Model()) as gone:
        url = gone.url
    settings = kb.settings.model_copy(update={"tagger_url": url, "tagger_model": "chico"})
    async with KnowledgeBase.open(settings) as opened:
        report = await opened.ingest(folder)
        assert (report.added, report.failed) == (5, ())
        assert "cannot be reached" in report.notes[0]
        assert (await opened.search("nota 3")).hits[0].source == "3.md"


async def test_a_model_that_is_slow_is_asked_a_few_times_only(kb, model, folder):
    model.silent = True
    settings = kb.settings.model_copy(
        update={"tagger_url": model.url, "tagger_model": "chico", "tagger_timeout_s": 0.2}
    )
    async with KnowledgeBase.open(settings) as opened:
        report = await opened.ingest(folder)
        assert report.added == 5
        assert "no answer in 0.2 s" in report.notes[0]
        assert len(model.asked) == 3
        model.silent = False
        model.release.set()
    async with KnowledgeBase.open(settings.model_copy(update={"tagger_timeout_s": 20})) as patient:
        assert (await patient.ingest(retag=True)).notes == ()
        assert (await patient.corpus_stats()).untagged == 0


@pytest.mark.parametrize(
    "nonsense",
    [
        None,
        "",
        "Claro, aquí tienes las etiquetas.",
        "[1, 2, 3]",
        '{"tags": "una, dos", "summary": 7}',
        '{"tags": [1, {"a": 2}], "summary": "corto"}',
        '{"tags": ["", "12", "' + "x" * 41 + '"], "summary": "' + "x" * 700 + '"}',
        '{"otra": "cosa"}',
        "{" * 3000,
    ],
)
async def test_nonsense_leaves_a_document_as_it_is(tagging, model, folder, nonsense):
    model.content = nonsense
    report = await tagging.ingest(folder / "1.md")
    assert (report.added, report.failed) == (1, ())
    assert "makes no sense" in report.notes[0]
    (document,) = await tagging.list_documents()
    assert (document.tags, document.summary, document.tagged) == ((), None, False)


def test_an_answer_in_a_fence_or_between_words_is_read():
    content = f"Aquí va:\n```json\n{json.dumps(GOOD)}\n```\n"
    answer = json.dumps({"choices": [{"message": {"content": content}}]}).encode()
    tagging = read_answer(answer, model="chico")
    assert tagging.tags == ("devoluciones", "postventa", "atención al cliente")
    assert tagging.summary == GOOD["summary"]


def test_half_an_answer_is_half_used():
    content = json.dumps({"tags": None, "summary": GOOD["summary"]})
    answer = json.dumps({"choices": [{"message": {"content": content}}]}).encode()
    assert read_answer(answer, model="chico").tags == ()


@pytest.mark.parametrize("answer", [b"", b"<html>", b"[]", b'{"choices": []}', b"\xff"])
def test_an_answer_that_is_no_completion_makes_no_sense(answer):
    with pytest.raises(TaggerFailed, match="makes no sense"):
        read_answer(answer, model="chico")


async def test_the_tags_of_a_changed_file_stand_until_the_model_is_asked_again(
    kb, tagging, model, folder
):
    path = folder / "0.md"
    await tagging.ingest(path)
    path.write_text("# Nota 0\n\nOtro texto.\n\n## Sigue 0\n\nMás texto.\n")
    await kb.ingest(path)  # without a model
    (document,) = await kb.list_documents()
    assert document.tags == ("devoluciones", "postventa", "atención al cliente")
    assert not document.tagged
    assert {entry.tags for entry in await kb.entries()} == {document.tags}
    model.content = json.dumps({"tags": ["nueva"], "summary": "Ahora trata de otra cosa."})
    await tagging.ingest(path, retag=True)
    (document,) = await kb.list_documents()
    assert (document.tags, document.summary) == (("nueva",), "Ahora trata de otra cosa.")
    assert document.tagged
    entries = await kb.entries()
    assert {entry.tags for entry in entries} == {("nueva",)}
    assert [entry.aliases for entry in entries] == [("Ahora trata de otra cosa.",), ()]


async def test_a_file_that_only_moved_is_not_asked_about_again(tagging, model, folder):
    await tagging.ingest(folder / "0.md")
    (folder / "0.md").rename(folder / "otro.md")
    await tagging.ingest(folder / "otro.md")
    assert len(model.asked) == 1
    (document,) = await tagging.list_documents()
    assert document.tagged
    assert document.tags == ("devoluciones", "postventa", "atención al cliente")


async def test_a_dry_run_does_not_ask_the_model(tagging, model, folder):
    await tagging.ingest(folder, dry_run=True)
    assert model.asked == []


async def test_the_key_is_sent_and_a_bad_address_is_a_wrong_setting(kb, model, folder):
    from pydantic import SecretStr

    update = {"tagger_url": model.url, "tagger_model": "chico", "tagger_key": SecretStr("s3creto")}
    async with KnowledgeBase.open(kb.settings.model_copy(update=update)) as opened:
        await opened.ingest(folder / "0.md")
        assert model.headers[0]["authorization"] == "Bearer s3creto"
    for wrong in ({"tagger_url": "ollama"}, {"tagger_url": model.url, "tagger_model": ""}):
        async with KnowledgeBase.open(kb.settings.model_copy(update=wrong)) as opened:
            with pytest.raises(ConfigError, match="KB_SEARCH_TAGGER"):
                await opened.ingest(folder / "0.md")
