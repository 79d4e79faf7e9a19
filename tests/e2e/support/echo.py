"""A server that answers with the content of the request, and records it."""

from __future__ import annotations

import gzip
import re
import threading
import zlib
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

if TYPE_CHECKING:
    from collections.abc import Iterator
    from ssl import SSLContext

NOT_COMPARED = {"user-agent", "accept", "accept-encoding", "connection", "host", "x-request-id"}
"""Headers that each client adds with values of its own."""
Answers = dict[str, tuple[str, bytes]]
"""Content coding and body by path."""
BOUNDARY, RANDOM = re.compile(rb"[0-9a-f]{32}"), re.compile(r"[0-9a-f]{32}")


class Echo(BaseHTTPRequestHandler):
    """Records every request, and answers by its path."""

    protocol_version = "HTTP/1.1"
    received: list[tuple[str, str, list[tuple[str, str]], bytes]]
    answers: Answers

    def do(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        body = self.rfile.read(length)
        headers = [(name.lower(), value) for name, value in self.headers.items()]
        compared = sorted(pair for pair in headers if pair[0] not in NOT_COMPARED)
        compared = [(name, RANDOM.sub("B", value)) for name, value in compared]
        self.received.append((self.command, self.path, compared, BOUNDARY.sub(b"B", body)))
        self.answer()

    do_GET = do_POST = do_PUT = do_PATCH = do  # noqa: N815
    do_DELETE = do_OPTIONS = do_HEAD = do  # noqa: N815

    def answer(self) -> None:  # noqa: C901  (a path each)
        path = self.path.partition("?")[0]
        status, headers, body = 200, [("X-Twice", "1"), ("X-Twice", "2")], b'{"ok": true}'
        if path == "/set-cookies":
            headers += [
                ("Set-Cookie", "sid=s-1; HttpOnly"),
                ("Set-Cookie", "deep=d-1; Path=/deep"),
                ("Set-Cookie", "gone=g; Max-Age=0"),
                ("Set-Cookie", "safe=x; Secure"),
            ]
        elif path == "/set-prefixed-cookies":
            headers += [
                ("Set-Cookie", "__Host-sid=h-1; Path=/; Secure; HttpOnly"),
                ("Set-Cookie", "__Secure-id=s-1; secure; Path=/"),
            ]
        elif path.startswith("/redirect/"):
            status = int(path.split("/")[2])
            headers.append(("Location", "/landed?from=" + path.split("/")[3]))
        elif path.startswith("/redirect-relative/"):
            status = 302
            headers.append(("Location", "../there"))
        elif path.startswith("/redirect-to/"):
            status = 302
            headers.append(("Location", unquote(path.split("/")[2])))
        elif path in self.answers:
            coding, body = self.answers[path]
            headers.append(("Content-Encoding", coding))
        elif path == "/gzip":
            headers.append(("Content-Encoding", "gzip"))
            body = gzip.compress(b"packed " * 100)
        elif path == "/deflate":
            headers.append(("Content-Encoding", "deflate"))
            body = zlib.compress(b"packed " * 100)
        elif path == "/latin":
            headers.append(("Content-Type", "text/plain; charset=iso-8859-1"))
            body = "grün".encode("latin-1")
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def echo(
    tls: SSLContext | None = None, answers: Answers | None = None
) -> Iterator[tuple[str, list[Any]]]:
    """Starts a server, over TLS if there is a context; yields its address and the requests that it
    receives."""
    received: list[Any] = []
    handler = type("Handler", (Echo,), {"received": received, "answers": answers or {}})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        scheme = "http" if tls is None else "https"
        yield f"{scheme}://127.0.0.1:{server.server_port}", received
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
