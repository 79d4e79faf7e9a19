"""A metric server that answers late, once, byte by byte or with unexpected text."""

from __future__ import annotations

import socket
import threading
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from loadpilot.cli.sinks import metric_server
from loadpilot.cli.sinks.metric_server import TRIES, MetricServer
from loadpilot.cli.sinks.outs import Out, StandardOutput, read_outs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from loadpilot.cli.sinks.live_run import LiveRun
    from loadpilot.problem import Problem

POINTS = 3
OK = b"HTTP/1.1 204 No Content\r\n\r\n"
RUN = cast(
    "LiveRun",
    SimpleNamespace(reading=SimpleNamespace(metrics=lambda _kind, _now_us: (b"body", POINTS))),
)
"""A run with three points at every instant."""


class Server:
    """Answers each request with the next bytes of a list, and then with the last ones again and
    again."""

    def __init__(
        self,
        *answers: bytes,
        closes: bool = False,
        drop_secs: float = 0.0,
        holds: bool = False,
    ) -> None:
        self.requests: list[bytes] = []
        self.may_answer = threading.Event()
        """Set unless it ``holds`` its answers until a test sets it."""
        if not holds:
            self.may_answer.set()
        self._answers = list(answers)
        self._closes = closes
        self._drop_secs = drop_secs
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.out = Out("prometheus", f"http://127.0.0.1:{self._listener.getsockname()[1]}")
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection:
                while self._answer(connection) and not self._closes:
                    pass

    def _answer(self, connection: socket.socket) -> bool:
        request = b""
        while not request.endswith(b"\r\n\r\nbody"):
            read = connection.recv(4096)
            if not read:
                return False
            request += read
        self.requests.append(request)
        self.may_answer.wait()
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if not self._drop_secs:
            connection.sendall(answer)
            return True
        for byte in answer:
            try:
                connection.sendall(bytes([byte]))
            except OSError:
                return False
            time.sleep(self._drop_secs)
        return True


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Server]]:
    monkeypatch.setattr(metric_server, "PUSH_SECS", 0.0)
    monkeypatch.setattr(metric_server, "RETRY_SECS", 0.01)
    servers: list[Server] = []

    def start(*answers: bytes, **how: Any) -> Server:
        servers.append(Server(*answers, **how))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


def sent(server: Server, messages: int) -> MetricServer:
    """A sink that has sent this number of messages and the last one, or has given up."""
    sink = MetricServer(server.out)
    for number in range(1, messages + 1):
        sink.take(RUN)
        give_up = time.monotonic() + 5
        while len(server.requests) < number and time.monotonic() < give_up:
            time.sleep(0.01)
    sink.finish(RUN)
    sink.wait(time.monotonic() + 2)
    return sink


def test_a_message_is_sent_again_to_a_server_that_recovers(serve: Callable[..., Server]) -> None:
    """Broken if a message is lost because its server restarts."""
    server = serve(b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n", OK)
    sink = sent(server, 2)
    assert (sink.trouble(), sink.summary()) == (None, "9 points")
    assert len(server.requests) == 4


def test_a_kept_connection_that_closed_is_opened_again(serve: Callable[..., Server]) -> None:
    """Broken if points are lost because a server closes idle connections."""
    server = serve(OK, closes=True)
    sink = sent(server, 3)
    assert (sink.trouble(), sink.summary()) == (None, "12 points")


def test_a_message_that_is_refused_is_sent_once(serve: Callable[..., Server]) -> None:
    """Broken if a refused message is sent again, or if the server's text controls or fills the
    terminal."""
    words = b"\x1b[2Jno\nmore" + b"x" * 70_000
    head = f"HTTP/1.1 400 Bad\r\nContent-Length: {len(words)}\r\n\r\n".encode()
    server = serve(head + words)
    sink = sent(server, 1)
    assert len(server.requests) == 2
    assert sink.trouble() == "it answered 400: \x1b[2Jno; it misses 6 of 6 points"
    failing = serve(b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n")
    sink = sent(failing, 0)
    assert 2 <= len(failing.requests) <= TRIES
    assert sink.trouble() == "it answered 500; it misses 3 of 3 points"


@pytest.mark.parametrize("answer", [b"SSH-2.0-OpenSSH_9.2\r\n", b"\0" * 100, b"HTTP/1.1 2"])
def test_a_server_of_something_else(serve: Callable[..., Server], answer: bytes) -> None:
    """Broken if an answer that is not HTTP ends the thread, or counts as an acceptance."""
    sink = sent(serve(answer, closes=True), 2)
    trouble = sink.trouble()
    assert trouble is not None
    assert trouble.endswith("; it misses 9 of 9 points")


@pytest.mark.timed
def test_an_answer_in_drops_holds_up_nothing(serve: Callable[..., Server]) -> None:
    """Broken if a server that sends a byte now and then delays the end of a run."""
    begun = time.monotonic()
    sink = sent(serve(OK, drop_secs=0.5), 1)
    assert time.monotonic() - begun < 5
    assert sink.trouble() == "it took too long to respond; it misses 6 of 6 points"


def test_the_last_message_overtakes_those_that_wait(serve: Callable[..., Server]) -> None:
    """Broken if a slow server gets the final counts only after old ones, or if messages that it
    never got are not counted."""
    server = serve(OK, holds=True)
    sink = MetricServer(server.out)
    for _ in range(5):
        sink.take(RUN)
    give_up = time.monotonic() + 5
    while not server.requests and time.monotonic() < give_up:
        time.sleep(0.01)
    sink.finish(RUN)
    server.may_answer.set()
    sink.wait(time.monotonic() + 5)
    assert len(server.requests) == 2
    assert sink.trouble() == "it was too slow; it misses 12 of 18 points"


@pytest.mark.parametrize("name", ["p", "password", "token", "key", "authkey", "Access_Token"])
def test_a_password_in_a_query_is_sent_over_https_only(name: str) -> None:
    """Broken if a password in a query crosses a network unencrypted, while one in ann:password@ may
    not."""
    for address, is_taken in (
        (f"http://example.com/w?a=b&{name}=hunter2", False),
        (f"https://example.com/w?a=b&{name}=hunter2", True),
        (f"http://localhost/w?a=b&{name}=hunter2", True),
        ("http://example.com/w?db=shop", True),
    ):
        problems: list[Problem] = []
        stdout = StandardOutput(quiet=True, product=None)
        assert bool(read_outs([f"otlp={address}"], {}, stdout, problems)) == is_taken
        assert is_taken or "otlp must be https where it has" in problems[0].what


ADDRESSES = ["http://a..b:9/", f"http://{'a' * 64}.example/", "http://127.0.0.1:9/\u00fc"]


@pytest.mark.parametrize("address", ADDRESSES)
def test_an_address_that_cannot_be_encoded(address: str) -> None:
    """Broken if an invalid address starts a run, or ends the thread with a traceback."""
    problems: list[Problem] = []
    stdout = StandardOutput(quiet=True, product=None)
    assert not read_outs([f"prometheus={address}"], {}, stdout, problems)
    assert [one.what[:31] for one in problems] == ["prometheus must be http://host["]
    sink = MetricServer(Out("prometheus", address))
    sink.finish(RUN)
    sink.wait(time.monotonic() + 2)
    trouble = sink.trouble() or ""
    assert trouble.endswith("; it misses 3 of 3 points")
    assert "too slow" not in trouble
