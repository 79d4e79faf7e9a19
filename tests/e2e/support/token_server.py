"""A server that streams its responses token by token, and records when it sent each token."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from time import monotonic, sleep
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

TOKENS = 5
FIRST_S, GAP_S = 0.05, 0.02


class Sent:
    """Times at which the server sent tokens, by its own clock, in µs."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.first: list[float] = []
        self.gaps: list[float] = []

    def answered(self, received: float, times: list[float]) -> None:
        with self.lock:
            self.first.append((times[0] - received) * 1e6)
            self.gaps += [(b - a) * 1e6 for a, b in pairwise(times)]


class Quiet(BaseHTTPRequestHandler):
    """A handler without a log of its responses: the test counts."""

    def log_message(self, *_: object) -> None:
        """Nothing."""


@contextmanager
def serving(handler: type[Quiet]) -> Iterator[str]:
    """Starts a server on loopback; yields its URL. Its end waits for all open responses."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = False
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def model(sent: Sent) -> Iterator[str]:
    """Starts a server that streams its responses; yields its URL."""

    class Handler(Quiet):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            received = monotonic()
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            times = []
            for number in range(TOKENS):
                sleep(GAP_S if number else FIRST_S)
                self._chunk(b": keep-alive\n\n")
                self._chunk(b'data: {"token": %d}\n\n' % number)
                times.append(monotonic())
            self._chunk(b"")
            sent.answered(received, times)

        def _chunk(self, data: bytes) -> None:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            self.wfile.flush()

    with serving(Handler) as url:
        yield url
