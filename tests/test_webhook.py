"""Whoever wants to know how a run ended is told in one sentence, and a run never fails for it."""

import json
import logging
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from types import SimpleNamespace
from typing import Any

import pytest

import flows.webhook
from flows.invocation import sentence_of
from flows.webhook import VARIABLE, tell


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[dict[str, Any]]]:
    """What an address on this machine was told."""
    found: list[dict[str, Any]] = []

    class Listener(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            found.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *arguments: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Listener)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv(VARIABLE, f"http://127.0.0.1:{server.server_port}/hook")
    yield found
    server.shutdown()
    server.server_close()


def test_the_sentence_arrives_as_text_and_in_parts(heard: list[dict[str, Any]]) -> None:
    tell("refresh", "tickets", "completed", "Promoted round-1: test nDCG@10 0.70 – “more”.")
    assert heard == [
        {
            "text": "tickets (refresh, completed): Promoted round-1: test nDCG@10 0.70 – “more”.",
            "flow": "refresh",
            "recipe": "tickets",
            "status": "completed",
            "sentence": "Promoted round-1: test nDCG@10 0.70 – “more”.",
        }
    ]


def test_nobody_is_told_where_nobody_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(flows.webhook, "fetch", lambda url, *_: asked.append(url))
    monkeypatch.delenv(VARIABLE, raising=False)
    tell("distill", "tickets", "completed", "Done.")
    assert asked == []
    monkeypatch.setenv(VARIABLE, "http://127.0.0.1:9/hook")
    tell("distill", "tickets", "completed", "Done.")
    assert asked == ["http://127.0.0.1:9/hook"]


def test_an_address_that_does_not_answer_is_a_warning(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(VARIABLE, "http://127.0.0.1:9/secret-token")
    with caplog.at_level(logging.WARNING, "remine.run"):
        tell("distill", "tickets", "failed", "It failed.")
    assert "could not be told" in caplog.text and "secret-token" not in caplog.text


def test_a_summary_is_told_by_its_verdict_and_an_idle_refresh_by_its_sentence() -> None:
    assert sentence_of(SimpleNamespace(verdict="Promoted round-1.")) == "Promoted round-1."
    idle = SimpleNamespace(data=SimpleNamespace(sentence="Nothing has changed since run 2."))
    assert sentence_of(idle) == "Nothing has changed since run 2."
