from __future__ import annotations

import importlib.util
import io
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "chatbot.py"


def load_example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("chatbot", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Endpoint:
    """An OpenAI-compatible endpoint that gives prepared messages and remembers the requests."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.replies: list[Any] = []
        self.requests: list[dict[str, Any]] = []


@pytest.fixture
def endpoint(monkeypatch) -> Iterator[Endpoint]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            made.requests.append(body | {"path": self.path, "auth": self.headers["Authorization"]})
            reply = made.replies.pop(0)
            status, data = reply if isinstance(reply, tuple) else (200, reply)
            self.send_response(status)
            self.end_headers()
            self.wfile.write(json.dumps(data).encode())

        def log_message(self, *_: object) -> None:
            """No log."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made = Endpoint(f"http://127.0.0.1:{server.server_port}/v1")
    monkeypatch.setenv("OPENAI_BASE_URL", made.url)
    monkeypatch.setenv("OPENAI_API_KEY", "clave")
    monkeypatch.setenv("OPENAI_MODEL", "modelo")
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield made
    server.shutdown()
    thread.join()
    server.server_close()


def says(text: str) -> dict[str, Any]:
    return {"choices": [{"message": {"role": "assistant", "content": text}}]}


def calls(name: str, arguments: str) -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    call = {"id": "c1", "type": "function", "function": function}
    return {"choices": [{"message": {"role": "assistant", "content": None, "tool_calls": [call]}}]}


@pytest.fixture
def converse(portfolio, dsn, clean_environment, monkeypatch, capsys):
    """Type lines to the chatbot; its exit code and what it wrote."""

    def run(*lines: str) -> tuple[int, str, str]:
        monkeypatch.setenv("KB_SEARCH_DSN", dsn)
        monkeypatch.setattr(sys, "argv", ["chatbot.py"])
        monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
        code = load_example().main()
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def test_the_model_searches_and_answers(endpoint, converse):
    endpoint.replies = [
        calls("search_portfolio", '{"consulta": "cuánto cobra"}'),
        says("Depende del proyecto [1]."),
    ]
    code, out, _ = converse("¿Cuánto cobras?", "  ")
    assert code == 0
    assert "Depende del proyecto [1]." in out
    first, second = endpoint.requests
    assert (first["path"], first["auth"]) == ("/v1/chat/completions", "Bearer clave")
    assert first["model"] == "modelo"
    assert first["tools"][0]["function"]["name"] == "search_portfolio"
    assert [message["role"] for message in second["messages"]] == [
        "system",
        "user",
        "assistant",
        "tool",
    ]
    assert "⟦entrada [1]\nSección: tarifas" in second["messages"][3]["content"]
    assert second["messages"][3]["tool_call_id"] == "c1"


def test_a_tool_that_does_not_exist_is_told_to_the_model(endpoint, converse):
    endpoint.replies = [calls("otra", "{}"), says("Vale.")]
    assert converse("hola")[0] == 0
    assert "No existe la herramienta otra" in endpoint.requests[1]["messages"][3]["content"]


def test_a_model_that_only_searches_is_stopped(endpoint, converse):
    endpoint.replies = [calls("search_portfolio", '{"consulta": "x"}')] * 4
    assert "No he podido terminar" in converse("hola")[1]
    assert endpoint.replies == []


@pytest.mark.parametrize("reply", [(500, {"error": "x"}), {"choices": []}, ["nada"]])
def test_an_endpoint_that_fails_is_one_sentence(endpoint, converse, reply):
    endpoint.replies = [reply]
    code, _, err = converse("hola")
    assert code == 1
    assert err.startswith("chatbot: ")
    assert endpoint.url in err


def test_an_endpoint_that_is_no_url_is_refused(converse, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "file:///etc")
    assert converse("hola")[0::2] == (
        1,
        "chatbot: OPENAI_BASE_URL must start with http:// or https://, not file:///etc\n",
    )


def test_a_dry_run_shows_the_prompt_with_its_grounding(portfolio, dsn, tmp_path):
    found = subprocess.run(
        [sys.executable, EXAMPLE, "--dry-run", "que proyectos ha hecho"],
        env=os.environ | {"KB_SEARCH_DSN": dsn, "PYTHONIOENCODING": "utf-8"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stderr == ""
    assert "--- user\nque proyectos ha hecho\n" in found.stdout
    tool = found.stdout.partition("--- tool\n")[2]
    assert "⟦entrada [1]\nSección: proyectos" in tool
