"""A run whose whole stack was killed: resumed on request, else sealed with all that was counted."""

from __future__ import annotations

import json
import os
import select
import signal
import time
from typing import TYPE_CHECKING, Any

import pytest
from tests.e2e.support.command import SCENARIOS, Finished, Loadpilot, Running, assert_ended
from tests.e2e.support.dropped_arrivals import all_but_late, late_of
from tests.e2e.support.processes import descendants
from tests.faults.support.stack_run import CHILDREN_GONE_S, arrivals_of

from loadpilot.local.log_readers import reading

if TYPE_CHECKING:
    from tests.oracle.oracle import Oracle

WEIGHTED = SCENARIOS / "weighted.py"
RPS = 100
UNDER_WAY = 2 * RPS
DELAY_MS = 100


def load(secs: int) -> tuple[str, ...]:
    return ("--rps", str(RPS), "--agents", "2", "--duration", f"{secs}s")


def kill_all(running: Running, oracle: Oracle) -> str:
    """Kills all processes at once while the run sends at its full rate; returns its id."""
    run = running.run_id()
    assert oracle.wait_count(UNDER_WAY, 30)
    below = descendants(running.pid)
    for process in below:
        os.kill(process.pid, signal.SIGKILL)
    running.kill()
    assert_ended(below, CHILDREN_GONE_S)
    return run


def resume(loadpilot: Loadpilot, run: str, *flags: str) -> Finished:
    results = loadpilot.folder / "resumed.json"
    finished = loadpilot.call("resume", run, "--results-json", str(results), *flags)
    return Finished(finished.code, finished.stdout, finished.stderr, results)


def await_instant(at_us: int) -> None:
    """Waits for an instant of the wall clock, which is the event here."""
    left_s = at_us / 1e6 - time.time()
    if left_s > 0:
        select.select([], [], [], left_s)


def ended(report: dict[str, Any]) -> int:
    """Number of calls in the report, of any outcome."""
    return sum(report["calls"]["outcomes"].values())


@pytest.mark.slow
def test_a_resumed_run_goes_on_holding_its_gate(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if a resumed run stays at the rate that it had when it was killed. 40 s."""
    flags = ("--rps", "20", "--duration", "35s", "--hold", "p50_ms=10000")
    with loadpilot.start(WEIGHTED, oracle.url, *flags) as running:
        run = kill_all(running, oracle)
    killed = json.loads(loadpilot.call("report", run, "--json").stdout)
    finished = resume(loadpilot, run)
    held = finished.report["run"]["held"]
    assert len(held["steps"]) > len(killed["run"]["held"]["steps"]), finished.stderr
    assert held["rps"] > killed["run"]["held"]["rps"]


@pytest.mark.slow
def test_a_run_goes_on_where_it_would_be_by_now(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if the rest of a run is lost with a killed machine, if arrivals due meanwhile are sent
    late, or if a call that a killed agent had finished is missing in the report or the outputs."""
    secs = 20
    oracle.delay(DELAY_MS)
    with loadpilot.start(WEIGHTED, oracle.url, *load(secs)) as running:
        run = kill_all(running, oracle)
    before = oracle.counts().received
    taken = resume(loadpilot, run[:12], "--out", "csv=resumed.json")
    assert (taken.code, "another file than that of --results-json" in taken.stderr) == (2, True)
    finished = resume(loadpilot, run[:12], "--out", "csv=resumed.csv", "--out", "json=-")
    report = finished.report
    assert report["run"]["ending"] == "completed", finished.stderr
    received = arrivals_of(run, oracle.requests())
    assert max(received.values()) == 1, "an arrival was sent twice"
    missing = sorted(set(range(secs * RPS)) - set(received))
    # A busy machine may drop arrivals as late anywhere; all others are missing in one interval.
    late = min(late_of(report), RPS // 2)
    count = len(missing) - late
    assert count > 0, "nothing was missing while nothing ran"
    spans = [missing[at + count - 1] - missing[at] + 1 for at in range(late + 1)]
    assert min(spans) == count, "arrivals are missing in more than one interval"
    assert len(received) > before + RPS
    arrivals = report["arrivals"]
    assert arrivals["planned"] == secs * RPS
    assert arrivals["started"] == len(received) == ended(report), (
        "a request that was sent is not counted"
    )
    assert arrivals["lost"] + sum(arrivals["dropped"].values()) == len(missing)
    assert finished.code == 3, "a run that lacks more than 1 % of its arrivals is trusted"
    assert "goes on" in finished.stderr
    for form, rows in (
        ("csv", (loadpilot.folder / "resumed.csv").read_bytes().decode()),
        ("ndjson", finished.stdout),
    ):
        dumped = loadpilot.call("dump", run, "--format", form)
        assert rows == dumped.stdout, "an output has other rows than the whole run"
    assert "verdict " in finished.stderr
    again = loadpilot.call("resume", run)
    assert (again.code, oracle.counts().received) == (2, len(received))
    assert f"run {run} is over (completed); `loadpilot report {run}` shows it" in again.stderr
    unknown = loadpilot.call("resume", "nope")
    assert unknown.code == 2
    assert "there is no run 'nope' in .loadpilot" in unknown.stderr


@pytest.mark.slow
def test_a_killed_run_is_read_and_not_steered(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if a killed run is listed as running, if its watch never ends, if a request for a
    stack that is gone takes effect later, or if a resume beside a reader claims that the run goes
    on. 15 s."""
    with loadpilot.start(WEIGHTED, oracle.url, *load(600)) as running:
        run = kill_all(running, oracle)
    received = oracle.counts().received
    (row,) = [row for row in loadpilot.call("runs").stdout.splitlines() if row.startswith(run)]
    assert row.split()[3] == "killed", row
    (log,) = loadpilot.log.glob("log-*")
    with reading(log, lambda: False):
        # The reader has a stack of its own, which is not that of the run.
        refused = loadpilot.call("resume", run)
        assert refused.code == 2
        busy = f"another command reads .loadpilot/log-1; end it, then resume run {run}"
        assert busy in refused.stderr
        watched = loadpilot.call("watch", run)
    assert watched.code == 3, watched.stderr
    assert "verdict " in watched.stdout
    for steering in (("stop", run), ("pause", run), ("rate", run, "10"), ("halt", run, "--yes")):
        refused = loadpilot.call(*steering)
        gone_stack = f"its stack is gone; `loadpilot resume {run}` goes on with it"
        assert (refused.code, gone_stack in refused.stderr) == (4, True), refused.stderr
    assert oracle.counts().received == received
    with loadpilot.begin("resume", run) as resumed:
        assert oracle.wait_count(received + RPS, 30), "an earlier request stopped the resumed run"
        resumed.signal(signal.SIGINT)
        assert resumed.end().code == 130


@pytest.mark.long
def test_a_run_whose_time_is_over_is_ended_with_all_that_it_had(
    loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if a run that is resumed after its end sends anything, or loses what it had
    counted."""
    secs = 4
    oracle.delay(DELAY_MS)
    with loadpilot.start(WEIGHTED, oracle.url, *load(secs)) as running:
        run = kill_all(running, oracle)
    received = oracle.counts().received
    start_us = oracle.counts().first_us
    assert start_us is not None
    await_instant(start_us + secs * 1_000_000)
    finished = resume(loadpilot, "last")
    assert oracle.counts().received == received
    report = finished.report
    assert report["run"]["id"] == run
    assert report["arrivals"]["started"] == ended(report) == received
    assert report["arrivals"]["lost"] == secs * RPS - received
    assert finished.code == 3


@pytest.mark.long
def test_a_run_that_is_not_resumed_ends_with_all_that_it_had(
    loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if a run that is not resumed loses calls that its killed agents had finished."""
    oracle.delay(DELAY_MS)
    with loadpilot.start(WEIGHTED, oracle.url, *load(60)) as running:
        run = kill_all(running, oracle)
    received = oracle.counts().received
    fresh = loadpilot.run(WEIGHTED, oracle.url, *load(5))
    assert fresh.judged == 0, fresh.stderr
    assert oracle.counts().received == received + all_but_late(fresh.report, RPS, 5)
    report = json.loads(loadpilot.call("report", run, "--json").stdout)
    assert report["run"]["ending"] == "aborted"
    assert report["arrivals"]["started"] == ended(report) == received
    assert {one["tail"] is not None for one in report["run"]["holders"]} == {True}


@pytest.mark.long
def test_a_followed_run_is_not_taken_from_its_command(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if a second command can take over, or end, a run that is under way."""
    with loadpilot.start(WEIGHTED, oracle.url, *load(8)) as running:
        run = running.run_id()
        assert oracle.wait_count(RPS, 30)
        resumed = loadpilot.call("resume", run)
        assert resumed.code == 0, resumed.stderr
        assert "is not paused; nothing was changed" in resumed.stdout
        finished = running.end()
    assert finished.judged == 0
    assert oracle.counts().received == all_but_late(finished.report, RPS, 8)
