"""A target with a base path: every call is below it, in each way to run a scenario.

The target is a server in this file, which records each request line and its cookie.
"""

from __future__ import annotations

import threading
from collections import Counter
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.e2e.support.command import Loadpilot

RPS = 10
HEAD = "from loadpilot import LoadClient, VUser, scenario, task\n\n"
SAID = f'rps={RPS}, duration="1s", mode="constant", users=1'
STATIC = (
    HEAD
    + f"""
@scenario(rps={RPS}, duration="1s", mode="constant")
class Shop(VUser):
    @task
    def look(self, client: LoadClient) -> None:
        client.get("/items", params={{"page": 1}})
"""
)
FOLLOWED = (
    HEAD
    + """
@scenario({said})
class Shop(VUser):
    def on_start(self, client: LoadClient) -> None:
        client.post("/login").raise_for_status()

    @task
    def look(self, client: LoadClient) -> None:
        client.get("/here", follow_redirects=True).raise_for_status()
        client.get("/there", follow_redirects=True).raise_for_status()
"""
)
LEADS = {"/api/v2/here": "items?page=2", "/api/v2/there": "/outside"}
SEEN = {
    ("/api/v2/login", None): 1,
    ("/api/v2/here", "kept=1"): RPS,
    ("/api/v2/items?page=2", "kept=1"): RPS,
    ("/api/v2/there", "kept=1"): RPS,
    ("/outside", None): RPS,
}
"""Paths with the cookie in their request. The cookie is only for the base path."""


@contextmanager
def target() -> Iterator[tuple[str, Counter[tuple[str, str | None]]]]:
    """Starts a server below /api/v2; yields its address and the requests that it received."""
    seen: Counter[tuple[str, str | None]] = Counter()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            seen[self.path, self.headers["cookie"]] += 1
            location = LEADS.get(self.path)
            known = location or self.path.startswith("/api/v2/") or self.path == "/outside"
            self.send_response(302 if location else 200 if known else 404)
            if location:
                self.send_header("Location", location)
            if self.path == "/api/v2/login":
                self.send_header("Set-Cookie", "kept=1; Path=/api/v2")
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        do_POST = do_GET  # noqa: N815  (the names are those of http.server)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", seen
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_requests_as_data_are_below_the_base_path(loadpilot: Loadpilot) -> None:
    """Broken if a target with a path is refused, or if its path is dropped or sent twice."""
    with target() as (url, seen):
        finished = loadpilot.run(STATIC, f"{url}/api/v2/", "--connect-to", url.partition("//")[2])
    assert finished.judged == 0, finished.stderr
    assert seen == {("/api/v2/items?page=1", None): RPS}
    report = finished.report
    assert report["target_url"] == f"{url}/api/v2"
    (task,) = report["tasks"]
    assert [call["name"] for call in task["calls"]] == ["GET /items"]


@pytest.mark.slow
@pytest.mark.parametrize("way", ["compiled", "Python"])
def test_redirects_and_cookies_know_the_base_path(way: str, loadpilot: Loadpilot) -> None:
    """Broken if a redirect is resolved without the base path or cannot leave it, or if a cookie of
    the base path is lost or sent to other paths."""
    said = SAID if way == "compiled" else f"{SAID}, compile=False"
    with target() as (url, seen):
        finished = loadpilot.run(FOLLOWED.format(said=said), f"{url}/api/v2")
    assert finished.judged == 0, finished.stderr
    assert f"execution  {way}" in finished.stderr
    assert seen == SEEN
    (task,) = finished.report["tasks"]
    assert not task.get("raised")
