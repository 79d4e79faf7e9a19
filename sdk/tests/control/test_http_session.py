"""A request that a proxy of a coordinator answers with 429 is sent again after Retry-After."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest

from loadpilot import _native
from loadpilot.control.coordinator_address import Api
from loadpilot.control.http_session import RETRIES_MAX, HttpSession

if TYPE_CHECKING:
    from collections.abc import Iterator

BODY = b'{"error": "slow down"}'


@contextmanager
def answering(*answers: tuple[int, str | None]) -> Iterator[tuple[str, list[bytes]]]:
    """A server that gives these answers in turn, and the last one for ever; it keeps the bodies
    that it read."""
    bodies: list[bytes] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            status, later = answers[min(len(bodies), len(answers)) - 1]
            self.send_response(status)
            if later is not None:
                self.send_header("Retry-After", later)
            self.send_header("Content-Length", str(len(BODY)))
            self.end_headers()
            self.wfile.write(BODY)

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", bodies
        finally:
            server.shutdown()
            thread.join()


def test_a_limited_request_is_sent_again() -> None:
    """Broken if a run fails because a proxy asked the command to wait a moment."""
    with answering((429, "0"), (429, "0"), (200, None)) as (url, bodies):
        assert HttpSession(Api(url, None, None)).ask("POST", "/run", {"a": 1}) == BODY
    assert bodies == [b'{"a":1}'] * 3


@pytest.mark.parametrize(
    ("status", "later", "sent"),
    [(429, "0", RETRIES_MAX + 1), (429, "3600", 1), (429, "x", 1), (429, None, 1), (503, "0", 1)],
)
def test_no_other_answer_is_asked_for_again(status: int, later: str | None, sent: int) -> None:
    """Broken if the command waits for hours, without end, or repeats a request that may have been
    executed."""
    with answering((status, later)) as (url, bodies), pytest.raises(_native.Fault, match="slow"):
        HttpSession(Api(url, None, None)).ask("POST", "/run", {})
    assert len(bodies) == sent
