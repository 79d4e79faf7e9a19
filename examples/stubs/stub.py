"""The server of the stubs: a small HTTP/1.1 server that counts accepted and refused requests.

`GET /counts` returns the counts. Ctrl-C ends it. It is too slow for measurements.
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
from collections import Counter
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

BODY_BYTES_MAX = 8 * 1024 * 1024
"""Maximum size of a request body."""


class Refused(Exception):
    """A request that a real server would reject, with the reason."""


@dataclass
class Answer:
    """An HTTP answer."""

    content: bytes
    content_type: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)
    status: int = 200


def as_json(value: object) -> Answer:
    """Answer with JSON."""
    return Answer(json.dumps(value).encode())


class Server(ThreadingHTTPServer):
    """Answers with `respond(method, path, headers, body)`, which may raise Refused."""

    daemon_threads = True

    def __init__(
        self, respond: Callable[[str, str, Mapping[str, str], bytes], Answer], port: int
    ) -> None:
        self.respond = respond
        self.counts: Counter[str] = Counter()
        self.lock = threading.Lock()
        super().__init__(("127.0.0.1", port), Handler)


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    server: Server
    protocol_version = "HTTP/1.1"
    # Sends head and body together; sent apart, each answer would wait for an acknowledgement.
    wbufsize = 1 << 16
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        """Return the counts, or answer as the server does."""
        if self.path == "/counts":
            with self.server.lock:
                self.answer(200, as_json(self.server.counts))
        else:
            self.respond(b"")

    def do_POST(self) -> None:
        """Answer as the server does."""
        length = self.headers.get("Content-Length", "")
        if length.isdigit() and int(length) <= BODY_BYTES_MAX:
            self.respond(self.rfile.read(int(length)))
        else:
            self.close_connection = True
            self.answer(411, as_json({"error": f"Content-Length {length!r}"}))

    do_PUT = do_PATCH = do_POST  # noqa: N815
    do_DELETE = do_HEAD = do_OPTIONS = do_GET  # noqa: N815

    def respond(self, body: bytes) -> None:
        """Answer one request, and count it."""
        try:
            answer = self.server.respond(self.command, self.path, self.headers, body)
            status = answer.status
        except Refused as refused:
            print(f"refused: {refused}", file=sys.stderr, flush=True)
            answer, status = as_json({"error": str(refused)}), 400
        with self.server.lock:
            self.server.counts[f"{self.command} {self.path} {status}"] += 1
        self.answer(status, answer)

    def answer(self, status: int, answer: Answer) -> None:
        """Write an answer."""
        self.send_response(status)
        self.send_header("Content-Type", answer.content_type)
        self.send_header("Content-Length", str(len(answer.content)))
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Log no requests."""


def serve(respond: Callable[[str, str, Mapping[str, str], bytes], Answer], port: int) -> None:
    """Serve until Ctrl-C, then print the counts."""
    with Server(respond, port) as server:
        print(f"listening on http://127.0.0.1:{server.server_port}", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print(json.dumps(server.counts), flush=True)


def port_of(description: str, default: int) -> int:
    """Read `--port` from the command line; 0 takes any free port."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--port", type=int, default=default)
    return int(parser.parse_args().port)
