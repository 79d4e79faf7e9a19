"""Agents that are terminated in the middle of a run hand their shards over: no arrival is lost.

With the shortened timeouts of `elastic`: a planned move takes three seconds at most.
"""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest
from tests.e2e.support.dropped_arrivals import all_but_late
from tests.faults.support.elastic import (
    AGENT,
    COORDINATOR,
    Plan,
    assert_accounted,
    load,
    not_late,
    started,
)
from tests.faults.support.loads import WEIGHTED

if TYPE_CHECKING:
    from tests.e2e.support.command import Finished, Loadpilot, Running
    from tests.e2e.support.fleet import Fleet
    from tests.oracle.oracle import Oracle

RPS = 100
MOVED = "leaves and hands over"
TIMES = "\N{MULTIPLICATION SIGN}"


def assert_nothing_lost(finished: Finished, oracle: Oracle, secs: int) -> Plan:
    """Compares a run with the oracle: each arrival that was not late came once, from the holder of
    its shard."""
    report = finished.report
    plan = Plan(report, RPS, secs)
    missing = assert_accounted(finished, oracle, plan)
    assert len(missing) == plan.planned - all_but_late(report, RPS, secs)
    assert report["gaps"]["lost"] == []
    assert started(report) == dict(plan.shares(set(range(plan.planned)) - missing))
    assert all(one["finished"] for one in report["run"]["holders"])
    return plan


def leave(agent: Running) -> None:
    """Terminates an agent, and waits until it says that the run's log has its `AgentLeaving`."""
    agent.signal(signal.SIGTERM)
    agent.until("AgentLeaving")


@pytest.mark.slow
@pytest.mark.case(n=4)
def test_an_agent_that_leaves_loses_no_arrival(
    fleet: Fleet, loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if an arrival is lost or sent twice when shards leave an agent that ends, or if the
    timeline of the run does not say which agent left and which took over."""
    secs = 12
    oracle.delay(300)
    fleet.coordinator(*COORDINATOR)
    leaver, *_ = (fleet.agent(f"a-{n}", *AGENT) for n in (1, 2, 3))
    with fleet.start(loadpilot, WEIGHTED, oracle.url, *load(RPS, secs, 3)) as running:
        assert oracle.wait_count(2 * RPS, 30)
        leave(leaver)
        running.until("a-1: leaving")
        running.until(f"a-1 {MOVED} its 86 shards: a-2 takes 43, a-3 takes 43")
        assert leaver.end(20).code == 0
        finished = running.end()
    plan = assert_nothing_lost(finished, oracle, secs)
    assert [plan.sizes(n) for n in range(2)] == [[85, 85, 86], [128, 128]]
    (left,) = [one for one in finished.report["run"]["holders"] if one["holder"]["agent"] == "a-1"]
    assert left.get("lost") is None, "the leaving agent counts as lost"


@pytest.mark.case(n=4)
@pytest.mark.long
def test_a_rollout_of_all_agents_loses_no_arrival(
    fleet: Fleet, loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if replacing all agents of a run, one after the other, loses an arrival."""
    secs = 30
    fleet.coordinator(*COORDINATOR)
    old = [fleet.agent(f"a-{n}", *AGENT) for n in range(3)]
    with fleet.start(loadpilot, WEIGHTED, oracle.url, *load(RPS, secs, 3)) as running:
        assert oracle.wait_count(RPS, 30)
        for number, leaver in enumerate(old):
            fleet.agent(f"b-{number}", *AGENT)
            leave(leaver)
            running.until(f"b-{number} joins with")
            assert leaver.end(20).code == 0
        finished = running.end()
    plan = assert_nothing_lost(finished, oracle, secs)
    last = {held["holder"]["agent"] for held in plan.maps[-1]["holdings"]}
    assert last == {"b-0", "b-1", "b-2"}


@pytest.mark.slow
@pytest.mark.case(n=4)
def test_an_agent_leaves_while_no_coordinator_is_there(
    fleet: Fleet, loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if an agent that leaves does not wait until the killed coordinator is back."""
    secs = 14
    coordinator = fleet.coordinator(*COORDINATOR)
    leaver, _ = (fleet.agent(f"a-{n}", *AGENT) for n in (1, 2))
    with fleet.start(loadpilot, WEIGHTED, oracle.url, *load(RPS, secs, 2)) as running:
        assert oracle.wait_count(RPS, 30)
        coordinator.kill()
        coordinator.end()
        leave(leaver)
        before = oracle.counts().received
        assert oracle.wait_count(before + RPS, 30), "the leaving agent does not serve its shards"
        fleet.coordinator(*COORDINATOR)
        running.until(f"a-1 {MOVED} its 128 shards: a-2 takes 128")
        assert leaver.end(20).code == 0
        finished = running.end()
    assert_nothing_lost(finished, oracle, secs)


@pytest.mark.slow
@pytest.mark.case(n=4)
def test_an_agent_leaves_while_another_one_joins(
    fleet: Fleet, loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if a move that is under way is mistaken for the move of the agent that leaves."""
    secs = 16
    fleet.coordinator(*COORDINATOR)
    leaver = fleet.agent("a-1", *AGENT)
    flags = load(RPS, secs, 2, "--min-agents", "1", "--wait-agents", "1s")
    with fleet.start(loadpilot, WEIGHTED, oracle.url, *flags) as running:
        assert oracle.wait_count(RPS, 30)
        fleet.agent("a-2", *AGENT)
        running.until("a-2 joins with 128")
        leave(leaver)
        running.until(f"a-1 {MOVED} its 128 shards: a-2 takes 128")
        assert leaver.end(20).code == 0
        finished = running.end()
    plan = assert_nothing_lost(finished, oracle, secs)
    assert [plan.sizes(n) for n in range(3)] == [[256], [128, 128], [256]]


@pytest.mark.slow
@pytest.mark.case(n=4)
def test_an_agent_is_killed_before_others_have_taken_over(
    fleet: Fleet, loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if more arrivals are lost than those that the killed agent still had to send."""
    secs = 12
    fleet.coordinator(*COORDINATOR)
    leaver, *_ = (fleet.agent(f"a-{n}", *AGENT) for n in (1, 2, 3))
    with fleet.start(loadpilot, WEIGHTED, oracle.url, *load(RPS, secs, 3)) as running:
        assert oracle.wait_count(2 * RPS, 30)
        leave(leaver)
        running.until(f"a-1 {MOVED}")
        leaver.kill()
        finished = running.end()
    plan = Plan(finished.report, RPS, secs)
    missing = not_late(assert_accounted(finished, oracle, plan), finished, plan, "a-1")
    assert missing
    assert max(map(plan.tick, missing)) < plan.maps[1]["from_tick"]
    assert {gap["holder"]["agent"] for gap in finished.report["gaps"]["lost"]} == {"a-1"}


@pytest.mark.slow
@pytest.mark.case(n=4)
def test_a_lone_agent_waits_for_a_newcomer_and_not_for_ever(
    fleet: Fleet, loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if a lone agent ends at once although another one comes, or never ends."""
    secs = 14
    fleet.coordinator(*COORDINATOR)
    leaver = fleet.agent("a-1", *AGENT)
    with fleet.start(loadpilot, WEIGHTED, oracle.url, *load(RPS, secs, 1)) as running:
        assert oracle.wait_count(RPS, 30)
        leave(leaver)
        last = fleet.agent("a-2", *AGENT, "--hand-over", "1s")
        running.until("a-2 joins with 256")
        assert leaver.end(20).code == 0
        before = oracle.counts().received
        assert oracle.wait_count(before + RPS, 30), "the newcomer has not taken over"
        leave(last)
        assert last.end(20).code == 0
        running.until(f"capacity reduced: lost a-2 {TIMES} 256: left")
        running.signal(signal.SIGINT)
        finished = running.end()
    report = finished.report
    assert report["run"]["ending"] == "stopped"
    assert {gap["holder"]["agent"] for gap in report["gaps"]["lost"]} <= {"a-2"}
