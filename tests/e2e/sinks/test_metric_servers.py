"""`loadpilot run --out prometheus=URL` and `otlp=URL`: a metrics server gets the counts of the
report, and dead, silent or failing servers do no harm."""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Self

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.e2e.sinks.prometheus import Prometheus
    from tests.e2e.support.command import Finished, Loadpilot
    from tests.oracle.oracle import Oracle

RPS, SECS = 100, 6
SHOP = f"""
from loadpilot import VUser, scenario, task

@scenario(rps={RPS}, duration="{SECS}s", mode="constant", warm_up="1s")
class Shop(VUser):
    @task(weight=3)
    def quick(self, client):
        client.get("/quick")

    @task
    def slow(self, client):
        client.get("/slow")
"""


@pytest.mark.slow
def test_prometheus_has_the_counts_of_the_report(
    loadpilot: Loadpilot, oracle: Oracle, prometheus: Prometheus
) -> None:
    """Broken if a count in Prometheus differs from the report and the target, if no data comes
    before the end, or if a histogram has other times."""
    oracle.delay(30, path="/slow")
    oracle.status(500, path="/slow", fraction=0.3)
    url = f"http://{prometheus.address}"
    finished = loadpilot.run(SHOP, oracle.url, "--out", f"prometheus={url}", "--agents", "2")
    assert finished.judged in {0, 1}, finished.stderr
    report, run = finished.report, f'run="{finished.run}",scenario="Shop",job="loadpilot"'
    assert f"out prometheus={url}/api/v1/write: " in finished.stderr
    calls = prometheus.query(f"sum by (outcome) (loadpilot_calls_total{{{run}}})")
    assert calls == {name: n for name, n in report["calls"]["outcomes"].items() if n}
    assert sum(calls.values()) == RPS * SECS == len(oracle.requests())
    assert calls["http_5xx"] > 0
    started = prometheus.query(f"sum by (task) (loadpilot_arrivals_started_total{{{run}}})")
    assert started == {one["name"]: one["arrivals"]["started"] for one in report["tasks"]}
    counted = prometheus.query(f"sum by (call) (loadpilot_request_duration_seconds_count{{{run}}})")
    received = Counter(one.route for one in oracle.requests())
    assert counted == {f"GET {route}": n for route, n in received.items()}
    total = prometheus.query(f'sum(loadpilot_request_duration_seconds_bucket{{{run},le="+Inf"}})')
    assert list(total.values()) == [RPS * SECS]
    slow = f'{run},call="GET /slow"'
    service = "loadpilot_request_service_duration_seconds"
    least = prometheus.query(f'sum({service}_bucket{{{slow},le="0.025"}})')
    assert list(least.values()) == [0]
    mean = prometheus.query(f"sum({service}_sum{{{slow}}}) / sum({service}_count{{{slow}}})")
    exact = [one.service_us for one in oracle.requests() if one.route == "/slow"]
    assert next(iter(mean.values())) >= sum(us for us in exact if us) / len(exact) / 1e6 * 0.99
    points = prometheus.points(
        f'loadpilot_arrivals_started_total{{{run},task="quick"}}[5m]',
    )
    assert len(points) >= 3
    assert points == sorted(points)
    assert 0 < points[1] < points[-1] == started["quick"]


class Receiver:
    """A server on loopback that records the bodies of requests and answers as configured."""

    def __init__(self, answer: Callable[[BaseHTTPRequestHandler], None]) -> None:
        self.bodies: list[bytes] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                length = int(self.headers["Content-Length"])
                receiver.bodies.append(self.rfile.read(length))
                receiver.headers.append(dict(self.headers))
                receiver.paths.append(self.path)
                answer(self)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.address = f"127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def answering(status: int, body: bytes = b"") -> Callable[[BaseHTTPRequestHandler], None]:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    return answer


def fields(message: bytes) -> Iterator[tuple[int, Any]]:
    """The fields of a protobuf message: numbers, and bytes of texts and messages."""
    at = 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
        elif key & 7 == 1:
            yield key >> 3, struct.unpack_from("<q", message, at)[0]
            at += 8
        else:
            assert key & 7 == 2
            size = varint()
            yield key >> 3, message[at : at + size]
            at += size


def inside(message: bytes, *path: int) -> Iterator[Any]:
    """The values at a path of field numbers."""
    for number, value in fields(message):
        if number == path[0]:
            yield from inside(value, *path[1:]) if len(path) > 1 else [value]


def otlp_counts(body: bytes, name: str) -> Counter[tuple[str, ...]]:
    """The data points of a sum in an OTLP message, by the values of their attributes."""
    counts: Counter[tuple[str, ...]] = Counter()
    for metric in inside(body, 1, 2, 2):
        if [name.encode()] == list(inside(metric, 1)):
            for point in inside(metric, 7, 1):
                values = tuple(text.decode() for text in inside(point, 7, 2, 1))
                (counts[values],) = inside(point, 6)
    return counts


@pytest.mark.slow
def test_a_collector_has_the_counts_of_the_report(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if a count in OTLP differs from the report, or if a password is shown or not sent."""
    oracle.status(404, path="/slow", fraction=0.5)
    with Receiver(answering(200)) as receiver:
        out = f"otlp=http://ann:hunter2@{receiver.address}"
        finished = loadpilot.run(SHOP, oracle.url, "--out", out, "-v")
    assert finished.judged in {0, 1}, finished.stderr
    assert "hunter2" not in finished.stderr + finished.stdout
    assert f"out otlp=http://{receiver.address}/v1/metrics: " in finished.stderr
    assert set(receiver.paths) == {"/v1/metrics"}
    assert {one["Authorization"] for one in receiver.headers} == {"Basic YW5uOmh1bnRlcjI="}
    assert {one["Content-Type"] for one in receiver.headers} == {"application/x-protobuf"}
    assert len(receiver.bodies) >= 3
    counts: Counter[str] = Counter()
    last = otlp_counts(receiver.bodies[-1], "loadpilot.calls")
    for (run, scenario, _task, _call, outcome), count in last.items():
        assert (run, scenario) == (finished.run, "Shop")
        counts[outcome] += count
    assert counts == {k: n for k, n in finished.report["calls"]["outcomes"].items() if n}
    assert counts.total() == len(oracle.requests()) == RPS * SECS


def warning(finished: Finished, label: str) -> str:
    lines = [one for one in finished.stderr.splitlines() if f"warning: --out {label}" in one]
    assert len(lines) == 1, finished.stderr
    return lines[0]


@pytest.mark.slow
@pytest.mark.timed
def test_a_bad_server_costs_its_points_only(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if a dead, silent, failing or lying server changes the load or the exit code or delays
    the end, or if no message names it with the data that it missed."""
    never = threading.Event()
    rejecting = bytes([10, 8, 8, 1, 18, 4]) + b"full"
    with (
        socket.socket() as dead,
        Receiver(lambda _handler: never.wait(60) and None) as silent,
        Receiver(answering(500, b"no room\nat all")) as failing,
        Receiver(answering(200, rejecting)) as lying,
        Receiver(answering(301)) as moved,
    ):
        dead.bind(("127.0.0.1", 0))  # bound and not listening: connections are refused
        ports = (
            dead.getsockname()[1],
            *(s.address.split(":")[1] for s in (silent, failing, moved)),
        )
        labels = [f"prometheus=http://127.0.0.1:{port}/api/v1/write" for port in ports]
        labels.append(f"otlp=http://{lying.address}/v1/metrics")
        flags = [text for label in labels for text in ("--out", label)]
        begun = time.monotonic()
        finished = loadpilot.run(SHOP, oracle.url, *flags)
        took = time.monotonic() - begun
        never.set()
    assert finished.judged == 0, finished.stderr
    assert finished.report["arrivals"]["started"] == RPS * SECS == len(oracle.requests())
    assert took < SECS + 20
    refused, unanswered, failed, moved_on, rejected = (warning(finished, one) for one in labels)
    assert "Connection refused; it misses " in refused
    assert "no response within 5 s; it misses " in unanswered
    assert "it answered 500: no room; it misses " in failed
    assert "it answered 301; it misses " in moved_on
    for line in (refused, unanswered, failed, moved_on):
        missed, offered = line.removesuffix(" points").split("misses ")[1].split(" of ")
        assert missed == offered, line
    assert "it rejected points: full; it misses " in rejected
    missed, offered = rejected.removesuffix(" points").split("misses ")[1].split(" of ")
    assert int(missed.replace(",", "")) == len(lying.bodies) < int(offered.replace(",", ""))


@pytest.mark.parametrize(
    ("out", "words"),
    [
        ("promtheus=http://127.0.0.1:1", "did you mean prometheus=?"),
        ("prometheus=127.0.0.1:9090", "prometheus must be http://host[:port][/path] or https"),
        ("otlp=http://127.0.0.1:port", "such as http://localhost:9090/v1/metrics"),
        ("otlp=http://ann:hunter2@example.com", "must be https where it has a user"),
        ("http://ann:hunter2@example.com/?a=b", "--out: must be KIND=URI"),
    ],
)
def test_a_wrong_address_is_named_before_the_start(
    loadpilot: Loadpilot, oracle: Oracle, out: str, words: str
) -> None:
    """Broken if a run starts with an invalid address, or if a password is printed."""
    refused = loadpilot.run(SHOP, oracle.url, "--out", out)
    assert (refused.code, words in refused.stderr) == (2, True), refused.stderr
    assert "hunter2" not in refused.stderr
    assert not loadpilot.log.exists()
