"""Steering a running run from other processes: rate, pause, stop, halt, watch, agents."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from tests.e2e.support.command import SCENARIOS, Finished, Loadpilot
from tests.e2e.support.fleet import Fleet
from tests.e2e.support.stops import STOP_US, assert_report_of_a_stop

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.oracle.oracle import Oracle

WEIGHTED = SCENARIOS / "weighted.py"
FROM = re.compile(r"rate (\S+) -> (\S+)/s from second (\d+) on")
SECOND_US = 1_000_000
NOISE = 0.15
"""Maximum deviation of a second from the rate when compilers run beside the test."""
LATE_PER_S = 2
"""Arrivals of 1/n second may come in the next one: an agent sends up to 1/2 s after the due
time."""
HALTED_US = 1_000_000


@pytest.fixture
def fleet(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Fleet]:
    with Fleet(tmp_path, monkeypatch) as fleet:
        yield fleet


def flags(rps: int, secs: int) -> tuple[str, ...]:
    return ("--rps", str(rps), "--duration", f"{secs}s")


def changed(loadpilot: Loadpilot, run: str, rps: int, *where: str) -> int:
    """Changes the rate; returns the second from which on it holds."""
    answer = loadpilot.call("rate", run, str(rps), *where)
    assert answer.code == 0, answer.stderr
    found = FROM.search(answer.stdout)
    assert found is not None, answer.stdout
    assert found[2] == str(rps)
    return int(found[3])


def numbers(oracle: Oracle) -> list[int]:
    """The numbers of the arrivals that reached the target, one for each request."""
    ids = [one.id for one in oracle.requests()]
    return [int(one.split("/")[1]) for one in ids if one is not None]


def per_second(oracle: Oracle) -> Counter[int]:
    """Number of requests in each second after the first arrival, by the target's clock."""
    requests = oracle.requests()
    begin_us = min(one.arrival_us for one in requests)
    return Counter((one.arrival_us - begin_us) // SECOND_US for one in requests)


def assert_exact(report: dict[str, Any], oracle: Oracle, planned: int) -> None:
    """Asserts that every arrival of the steered plan reached the target once, and that the report
    says so."""
    arrivals = report["arrivals"]
    assert arrivals["planned"] == planned
    assert arrivals["started"] + sum(arrivals["dropped"].values()) == planned
    assert (arrivals["lost"], report["gaps"]["excess_arrivals"]) == (0, 0)
    assert report["gaps"]["quarantined"] == []
    assert oracle.counts().received == report["calls"]["attempted"] == arrivals["started"]
    assert len(set(numbers(oracle))) == arrivals["started"], "an arrival was sent twice"
    assert max(numbers(oracle)) < planned


def assert_steered(oracle: Oracle, secs: int, steps: list[tuple[int, int]]) -> int:
    """Asserts that the rate at the target follows the steps, each a second and a rate; returns the
    number of arrivals."""
    seen = per_second(oracle)
    planned = 0
    for (begin, rps), end in zip(steps, [step[0] for step in steps[1:]] + [secs], strict=True):
        planned += rps * (end - begin)
        whole = range(begin + 1, end - 1)
        count = sum(seen[second] for second in whole)
        moved = max(3, rps // LATE_PER_S)
        assert count == pytest.approx(rps * len(whole), rel=NOISE, abs=moved), (begin, rps, seen)
    return planned


@pytest.mark.slow
def test_the_rate_goes_up_and_down(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if a change is late on one agent, if it doubles or loses arrivals, or if it is shown
    without its author."""
    secs = 18
    argv = (*flags(50, secs), "--agents", "2")
    with loadpilot.start(WEIGHTED, oracle.url, *argv) as running:
        run = running.run_id()
        assert oracle.wait_count(50, 30)
        up = changed(loadpilot, "last", 300)
        assert oracle.wait_count(50 * up + 600, 30)
        down = changed(loadpilot, run[:20], 20)
        listed = loadpilot.call("agents")
        finished = running.end()
    assert finished.judged == 0, finished.stdout + finished.stderr
    report = finished.report
    planned = assert_steered(oracle, secs, [(0, 50), (up, 300), (down, 20)])
    assert_exact(report, oracle, planned)
    assert report["arrivals"]["dropped"] == {}
    series = [tick["planned"] for tick in report["series"]]
    assert series == [50] * up + [300] * (down - up) + [20] * (secs - down)

    first, second = report["run"]["steered"]
    assert (first["from_us"], second["from_us"]) == (up * SECOND_US, down * SECOND_US)
    assert first["change"] == {"type": "rate", "was": 50_000_000, "rate": 300_000_000}
    assert "@" in first["by"]
    assert f"rate 50 -> 300/s from second {up} on, by {first['by']}" in finished.stdout
    assert f"rate 50 -> 300 by {first['by']}" in finished.stderr, (
        "the live view does not show the change"
    )
    story = [line["text"] for line in report["story"]]
    assert any("rate 300 -> 20 by" in text for text in story)
    assert [line.split()[0] for line in listed.stdout.splitlines()] == ["agent", *AGENTS]
    assert listed.stdout.count("128 of 256 shards") == 2


AGENTS = ["agent-1", "agent-2"]


@pytest.mark.slow
@pytest.mark.timed
def test_a_pause_offers_nothing_and_catches_nothing_up(
    loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if requests are sent in a pause, if arrivals due in it are sent afterwards, or if not
    each of them is counted."""
    rps, secs = 100, 14
    with loadpilot.start(WEIGHTED, oracle.url, *flags(rps, secs), "--agents", "2") as running:
        run = running.run_id()
        assert oracle.wait_count(2 * rps, 30)
        paused = loadpilot.call("pause", run)
        quiet_from_us = time.time_ns() // 1000
        assert (paused.code, "paused at second" in paused.stdout) == (0, True), paused.stderr
        again = loadpilot.call("pause", run)
        assert (again.code, "is paused already" in again.stdout) == (0, True), again.stderr
        running.until(" paused ")
        running.until(" paused ")
        before_us = time.time_ns() // 1000
        resumed = loadpilot.call("resume", run)
        assert resumed.code == 0, resumed.stderr
        twice = loadpilot.call("resume", run)
        assert (twice.code, "is not paused" in twice.stdout) == (0, True), twice.stderr
        finished = running.end()
    assert finished.judged == 0, finished.stdout + finished.stderr
    report = finished.report
    assert_exact(report, oracle, rps * secs)
    dropped = report["arrivals"]["dropped"]
    assert list(dropped) == ["paused"]
    arrived = [one.arrival_us for one in oracle.requests()]
    assert not [at for at in arrived if quiet_from_us + 100_000 < at < before_us]
    assert dropped["paused"] >= rps * (before_us - quiet_from_us) // SECOND_US - 1
    first_us = min(at for at in arrived if at >= before_us)
    tenths = Counter(at // 100_000 for at in arrived if 0 <= at - first_us < SECOND_US)
    assert max(tenths.values()) < 3 * rps // 10, "arrivals due in the pause were sent afterwards"
    assert max(arrived) > before_us + 2 * SECOND_US, "the load did not go on after the pause"
    changes = [one["change"]["type"] for one in report["run"]["steered"]]
    assert changes == ["paused", "resumed"]


@pytest.mark.long
@pytest.mark.timed
def test_a_closed_loop_pauses_and_has_no_rate(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if users go on in a pause, if they do not continue after it, or if a closed loop
    accepts a rate."""
    oracle.delay(20)
    argv = ("--users", "4", "--duration", "12s", "--agents", "2")
    with loadpilot.start(WEIGHTED, oracle.url, *argv) as running:
        run = running.run_id()
        assert oracle.wait_count(100, 30)
        refused = loadpilot.call("rate", run, "50")
        assert refused.code == 2
        assert "a closed loop has users and no rate; pause it" in refused.stderr
        assert loadpilot.call("pause", run).code == 0
        quiet_from_us = time.time_ns() // 1000
        running.until(" paused ")
        running.until(" paused ")
        before = oracle.counts()
        assert loadpilot.call("resume", run).code == 0
        assert oracle.wait_count(before.received + 100, 30), "no load after the pause"
        finished = running.end()
    assert finished.judged == 0, finished.stdout + finished.stderr
    assert before.last_us is not None
    assert before.last_us < quiet_from_us + 200_000
    report = finished.report
    assert report["calls"]["attempted"] == oracle.counts().received
    assert report["arrivals"]["started"] == oracle.counts().received


@pytest.mark.timed
def test_a_stop_from_elsewhere_stops(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if load goes on after a stop, or if the report does not agree with the requests that
    were sent."""
    with loadpilot.start(WEIGHTED, oracle.url, *flags(100, 60), "--agents", "2") as running:
        run = running.run_id()
        assert oracle.wait_count(100, 30)
        at_us = time.time_ns() // 1000
        stopped = loadpilot.call("stop", "last")
        assert (stopped.code, f"run {run}: stops" in stopped.stdout) == (0, True), stopped.stderr
        finished = running.end(20)
    last_us = oracle.counts().last_us
    assert last_us is not None
    assert last_us - at_us < STOP_US + SECOND_US, "load went on for too long after the stop"
    assert finished.judged == 0, finished.stdout
    assert_report_of_a_stop(finished, oracle)
    over = loadpilot.call("pause", run)
    assert (over.code, "it is over (stopped)" in over.stderr) == (2, True), over.stderr
    assert loadpilot.call("rate", run, "0").code == 2
    assert loadpilot.call("rate", run, "fast").code == 2


@pytest.mark.slow
def test_a_late_watcher_sees_the_whole_run(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if a late watcher lacks the begin of the run, or gets another end than the owner."""
    with loadpilot.start(WEIGHTED, oracle.url, *flags(50, 8), "-v") as running:
        run = running.run_id()
        assert oracle.wait_count(50, 30)
        watched = loadpilot.call("watch", "last", "-v")
        finished = running.end()
    assert watched.stdout == finished.stdout
    assert watched.code == finished.code
    assert "run requested by" not in watched.stderr
    assert "· run created" in watched.stderr
    assert re.search(r"/00:08 +\S+ ", watched.stderr) is not None, "no live view"
    again = loadpilot.call("watch", run, "-v")
    assert (again.stdout, again.code) == (finished.stdout, finished.code)


@pytest.mark.slow
@pytest.mark.timed
def test_a_detached_run_of_a_fleet(fleet: Fleet, loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if a detached run needs its command, or if a fleet is steered in another way than a
    local stack."""
    at = ("--nats-url", fleet.url)
    fleet.coordinator()
    for name in ("a-1", "a-2"):
        fleet.agent(name)
    secs = 20
    (loadpilot.folder / "scene.py").write_text(WEIGHTED.read_text(encoding="utf-8"))
    ask = ("run", "scene.py", "--target", oracle.url, *flags(40, secs), *at)
    begun = loadpilot.call(
        *ask, "--id-header", "x-request-id", "--external-agents", "2", "--detach"
    )
    assert begun.code == 0, begun.stderr
    run = begun.stdout.strip()
    assert oracle.wait_count(40, 30)
    up = changed(loadpilot, run, 120, *at)
    listed = loadpilot.call("agents", "--json", *at)
    present = {one["holder"]["agent"]: one for one in json.loads(listed.stdout)}
    assert sorted(present) == ["a-1", "a-2"]
    for one in present.values():
        assert one["heard"]
        assert one["version"]
        assert (one["holds"][0]["run"], one["holds"][0]["shards"]) == (run, 128)
        assert one["cpu_millicores"] is not None
        assert abs(one["ahead_us"]) < SECOND_US
    watched = loadpilot.call("watch", run, *at)
    report = report_of(loadpilot, run, *at)
    assert watched.stdout == loadpilot.call("report", run, *at).stdout
    planned = assert_steered(oracle, secs, [(0, 40), (up, 120)])
    assert_exact(report, oracle, planned)
    assert report["run"]["ending"] == "completed"
    assert str(report["digest"])


@pytest.mark.long
def test_a_fleet_without_a_coordinator_is_not_steered(
    fleet: Fleet, loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if the command reports a pause that no coordinator decided, or if it cannot halt
    agents without a coordinator."""
    at = ("--nats-url", fleet.url)
    coordinator = fleet.coordinator()
    for name in ("a-1", "a-2"):
        fleet.agent(name)
    with fleet.start(loadpilot, WEIGHTED, oracle.url, *flags(20, 60)) as running:
        running.run_id()
        assert oracle.wait_count(20, 30)
        coordinator.kill()
        coordinator.end()
        unheard = loadpilot.call("pause", "last", *at)
        assert unheard.code == 4
        assert "no coordinator answered within 15 s" in unheard.stderr
        at_us = time.time_ns() // 1000
        with loadpilot.begin("halt", "last", "--yes", *at) as halting:
            halting.until("the kill switch is thrown")
            thrown_us = time.time_ns() // 1000
            assert halting.end().code == 4
        last_us = oracle.counts().last_us
        assert last_us is not None
        assert at_us - SECOND_US < last_us < thrown_us + HALTED_US
        running.kill()


@pytest.mark.slow
def test_what_has_not_started_is_not_steered(
    fleet: Fleet, loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if a request is lost without a message, or if an invalid flag is accepted."""
    at = ("--nats-url", fleet.url)
    fleet.coordinator()
    fleet.agent("a-1")
    argv = (*flags(20, 5), "--external-agents", "2", "--wait-agents", "60s")
    with fleet.start(loadpilot, WEIGHTED, oracle.url, *argv) as running:
        running.until("waiting for agents: 1 of 2 ready")
        early = loadpilot.call("pause", "last", *at)
        assert (early.code, "it has not started yet" in early.stderr) == (2, True), early.stderr
        stopped = loadpilot.call("stop", "last", *at)
        assert stopped.code == 0, stopped.stderr
        running.end()
    assert oracle.counts().received == 0
    scene = str(WEIGHTED)
    for argv, word in [
        (("run", scene, "--detach"), "--detach: needs a fleet"),
        (("run", scene, "--detach", "--samples", "a.csv", *at), "--detach leaves"),
        (("stop", "01nosuchrun", *at), "there is no run '01nosuchrun'"),
    ]:
        refused = loadpilot.call(*argv)
        assert (refused.code, word in refused.stderr) == (2, True), refused.stderr


def report_of(loadpilot: Loadpilot, run: str, *where: str) -> dict[str, Any]:
    shown: Finished = loadpilot.call("report", run, "--json", *where)
    report: dict[str, Any] = json.loads(shown.stdout)
    return report
