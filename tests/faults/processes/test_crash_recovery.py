"""Calls that a killed agent had finished are in the report; calls in flight are `indeterminate`."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING, Any

import pytest
from tests.e2e.support.command import SCENARIOS, Finished, Loadpilot, Running
from tests.e2e.support.processes import Part, Process
from tests.faults.support.stack_run import LOAD, UNDER_WAY, holders_of

if TYPE_CHECKING:
    from pathlib import Path

    from tests.oracle.oracle import Oracle

WEIGHTED = SCENARIOS / "weighted.py"
DELAY_MS = 150
IN_FLIGHT_MAX = 100
"""More than a rate of 120 with answers after 150 ms has in flight, on a machine that is busy."""
WATCHED = """
from loadpilot import LoadClient, VUser, metrics, scenario, task

@scenario(rps=80, duration="8s", mode="constant", users=30, compile={compile})
class Shop(VUser):
    @task
    def buy(self, client: LoadClient):
        client.get("/browse")
        if client.post("/buy").status_code == 200:
            {and_then}

    def check_buy(self, status_code, body):
        assert status_code == 200
"""
ORDERED = 'metrics.counter("orders").add()'


def kill(process: Process) -> None:
    os.kill(process.pid, signal.SIGKILL)


def remains(loadpilot: Loadpilot) -> list[Path]:
    return list((loadpilot.log / "log-1" / "agents").iterdir())


def under_way(running: Running, oracle: Oracle) -> Process:
    """Waits until the run sends at its full rate; returns the first agent."""
    assert oracle.wait_count(UNDER_WAY, 30)
    return running.parts(Part.AGENT)[0]


def assert_no_finished_call_is_missing(finished: Finished, received: int) -> int:
    """Asserts that each request that the target received has finished or was in flight; returns the
    number of those in flight."""
    report = finished.report
    outcomes = report["calls"]["outcomes"]
    assert set(outcomes) <= {"ok", "indeterminate"}
    cut = outcomes.get("indeterminate", 0)
    assert cut <= IN_FLIGHT_MAX
    assert outcomes["ok"] <= received <= outcomes["ok"] + cut
    assert report["gaps"]["quarantined"] == []
    assert report["gaps"]["late_deltas"] == 0
    assert report["run"]["ending"] == "completed"
    settled = report["arrivals"]["started"] + sum(report["arrivals"]["dropped"].values())
    assert settled + report["arrivals"]["lost"] == report["arrivals"]["planned"]
    return int(cut)


def tail_of(report: dict[str, Any]) -> dict[str, Any] | None:
    """The tail, as the report has it, of the killed process of agent-1."""
    killed = holders_of(report, "agent-1")[0]
    assert killed["lost"] == "replaced"
    tail: dict[str, Any] | None = killed.get("tail")
    return tail


@pytest.mark.slow
@pytest.mark.case(n=1)
def test_a_killed_agent_loses_no_call_that_it_finished(
    loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if the last second of a killed process is lost or counted twice, or if its calls count
    as finished although their end was not observed."""
    oracle.delay(DELAY_MS)
    with loadpilot.start(WEIGHTED, oracle.url, *LOAD) as running:
        kill(under_way(running, oracle))
        running.until("restarted agent-")
        finished = running.end()
    cut = assert_no_finished_call_is_missing(finished, len(oracle.requests()))
    assert cut > 0, "no call was in flight at the kill"
    assert tail_of(finished.report) == {"indeterminate": cut, "lost": None}
    assert finished.report["arrivals"]["lost"] > 0, "no arrival due before the takeover is lost"
    assert remains(loadpilot) == []
    again = loadpilot.call("report", finished.run, "--json")
    assert finished.report["digest"] in again.stdout


@pytest.mark.case(n=1)
@pytest.mark.long
def test_the_log_server_killed_with_it_changes_nothing(
    loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if counts that no acknowledged delta contains can reach NATS only from the killed
    process itself."""
    oracle.delay(DELAY_MS)
    with loadpilot.start(WEIGHTED, oracle.url, *LOAD) as running:
        agent = under_way(running, oracle)
        (server,) = running.parts(Part.SERVER)
        kill(server)
        assert oracle.wait_count(UNDER_WAY + 60, 30), "agents wait for the log"
        kill(agent)
        finished = running.end()
    cut = assert_no_finished_call_is_missing(finished, len(oracle.requests()))
    assert tail_of(finished.report) == {"indeterminate": cut, "lost": None}
    assert remains(loadpilot) == []


@pytest.mark.case(n=1)
@pytest.mark.long
def test_killed_again_while_it_reports_it_loses_nothing_either(
    loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if a tail is lost because the process that reports it is killed, too, or if it is
    counted twice."""
    oracle.delay(DELAY_MS)
    with loadpilot.start(WEIGHTED, oracle.url, *LOAD) as running:
        first = under_way(running, oracle)
        others = {agent.pid for agent in running.parts(Part.AGENT)}
        kill(first)
        for _ in range(2):
            running.until("restarted agent-")
            (successor,) = [a for a in running.parts(Part.AGENT) if a.pid not in others]
            others.add(successor.pid)
            kill(successor)
        running.until("restarted agent-")
        finished = running.end()
    assert_no_finished_call_is_missing(finished, len(oracle.requests()))
    tail = tail_of(finished.report)
    assert tail is not None
    assert tail["lost"] is None
    assert remains(loadpilot) == []


@pytest.mark.slow
@pytest.mark.case(n=2)
@pytest.mark.parametrize("gone", ["ring", pytest.param("spool", marks=pytest.mark.long)])
def test_what_is_lost_with_its_files_is_named(
    loadpilot: Loadpilot, oracle: Oracle, gone: str
) -> None:
    """Broken if the report looks complete although the files of a killed process are gone."""
    oracle.delay(DELAY_MS)
    with loadpilot.start(WEIGHTED, oracle.url, *LOAD) as running:
        agent = under_way(running, oracle)
        # The agent goes on writing to the deleted file.
        for file in (loadpilot.log / "log-1" / "agents").glob(f"*.agent-1.*.{gone}"):
            file.unlink()
        kill(agent)
        running.until("restarted agent-")
        finished = running.end()
    report, received = finished.report, len(oracle.requests())
    ticks = [
        (gap["from_tick"], gap["to_tick"])
        for gap in report["gaps"]["lost"]
        if gap["holder"]["agent"] == "agent-1"
    ]
    assert ticks
    assert received > report["calls"]["attempted"], "no call is missing in the report"
    assert received - report["calls"]["attempted"] <= report["arrivals"]["lost"]
    assert "lost_interval" in {f["kind"] for f in report["certificate"]["findings"]}
    tail = tail_of(report)
    if gone == "ring":
        assert tail is not None
        assert "ring of thread" in tail["lost"]
    else:
        assert tail is None


@pytest.mark.case(n=1)
@pytest.mark.long
@pytest.mark.parametrize("and_then", ["pass", ORDERED], ids=["code", "python"])
def test_scenarios_that_look_at_answers_lose_nothing_either(
    loadpilot: Loadpilot, oracle: Oracle, and_then: str
) -> None:
    """Broken if only the killed process knows the names of calls, checks or metrics."""
    oracle.delay(50)
    in_python = and_then == ORDERED
    scenario = WATCHED.format(and_then=and_then, compile=not in_python)
    with loadpilot.start(scenario, oracle.url, "--agents", "2") as running:
        kill(under_way(running, oracle))
        running.until("restarted agent-")
        finished = running.end()
    is_compiled = "no Python runs under load" in finished.stderr + finished.stdout
    assert is_compiled != in_python
    cut = assert_no_finished_call_is_missing(finished, len(oracle.requests()))
    report = finished.report
    assert tail_of(report) == {"indeterminate": cut, "lost": None}
    (task,) = report["tasks"]
    assert {call["name"] for call in task["calls"]} == {"GET /browse", "POST /buy"}
    bought = sum(1 for request in oracle.requests() if request.route == "/buy")
    # A call is finished once its response was there; its task may not have examined it yet.
    assert bought - IN_FLIGHT_MAX <= report["checks"]["passed"] <= bought
    assert report["checks"]["failed"] == 0
    if in_python:
        orders = report["metrics"]["counters"]["orders"]["count"]
        assert bought - IN_FLIGHT_MAX <= orders <= bought
    assert remains(loadpilot) == []
