"""`--samples`: every call as a row, equal to the report and to what the target received."""

from __future__ import annotations

import csv
from collections import Counter
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import pytest
from tests.e2e.support.command import SCENARIOS, Loadpilot
from tests.e2e.support.rawlog import read
from tests.oracle.oracle import Oracle, built_binary

if TYPE_CHECKING:
    from pathlib import Path

WEIGHTED = SCENARIOS / "weighted.py"
RPS, SECS = 100, 4
LOAD = ("--rps", str(RPS), "--duration", f"{SECS}s")
COLUMNS = [
    *("due", "arrival", "task", "call", "status", "outcome", "response_us", "service_us"),
    *("first_byte_us", "bytes_out", "bytes_in", "connection", "agent", "planned_rate", "trace_id"),
]
BYTES_A_CALL_MAX = 40
"""Maximum number of bytes of a call in the log at a low rate, where each tick has few calls: far
below a row of text."""


TWO_STEPS = """
from loadpilot import LoadClient, VUser, scenario, task

@scenario(rps=20, duration="2s")
class TwoSteps(VUser):
    @task()
    def both(self, client: LoadClient) -> None:
        client.get("/first")
        client.get("/second")
"""


def rows(path: Path) -> list[dict[str, str]]:
    """The table, checked for its columns."""
    with path.open(encoding="utf-8", newline="") as lines:
        table = csv.DictReader(lines, strict=True)
        assert table.fieldnames == COLUMNS
        return list(table)


@pytest.mark.slow
def test_every_call_is_a_row(tmp_path: Path, loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if a call of the report is missing in the table, is there twice, or has another
    arrival."""
    oracle.status(404, fraction=0.1)
    path = tmp_path / "new folder" / "calls.csv"
    finished = loadpilot.run(WEIGHTED, oracle.url, *LOAD, "--agents", "2", "--samples", str(path))
    report, requests = finished.report, oracle.requests()
    assert f"samples {path}: {RPS * SECS} calls" in finished.stderr
    table = rows(path)
    assert len(table) == report["calls"]["attempted"] == len(requests) == RPS * SECS
    ids = {f"{finished.run}/{row['arrival']}/0": row for row in table}
    assert len(ids) == len(table)
    for request in requests:
        row = ids[request.id or ""]
        assert (row["status"], f"/{row['task']}") == (str(request.status), request.route)
        assert row["call"] == f"{request.method} {request.route}"
        assert row["outcome"] == ("ok" if request.status == 200 else "http_4xx")
    assert_as_counted(table, report)
    again = tmp_path / "again.csv"
    shown = loadpilot.call("report", finished.run, "--samples", str(again))
    assert (shown.code, again.read_bytes()) == (0, path.read_bytes()), shown.stderr
    cost = sum(
        len(entry.event.get("samples", ""))
        for entry in read(loadpilot.log / "log-1", tmp_path / "raw")
        if entry.kind == "delta"
    )
    assert 0 < cost < BYTES_A_CALL_MAX * len(table), cost


def assert_as_counted(table: list[dict[str, str]], report: dict[str, Any]) -> None:
    """Asserts that the figures of the table are those of the report."""
    outcomes = Counter(row["outcome"] for row in table)
    assert outcomes == {name: n for name, n in report["calls"]["outcomes"].items() if n}
    start_ns = report["run"]["start_at"] * 1000
    for row in table:
        assert int(row["due"]) == start_ns + int(row["arrival"]) * 10**9 // RPS
        assert row["planned_rate"] == str(RPS)
        assert 0 < int(row["first_byte_us"]) <= int(row["service_us"]) <= int(row["response_us"])
        assert row["connection"] in {"opened", "reused"}
    holders = Counter(row["agent"] for row in table)
    assert holders == {one["holder"]["agent"]: one["calls"] for one in report["run"]["holders"]}
    sent = sum(int(row["bytes_out"]) for row in table)
    received = sum(int(row["bytes_in"]) for row in table)
    assert (sent, received) == (report["bytes"]["sent"], report["bytes"]["received"])


@pytest.mark.slow
def test_a_share_is_the_same_calls_for_any_number_of_agents(tmp_path: Path) -> None:
    """Broken if agents choose the samples each by itself: they would write other calls, or the same
    ones twice."""
    arrivals = []
    for agents in (1, 3):
        folder = tmp_path / str(agents)
        folder.mkdir()
        path = folder / "calls.csv"
        flags = ("--agents", str(agents), "--samples", str(path), "--samples-share", "0.2")
        with Oracle(built_binary(), folder / "oracle.jsonl") as oracle:
            finished = Loadpilot(folder / "work").run(WEIGHTED, oracle.url, *LOAD, *flags)
            assert len(oracle.requests()) == finished.report["calls"]["attempted"] == RPS * SECS
        arrivals.append(sorted(int(row["arrival"]) for row in rows(path)))
    assert arrivals[0] == arrivals[1] == sorted(set(arrivals[0]))
    assert RPS * SECS * 0.1 < len(arrivals[0]) < RPS * SECS * 0.3


@pytest.mark.slow
def test_mistakes_are_named_and_nothing_starts(
    tmp_path: Path, loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if a table that cannot be written is reported only after the load."""
    for flags, said in (
        (("--samples-share", "0.5"), "error: --samples-share: needs a file to write"),
        (("--samples", str(tmp_path)), "must be a file, and"),
        (("--samples", "x.csv", "--samples-share", "0"), "above 0 and at most 1, such as 0.01"),
        (("--samples", "x.csv", "--samples-share", "nan"), "above 0 and at most 1, such as 0.01"),
    ):
        refused = loadpilot.run(WEIGHTED, oracle.url, *LOAD, *flags)
        assert (refused.code, said in refused.stderr) == (2, True), refused.stderr
    assert oracle.requests() == []
    finished = loadpilot.run(WEIGHTED, oracle.url, "--rps", "20", "--duration", "1s")
    none = tmp_path / "none.csv"
    refused = loadpilot.call("report", finished.run, "--samples", str(none))
    assert refused.code == 2
    assert "must be a run with samples (run with --samples FILE)" in refused.stderr
    assert not none.exists()


@pytest.mark.parametrize("load", [(), ("--users", "2")])
def test_rows_name_the_traces_of_their_calls(tmp_path: Path, load: tuple[str, ...]) -> None:
    """Broken if a service records traces that no row names, or if calls of two arrivals have one
    trace."""
    path = tmp_path / "calls.csv"
    header = ("--id-header", "traceparent", "--samples", str(path))
    with Oracle(built_binary(), tmp_path / "oracle.jsonl", log_headers=True) as oracle:
        oracle.delay(2)  # a fast machine would make more calls of two users than the table keeps
        finished = Loadpilot(tmp_path / "work").run(TWO_STEPS, oracle.url, *load, *header)
        received = {(request.route, request.header("traceparent")) for request in oracle.requests()}
    table = rows(path)
    expected = set()
    for row in table:
        arrival, step = f"{finished.run}/{row['arrival']}", int(row["call"] == "GET /second")
        trace, call = (sha256(text.encode()).hexdigest() for text in (arrival, f"{arrival}/{step}"))
        assert row["trace_id"] == trace[:32]
        expected.add((row["call"].removeprefix("GET "), f"00-{trace[:32]}-{call[:16]}-01"))
    assert received == expected
    assert len(received) == len(table) == finished.report["calls"]["attempted"] > 0
    assert len({row["trace_id"] for row in table}) == len({row["arrival"] for row in table})
