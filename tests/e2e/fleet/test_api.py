"""A coordinator that accepts runs over HTTP. The target counts, and the caller shares no code with
the product."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

import pytest
from tests.e2e.support.command import SCENARIOS, Loadpilot
from tests.e2e.support.fleet import Fleet, free_port
from tests.e2e.support.http_calls import PATIENCE_S, Caller

if TYPE_CHECKING:
    from tests.oracle.oracle import Oracle

WEIGHTED = SCENARIOS / "weighted.py"
RPS, SECS = 50, 2
SHORT = ("--rps", str(RPS), "--duration", f"{SECS}s")
PLANNED = RPS * SECS
GRACE_US = 2_000_000
"""Maximum time for which load may go on after a stop."""
FIELDS = {
    *("timestamp_secs", "elapsed_secs", "current_rps", "target_rps", "requests_total"),
    *("errors_total", "active_workers", "phase", "latency", "tasks"),
}
LATENCY = {"p50_ms", "p95_ms", "p99_ms", "max_ms", "min_ms", "mean_ms"}
MEMORY_KIB_MAX = 400_000
"""Far above the memory of a coordinator, far below the size of all hostile bodies together."""


@pytest.fixture
def caller(fleet: Fleet) -> Caller:
    """A caller of a coordinator that has one agent."""
    port = free_port()
    fleet.coordinator("--http", f"127.0.0.1:{port}")
    fleet.agent("a-1")
    return Caller(port)


def plan(loadpilot: Loadpilot, oracle: Oracle, *flags: str) -> dict[str, Any]:
    """The plan of a scenario, as the command prints it."""
    compiled = loadpilot.run(WEIGHTED, oracle.url, "--dry-run", *(flags or SHORT))
    assert compiled.code == 0, compiled.stderr
    found: dict[str, Any] = json.loads(compiled.stdout)
    return found


def logged(loadpilot: Loadpilot, fleet: Fleet) -> list[str]:
    """The runs of the log, a row each."""
    return loadpilot.call("runs", "--nats-url", fleet.url).stdout.splitlines()[1:]


@pytest.mark.slow
def test_a_plan_alone_is_run_and_reported(
    fleet: Fleet, caller: Caller, loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if the HTTP interface reports other figures than the target or the log."""
    assert caller.ask("GET", "/healthz").body == b"ok\n"
    assert caller.ask("GET", "/readyz").status == 200
    answer = caller.ask("POST", "/run", plan(loadpilot, oracle))
    assert (answer.status, answer.kind) == (200, "application/x-ndjson"), answer.body
    *snapshots, last = answer.lines
    assert len(snapshots) >= SECS
    for snapshot in snapshots:
        assert snapshot.keys() >= FIELDS
        assert snapshot["latency"].keys() == LATENCY
    totals = [snapshot["requests_total"] for snapshot in snapshots]
    assert totals == sorted(totals)
    assert oracle.counts().received == PLANNED == last["requests_total"]
    assert (last["passed"], last["ending"], last["errors_total"]) == (True, "completed", 0)
    shown = loadpilot.call("report", last["run_id"], "--json", "--nats-url", fleet.url)
    report = json.loads(shown.stdout)
    assert report["digest"] == last["digest"]
    for key in ("p50_ms", "p99_ms", "max_ms", "rps_actual", "duration_secs", "scenario"):
        assert report[key] == last[key], key
    over_http = caller.ask("GET", f"/run/{last['run_id']}/report")
    assert over_http.json == report
    figures = caller.ask("GET", "/metrics").body.decode()
    assert re.search(r'loadpilot_coordinator_decisions_total\{end="stored"\} [1-9]', figures)
    assert 'loadpilot_coordinator_http_answers_total{route="/run",code="200"} 1' in figures
    assert "loadpilot_coordinator_agents_heard 1" in figures


@pytest.mark.slow
def test_a_request_says_who_how_many_and_which_seed(
    fleet: Fleet, caller: Caller, loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if a run without a follower is stopped, or if the run differs from the request."""
    fleet.agent("a-2")
    request = {"plan": plan(loadpilot, oracle), "seed": 42, "agents": {"want": 2}}
    answer = caller.ask("POST", "/run?detach=true", request)
    assert answer.status == 202, answer.body
    run = answer.json["run_id"]
    assert oracle.wait_count(1, 60)
    wanted = "loadpilot_coordinator_agents_wanted"
    assert f"{wanted} 2\n" in caller.ask("GET", "/metrics").body.decode()
    assert oracle.wait_count(PLANNED, 60)
    followed = caller.ask("POST", "/run", {**request, "run": run})
    assert followed.status == 400
    assert "run: must be new" in followed.problems
    second = caller.ask("POST", "/run", {**request, "seed": 43})
    assert second.status == 200
    report = caller.ask("GET", f"/run/{run}/report").json
    assert (report["run"]["seed"], report["run"]["state"]) == (42, "sealed")
    assert f"{wanted} 0\n" in caller.ask("GET", "/metrics").body.decode()
    assert {one["holder"]["agent"] for one in report["run"]["holders"]} == {"a-1", "a-2"}
    assert oracle.counts().received == 2 * PLANNED


@pytest.mark.slow
def test_a_run_without_able_agents_is_a_conflict(
    caller: Caller, loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if a caller learns only from a stream that nothing was started."""
    request = {"plan": plan(loadpilot, oracle), "agents": {"want": 2, "wait_us": 1_000_000}}
    answer = caller.ask("POST", "/run", request)
    assert answer.status == 409, answer.body
    assert "agents" in answer.problems
    assert "at least 2 must offer capacity within 1 s" in answer.problems
    request = {"plan": plan(loadpilot, oracle), "needs": ["zone=eu"]}
    request["agents"] = {"want": 1, "wait_us": 500_000}
    assert caller.ask("POST", "/run", request).status == 409
    assert oracle.counts().received == 0


@pytest.mark.timed
def test_a_caller_that_goes_away_stops_its_run(
    fleet: Fleet, caller: Caller, loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if load goes on after its caller has disconnected."""
    long = plan(loadpilot, oracle, "--rps", "50", "--duration", "60s")
    stream = caller.follow("/run", long)
    assert oracle.wait_count(50, 60)
    stream.hang_up()
    (row,) = wait_for_end(loadpilot, fleet)
    assert " stopped " in row
    received = oracle.counts()
    assert received.received < 50 * 20
    shown = loadpilot.call("report", "last", "--json", "--nats-url", fleet.url)
    report = json.loads(shown.stdout)
    assert "the HTTP API: its caller is gone" in str(report["story"])
    assert report["calls"]["attempted"] == received.received
    stopped = next(one for one in report["story"] if "stop requested" in one["text"])
    assert received.last_us is not None
    assert received.last_us - stopped["at"] < GRACE_US

    waiting = caller.follow("/run?events=true", {"plan": long, "agents": {"want": 9}})
    assert "accepted" in next(waiting.lines())
    waiting.hang_up()
    rows = wait_for_end(loadpilot, fleet)
    assert len(rows) == 2
    assert oracle.counts().received == received.received


def wait_for_end(loadpilot: Loadpilot, fleet: Fleet) -> list[str]:
    """Waits until no run goes on; returns the rows of all runs."""
    for _ in range(60):
        rows = logged(loadpilot, fleet)
        going = ("requested", "gathering", "preparing", "running", "stopping")
        if rows and not any(f" {state} " in row for row in rows for state in going):
            return rows
    raise AssertionError(rows)


HEADERS: dict[str, dict[str, str]] = {
    "page": {"Origin": "http://evil.test"},
    "name": {"Host": "evil.test:80"},
    "kind": {"Content-Type": "text/plain"},
}


@pytest.mark.slow
def test_nothing_hostile_starts_anything(
    fleet: Fleet, caller: Caller, loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if a body that is too large, too deep or ambiguous costs more than a response, or if a
    page in a browser can start load."""
    sound = plan(loadpilot, oracle)
    text = json.dumps(sound).encode()
    deep = b'{"plan":' + b"[" * 10_000 + b"]" * 10_000 + b"}"
    twice = text[:-1] + b',"warm_up_us":0}'
    long_key = b'{"' + b"k" * 5_000_000 + b'":1}'
    for body, status, problem in (
        (b"", 400, "body: cannot be read"),
        (b"{", 400, "body: cannot be read"),
        (b"[]", 400, "body: cannot be read"),
        (text + b"{}", 400, "body: cannot be read"),
        (deep, 400, "body: cannot be read"),
        (twice, 400, 'the key "warm_up_us" stands twice'),
        (long_key, 400, "plan."),
        (text.replace(b'"GET"', b'"STEAL"'), 400, "method"),
        (b'{"plan":' + text + b',"agents":{"want":-1}}', 400, "agents.want: cannot be read"),
        (b'{"plan":' + text + b',"agents":{"want":0}}', 400, "agents.want: must be 1 to 10000"),
        (b'{"plan":' + text + b',"nonsense":1}', 400, "unknown field `nonsense`"),
        (json.dumps({**sound, "target": "ftp://x"}).encode(), 400, "target: must"),
    ):
        answer = caller.ask("POST", "/run", body)
        assert answer.status == status, (body[:80], answer.body[:300])
        assert problem in answer.problems, (body[:80], answer.body[:300])
        assert len(answer.body) < 4_000, body[:80]
    for name, status in (("page", 403), ("name", 403), ("kind", 415)):
        assert caller.ask("POST", "/run", sound, HEADERS[name]).status == status, name
    assert caller.ask("POST", "/run?detatch=true", sound).status == 400
    assert caller.ask("GET", "/run").status == 405
    assert caller.ask("GET", "/run/nonsense/report").status == 404
    assert caller.ask("POST", "/run/nonsense/stop", b"").status == 404
    assert caller.ask("GET", "/").status == 404
    too_large(caller)
    assert memory_peak_kib(fleet) < MEMORY_KIB_MAX
    assert logged(loadpilot, fleet) == []
    assert oracle.counts().received == 0
    assert caller.ask("POST", "/run", sound).status == 200
    assert oracle.counts().received == PLANNED


def too_large(caller: Caller) -> None:
    """A body with a length is refused unread; a body without one is cut off at the limit."""
    with socket.create_connection(("127.0.0.1", caller.port), timeout=PATIENCE_S) as raw:
        head = "POST /run HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        raw.sendall(f"{head}Content-Length: 40000000000\r\n\r\n".encode())
        assert raw.recv(64).startswith(b"HTTP/1.1 413 ")
    with socket.create_connection(("127.0.0.1", caller.port), timeout=PATIENCE_S) as raw:
        raw.sendall(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
        # More than the limit and all buffers on the path together: it must be cut off.
        with pytest.raises(OSError, match=r"reset|pipe"):
            raw.sendall(b"8000000\r\n" + bytes(0x8000000))


def memory_peak_kib(fleet: Fleet) -> int:
    """Peak resident memory of the coordinator."""
    for pid in fleet.pids:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
        if b"coordinator" in Path(f"/proc/{pid}/cmdline").read_bytes():
            return int(re.findall(r"VmHWM:\s+(\d+) kB", status)[0])
    raise AssertionError(fleet.pids)


@pytest.mark.slow
def test_a_caller_that_says_nothing_is_shown_the_door(caller: Caller) -> None:
    """Broken if connections with half a request keep others out, or stay for ever."""
    silent = [socket.create_connection(("127.0.0.1", caller.port)) for _ in range(100)]
    for one in silent:
        one.settimeout(PATIENCE_S)
        one.sendall(b"POST /run HTTP/1.1\r\nHost: local")
    assert caller.ask("GET", "/healthz").status == 200
    for one in silent:
        # The connection was closed, with or without a response; a timeout would raise.
        assert one.recv(64)[:12] in {b"", b"HTTP/1.1 408"}
        one.close()


def test_without_nats_it_lives_and_is_not_ready(
    fleet: Fleet, caller: Caller, loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if a run is accepted without a log, or if the liveness probe fails for a process that
    only waits."""
    sound = plan(loadpilot, oracle)
    server, *_ = fleet.pids
    os.kill(server, signal.SIGKILL)
    deadline = monotonic() + PATIENCE_S
    while caller.ask("GET", "/readyz").status == 200:
        assert monotonic() < deadline
    answer = caller.ask("GET", "/readyz")
    assert (answer.status, answer.json["error"]) == (503, "NATS cannot be reached")
    assert caller.ask("GET", "/healthz").status == 200
    assert caller.ask("POST", "/run", sound).status == 503
    assert "loadpilot_coordinator_nats_up 0" in caller.ask("GET", "/metrics").body.decode()
    assert oracle.counts().received == 0


@pytest.mark.slow
def test_the_end_of_a_coordinator_is_announced(
    fleet: Fleet, loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if a caller gets no message of a SIGTERM, or if its load goes on."""
    port = free_port()
    coordinator = fleet.coordinator("--http", f"127.0.0.1:{port}")
    fleet.coordinator()
    fleet.agent("a-1")
    long = plan(loadpilot, oracle, "--rps", "50", "--duration", "60s")
    stream = Caller(port).follow("/run", long)
    lines = stream.lines()
    assert oracle.wait_count(50, 60)
    coordinator.signal(signal.SIGTERM)
    *_, last = lines
    stream.hang_up()
    assert "this coordinator ends" in last["error"]
    assert coordinator.end(20).code == 0
    (row,) = wait_for_end(loadpilot, fleet)
    assert " stopped " in row
    assert oracle.counts().received < 50 * 20


def test_off_loopback_it_asks_for_token_and_tls(
    fleet: Fleet, loadpilot: Loadpilot, tmp_path: Path
) -> None:
    """Broken if a coordinator serves a network without a token."""
    place = f"0.0.0.0:{free_port()}"
    ended = loadpilot.call("coordinator", "--nats-url", fleet.url, "--http", place)
    assert ended.code == 2
    assert "--http: must be on loopback, or have a token (--http-token-file)" in ended.stderr
    assert "--http: must be on loopback, or have TLS (--http-cert, --http-key)" in ended.stderr
    token = tmp_path / "token"
    token.write_text("short", encoding="utf-8")
    flags = ("--http", place, "--http-token-file", str(token))
    ended = loadpilot.call("coordinator", "--nats-url", fleet.url, *flags)
    assert "--http-token-file: must be readable by its owner only" in ended.stderr
    token.chmod(0o600)
    ended = loadpilot.call("coordinator", "--nats-url", fleet.url, *flags)
    assert "--http-token-file: must be a token of 16 to 512" in ended.stderr
    assert "short" not in ended.stderr
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        flags = ("--http", f"127.0.0.1:{port}")
        ended = loadpilot.call("coordinator", "--nats-url", fleet.url, *flags)
    assert ended.code == 4
    assert f"--http 127.0.0.1:{port}: " in ended.stderr
