"""Agents and runs end when they are terminated, also a run whose coordinators are all dead."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest
from tests.faults.support.breakable_fleet import SHORT_AGENT, SHORT_COORDINATOR, kill
from tests.faults.support.bursts import now_us
from tests.faults.support.loads import WEIGHTED, Load

if TYPE_CHECKING:
    from tests.e2e.support.command import Loadpilot
    from tests.faults.support.breakable_fleet import BreakableFleet
    from tests.faults.support.noise import NoiseMonitor
    from tests.oracle.oracle import Oracle

STOP_US = 2_000_000


@pytest.mark.slow
@pytest.mark.case(n=4)
def test_an_agent_that_is_terminated_loses_nothing(
    breakable_fleet: BreakableFleet, loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if calls in flight are cut off, or if the agent's counts are lost."""
    load = Load(100, 14)
    oracle.delay(300)
    breakable_fleet.coordinator(*SHORT_COORDINATOR)
    leaver = breakable_fleet.agent("a-1", *SHORT_AGENT)
    breakable_fleet.agent("a-2", *SHORT_AGENT)
    with breakable_fleet.start(loadpilot, WEIGHTED, oracle.url, *load.fleet) as running:
        assert oracle.wait_count(3 * load.rps, 30)
        leaver.signal(signal.SIGTERM)
        assert leaver.end(20).code == 0
        finished = running.end()
    report = breakable_fleet.assert_adds_up(finished, oracle, load.planned)
    assert report["run"]["ending"] == "completed"
    assert report["calls"]["outcomes"] == {"ok": len(oracle.requests())}, (
        "a call did not finish as ok"
    )
    (left,) = [one for one in report["run"]["holders"] if one["holder"]["agent"] == "a-1"]
    assert left["finished"]
    assert report["arrivals"]["lost"] == 0, "arrivals were lost before the takeover"
    assert not list(breakable_fleet.state("a-1").glob("*")), "files of the agent stay behind"


@pytest.mark.slow
@pytest.mark.timed
@pytest.mark.case(n=19)
def test_a_stop_reaches_agents_whose_coordinators_are_all_dead(
    breakable_fleet: BreakableFleet, loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if load can be ended only with a coordinator: the target cannot wait for one."""
    load = Load(100, 60)
    coordinators = [breakable_fleet.coordinator() for _ in range(2)]
    for name in ("a-1", "a-2"):
        breakable_fleet.agent(name)
    with breakable_fleet.start(loadpilot, WEIGHTED, oracle.url, *load.fleet) as running:
        assert oracle.wait_count(2 * load.rps, 30)
        for coordinator in coordinators:
            kill(coordinator.pid)
            coordinator.end()
        asked_us = now_us()
        running.signal(signal.SIGINT)
        running.until("no coordinator")
        finished = running.end(30)
    last_us = oracle.counts().last_us
    assert last_us is not None
    assert last_us - asked_us < STOP_US
    assert finished.code == 130
    assert finished.report["run"]["state"] != "sealed", "the run was sealed without a coordinator"
    before = oracle.counts().received
    successor = breakable_fleet.coordinator()
    successor.until("RunSealed", 60)
    assert oracle.counts().received == before
    again = loadpilot.call("report", finished.run, "--json", "--nats-url", breakable_fleet.url)
    assert '"stopped"' in again.stdout, again.stdout + again.stderr


@pytest.mark.case(n=19)
@pytest.mark.long
def test_agents_without_a_coordinator_end_by_themselves(
    breakable_fleet: BreakableFleet,
    loadpilot: Loadpilot,
    oracle: Oracle,
    noise_monitor: NoiseMonitor,
) -> None:
    """Broken if load without a coordinator goes on for ever."""
    load = Load(100, 60)
    coordinator = breakable_fleet.coordinator()
    agents = [breakable_fleet.agent(name, "--no-coordinator", "4s") for name in ("a-1", "a-2")]
    with breakable_fleet.start(loadpilot, WEIGHTED, oracle.url, *load.fleet) as running:
        assert oracle.wait_count(2 * load.rps, 30)
        kill(coordinator.pid)
        alone_us = now_us()
        for agent in agents:
            agent.until("Isolated")
        silent_us = now_us()
        running.kill()
    last_us = oracle.counts().last_us
    assert last_us is not None
    assert last_us <= silent_us
    noise_monitor.judge(last_us - alone_us < 8_000_000, "agents went on for more than 8 s alone")
    breakable_fleet.coordinator().until("RunSealed", 60)
