"""Any process is killed at any moment: the run goes on or ends, and the report adds up."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from tests.e2e.support.command import SCENARIOS, Finished, Loadpilot, assert_ended
from tests.e2e.support.dropped_arrivals import all_but_late, assert_each_came_once
from tests.e2e.support.processes import Part, descendants
from tests.faults.support.stack_run import (
    CHILDREN_GONE_S,
    FLEET,
    LOAD,
    PLANNED,
    RPS,
    SECS,
    UNDER_WAY,
    arrivals_of,
    holders_of,
)
from tests.faults.support.stacks import two_coordinators

if TYPE_CHECKING:
    from pathlib import Path

    from tests.oracle.oracle import Oracle, Request

WEIGHTED = SCENARIOS / "weighted.py"


def assert_ran_as_planned(finished: Finished, requests: list[Request]) -> None:
    """Asserts that only late arrivals are missing, that none came twice, and that the report says
    so."""
    assert finished.judged == 0, finished.stderr
    report = finished.report
    assert report["run"]["ending"] == "completed"
    sent = all_but_late(report, RPS, SECS)
    assert report["calls"]["attempted"] == report["calls"]["outcomes"]["ok"] == sent
    assert report["gaps"]["lost"] == report["gaps"]["quarantined"] == []
    assert_each_came_once(arrivals_of(finished.run, requests), PLANNED, sent)
    assert len(requests) == sent


@pytest.mark.slow
@pytest.mark.case(n=7)
def test_a_coordinator_that_is_killed_is_replaced_without_loss(
    loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if a coordinator knows anything that is not in the log."""
    with loadpilot.start(WEIGHTED, oracle.url, *LOAD) as running:
        assert oracle.wait_count(UNDER_WAY, 30)
        (coordinator,) = running.parts(Part.COORDINATOR)
        os.kill(coordinator.pid, signal.SIGKILL)
        running.until("restarted coordinator")
        (successor,) = running.parts(Part.COORDINATOR)
        assert successor.pid != coordinator.pid
        finished = running.end()
    assert_ran_as_planned(finished, oracle.requests())


@pytest.mark.slow
@pytest.mark.case(n=10)
def test_a_log_server_that_is_killed_comes_back_with_all_that_it_acknowledged(
    loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if an acknowledgement is sent before the message is on the disk, or if an agent sends
    only while it can publish."""
    with loadpilot.start(WEIGHTED, oracle.url, *LOAD) as running:
        assert oracle.wait_count(UNDER_WAY, 30)
        (server,) = running.parts(Part.SERVER)
        os.kill(server.pid, signal.SIGKILL)
        running.until("restarted nats-server")
        finished = running.end()
    assert_ran_as_planned(finished, oracle.requests())


@pytest.mark.case(n=9)
@pytest.mark.long
def test_two_coordinators_that_race_from_the_start_decide_as_one(
    tmp_path: Path, oracle: Oracle
) -> None:
    """Broken if both can write one decision: agents would send twice, or decisions would contradict
    each other."""
    with two_coordinators(tmp_path).start(WEIGHTED, oracle.url, *LOAD) as running:
        assert oracle.wait_count(UNDER_WAY, 30)
        assert len(running.parts(Part.COORDINATOR)) == 2
        finished = running.end()
    assert_ran_as_planned(finished, oracle.requests())


@pytest.mark.slow
@pytest.mark.case(n=20)
def test_a_killed_command_takes_its_load_with_it_and_no_run_resumes_it(
    loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if load goes on whose command is dead, or if it begins again."""
    with loadpilot.start(WEIGHTED, oracle.url, *FLEET, "60s") as running:
        old = running.run_id()
        assert oracle.wait_count(UNDER_WAY, 30)
        below = descendants(running.pid)
        parts = Counter(process.part for process in below)
        assert parts == {Part.SUPERVISOR: 1, Part.SERVER: 1, Part.COORDINATOR: 1, Part.AGENT: 2}
        killed_us = time.time_ns() // 1000
        running.kill()
        assert_ended(below, CHILDREN_GONE_S)
    sent_by_old = oracle.counts()
    assert sent_by_old.last_us is not None
    assert sent_by_old.last_us - killed_us < CHILDREN_GONE_S * 1_000_000

    fresh = loadpilot.run(WEIGHTED, oracle.url, *FLEET, "2s")
    assert fresh.judged == 0, fresh.stderr
    later = oracle.requests()[sent_by_old.received :]
    assert {(request.id or "").split("/")[0] for request in later} == {fresh.run}
    sent = all_but_late(fresh.report, RPS, 2)
    assert_each_came_once(arrivals_of(fresh.run, later), 2 * RPS, sent)

    listed = loadpilot.call("runs")
    states = {line.split()[0]: line for line in listed.stdout.splitlines()}
    assert " aborted " in states[old]
    assert " completed " in states[fresh.run]
    again = loadpilot.call("report", old)
    assert again.code == 0, again.stderr
    assert "verdict      FAIL" in again.stdout
    assert "certificate  INVALID" in again.stdout
    assert old in again.stdout


@pytest.mark.case(n=1)
@pytest.mark.long
def test_an_agent_that_is_killed_comes_back_and_unsent_arrivals_are_named(
    loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if the report looks complete although a second of an agent is lost."""
    with loadpilot.start(WEIGHTED, oracle.url, *LOAD) as running:
        assert oracle.wait_count(UNDER_WAY, 30)
        first, second = running.parts(Part.AGENT)
        os.kill(first.pid, signal.SIGKILL)
        running.until("restarted agent-")
        successors = {agent.pid for agent in running.parts(Part.AGENT)} - {second.pid}
        assert len(successors) == 1
        assert first.pid not in successors
        finished = running.end()
    report, requests = finished.report, oracle.requests()
    assert report["run"]["ending"] == "completed"
    assert finished.code == 3, "a run that lacks more than 1 % of its arrivals is trusted"
    assert_adds_up(report, len(requests))
    received = arrivals_of(finished.run, requests)
    assert max(received) < PLANNED
    assert max(received.values()) == 1
    killed, successor = holders_of(report, "agent-1")
    assert killed["lost"] == "replaced"
    assert successor["started"] > 0
    assert successor["finished"]
    due_last_secs = set(range(PLANNED - 2 * RPS, PLANNED))
    assert due_last_secs <= set(received), "arrivals of the last two seconds are missing"


@pytest.mark.case(n=20)
def test_what_a_killed_stack_left_is_only_its_users_until_it_is_pruned(
    loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if files outlive their run: they would fill a disk, and others could read them."""
    with loadpilot.start(WEIGHTED, oracle.url, *FLEET, "60s") as running:
        run = running.run_id()
        assert oracle.wait_count(UNDER_WAY, 30)
        below = descendants(running.pid)
        os.kill(running.supervisor().pid, signal.SIGKILL)
        running.kill()
        assert_ended(below, CHILDREN_GONE_S)
    left = list((loadpilot.log / "log-1" / "agents").iterdir())
    kinds = Counter(file.suffix for file in left)
    assert kinds[".spool"] == 2
    assert kinds[".ring"] >= 2
    assert {file.stat().st_mode & 0o077 for file in left} == {0}
    assert all(file.name.startswith(f"{run}.agent-") for file in left)
    # The next stack seals the run first: after that, nothing more can be reported of it.
    assert loadpilot.run(WEIGHTED, oracle.url, *FLEET, "1s").judged == 0
    assert loadpilot.call("runs", "prune", run).code == 0
    assert not any(file.exists() for file in left)


def assert_adds_up(report: dict[str, Any], received: int) -> None:
    """Asserts that every planned arrival is accounted for, and that gaps name an agent and
    ticks."""
    arrivals, lost = report["arrivals"], report["gaps"]["lost"]
    dropped = sum(arrivals["dropped"].values())
    assert arrivals["planned"] == PLANNED
    assert arrivals["started"] + dropped + arrivals["lost"] == PLANNED
    assert arrivals["waiting"] == 0
    outcomes = report["calls"]["outcomes"]
    assert outcomes["ok"] <= received <= report["calls"]["attempted"]
    assert sum(gap["arrivals"] for gap in lost) == arrivals["lost"]
    for gap in lost:
        assert gap["holder"]["agent"] == "agent-1"
        assert gap["holder"]["boot_id"]
        assert 0 <= gap["from_tick"] <= gap["to_tick"] < SECS
    assert arrivals["lost"] > 0, "no arrival due before the takeover is lost"
    assert report["certificate"]["grade"] == "INVALID"
    assert "lost_interval" in {f["kind"] for f in report["certificate"]["findings"]}
