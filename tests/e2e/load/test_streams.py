"""Streamed responses of a server that records when it sent each token."""

from __future__ import annotations

from contextlib import contextmanager
from time import sleep
from typing import TYPE_CHECKING

import pytest
from tests.e2e.support.token_server import GAP_S, TOKENS, Quiet, Sent, model, serving

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.e2e.support.command import Loadpilot

SCENE = """
from loadpilot import LoadClient, VUser, scenario, task


@scenario(rps=20, duration="2s", mode="constant", thresholds={"p99_token_gap_ms": 10_000})
class Chat(VUser):
    @task
    def ask(self, client: LoadClient) -> None:
        client.post("/v1/chat", json={"prompt": "hello"}, stream="sse")
"""


def median(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]


@pytest.mark.slow
def test_tokens_are_those_that_the_server_sent(loadpilot: Loadpilot) -> None:
    """Broken if a token is missing or invented, if comments count, or if times differ from those of
    the server."""
    sent = Sent()
    with model(sent) as url:
        finished = loadpilot.run(SCENE, url, "--debug-requests", "1")
    report = finished.report
    assert finished.judged == 0, finished.stderr
    assert report["calls"]["outcomes"] == {"ok": 40}
    streams = report["streams"]
    assert streams["tokens"] == 40 * TOKENS == len(sent.first) + len(sent.gaps)
    assert streams["first_token"]["count"] == len(sent.first)
    assert streams["token_gap"]["count"] == len(sent.gaps)
    # Two digits of precision, and the time to the server.
    assert median(sent.first) * 0.98 <= streams["first_token"]["p50_us"]
    assert abs(streams["token_gap"]["p50_us"] - median(sent.gaps)) <= 0.25 * median(sent.gaps)
    assert streams["first_token_service"]["p50_us"] <= streams["first_token"]["p50_us"]
    assert "streams, ms" in finished.stdout
    assert "✓ p99_token_gap_ms" in finished.stdout
    (seen,) = report["exchanges"]
    assert seen["request"][0] == "POST /v1/chat"
    assert seen["answer"][0] == "HTTP/1.1 200 OK"
    assert "  < Content-Type: text/event-stream" in finished.stdout


@pytest.mark.slow
def test_a_gate_on_tokens_fails_where_nothing_streams(loadpilot: Loadpilot) -> None:
    """Broken if a gate passes because nothing was measured."""
    scene = SCENE.replace('stream="sse"', 'stream="lines"').replace("token_gap", "first_token")
    scene = scene.replace("/v1/chat", "/empty").replace('stream="lines"', "timeout=5")
    with model(Sent()) as url:
        finished = loadpilot.run(scene, url)
    assert finished.judged == 1, finished.stderr
    assert "✗ p99_first_token_ms" in finished.stdout


LISTENS = """
from loadpilot import LoadClient, VUser, scenario, task


@scenario(rps=20, duration="1s", mode="constant", timeout="10s", compile={compiles})
class Listens(VUser):
    @task
    {task}
"""
LIMITED = """def listen(self, client: LoadClient) -> None:
        client.stream("GET", "/events", tokens_max=3)
"""
LISTENED = """def listen(self, client: LoadClient) -> None:
        client.stream("GET", "/events", listen="300ms")
"""
READ = """def listen(self, client: LoadClient) -> None:
        answer = client.stream("GET", "/moved", tokens_max=3, follow_redirects=True)
        assert [event.data for event in answer.events()] == ["0", "1", "2"]
        assert answer.text.endswith("data: 2\\n\\n"), answer.text
"""
AWAITED = """async def listen(self, client: LoadClient) -> None:
        one = {"path": "/events", "stream": "sse", "listen": 0.3}
        for answer in await client.batch([one, one]):
            assert answer.status_code == 200
            got = [event.data for event in answer.events()]
            assert got == [str(number) for number in range(len(got))]
"""


@contextmanager
def endless(sent: list[int]) -> Iterator[str]:
    """A server that sends events until the client disconnects; `sent` gets the number of events of
    each response."""

    class Handler(Quiet):
        def do_GET(self) -> None:  # noqa: N802  (http.server calls it)
            self.send_response(302 if self.path == "/moved" else 200)
            self.send_header("Location", "/events")
            self.end_headers()
            number = 0
            try:
                while self.path == "/events":
                    self.wfile.write(b"event: news\ndata: %d\n\n" % number)
                    number += 1
                    sleep(GAP_S / 4)
            except OSError:
                sent.append(number)

    with serving(Handler) as url:
        yield url


@pytest.mark.parametrize(
    ("task", "streams", "hops", "tokens_each"),
    [(LIMITED, 20, 0, 3), (LISTENED, 20, 0, None), (READ, 20, 20, 3), (AWAITED, 40, 0, None)],
    ids=["tokens", "time", "tokens in Python", "time in Python"],
)
def test_a_stream_without_an_end_is_listened_to_as_long_as_asked(
    loadpilot: Loadpilot, task: str, streams: int, hops: int, tokens_each: int | None
) -> None:
    """Broken if a task cannot end a stream, if that counts as an error, or if the task reads more
    or fewer events than came until then."""
    sent: list[int] = []
    scene = LISTENS.format(task=task, compiles=task in {LIMITED, LISTENED})
    with endless(sent) as url:
        finished = loadpilot.run(scene, url)
    report = finished.report
    assert finished.judged == 0, finished.stderr
    assert report["calls"]["outcomes"] == {"ok": streams + hops}
    assert len(sent) == streams
    tokens = report["streams"]["tokens"]
    if tokens_each is None:
        assert 3 * streams < tokens <= sum(sent)
    else:
        assert tokens == tokens_each * streams
