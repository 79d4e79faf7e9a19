"""A process is frozen for a while, without notice: an agent, a coordinator or the nats-server."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from tests.e2e.support.processes import Part
from tests.faults.support.breakable_fleet import SHORT_AGENT, SHORT_COORDINATOR, frozen
from tests.faults.support.bursts import assert_no_burst, now_us
from tests.faults.support.loads import (
    SHARDS,
    WEIGHTED,
    Load,
    arrival_of,
    first_owner,
)
from tests.faults.support.stacks import assert_stack_adds_up, two_coordinators

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.support.command import Loadpilot
    from tests.faults.support.breakable_fleet import BreakableFleet
    from tests.faults.support.noise import NoiseMonitor
    from tests.oracle.oracle import Oracle


@pytest.mark.long
@pytest.mark.case(n=3)
@pytest.mark.parametrize(
    ("load", "freeze_s", "constants"),
    [
        pytest.param(Load(100, 16), 7, (SHORT_COORDINATOR, SHORT_AGENT), id="short"),
        pytest.param(Load(100, 40), 20, ((), ()), id="20s"),
    ],
)
def test_a_frozen_agent_wakes_to_silence(
    breakable_fleet: BreakableFleet,
    loadpilot: Loadpilot,
    oracle: Oracle,
    noise_monitor: NoiseMonitor,
    load: Load,
    freeze_s: float,
    constants: tuple[tuple[str, ...], tuple[str, ...]],
) -> None:
    """Broken if a process that was frozen sends arrivals of shards that others hold by then, or
    catches up in a burst."""
    coordinator, agent = constants
    breakable_fleet.coordinator(*coordinator)
    sleeper = breakable_fleet.agent("a-1", *agent)
    breakable_fleet.agent("a-2", *agent)
    with breakable_fleet.start(loadpilot, WEIGHTED, oracle.url, *load.fleet) as running:
        assert oracle.wait_count(2 * load.rps, 30)
        with frozen(sleeper.pid):
            slept_us = now_us()
            time.sleep(freeze_s)
            woken_us = now_us()
        sleeper.until("begins anew")
        finished = running.end()
    report = breakable_fleet.assert_adds_up(finished, oracle, load.planned)
    assert report["run"]["ending"] == "completed"
    owner = first_owner(breakable_fleet.messages(finished.run))
    requests = oracle.requests()
    mine = [one for one in requests if owner[arrival_of(one) % SHARDS] == "a-1"]
    its_connections = {one.connection for one in mine if one.arrival_us < slept_us}
    assert its_connections
    after = [one for one in requests if one.arrival_us >= woken_us]
    assert [one for one in after if one.connection in its_connections] == [], (
        "the frozen agent sent before it held shards again"
    )
    assert Counter(map(arrival_of, requests)).most_common(1)[0][1] == 1
    dropped = report["arrivals"]["dropped"]
    assert report["arrivals"]["lost"] + sum(dropped.values()) == load.planned - len(requests)
    assert_no_burst(after, report["run"]["start_at"], load, noise_monitor)


@pytest.mark.case(n=8)
@pytest.mark.long
@pytest.mark.timeout(180)
def test_a_frozen_coordinator_is_not_missed_and_decides_nothing_when_it_wakes(
    tmp_path: Path, oracle: Oracle
) -> None:
    """Broken if a coordinator that was frozen declares all agents lost, or writes a decision from
    before the freeze."""
    load = Load(60, 40)
    with two_coordinators(tmp_path).start(WEIGHTED, oracle.url, *load.local) as running:
        assert oracle.wait_count(2 * load.rps, 30)
        first, _ = running.parts(Part.COORDINATOR)
        with frozen(first.pid):
            time.sleep(20)
        finished = running.end()
    assert_stack_adds_up(
        tmp_path / "work", finished, oracle, load.planned, quiet=True, late_max=load.late_max
    )


@pytest.mark.slow
@pytest.mark.case(n=8)
def test_a_frozen_coordinator_of_a_fleet_is_not_missed(
    breakable_fleet: BreakableFleet, loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken as above, with timeouts so short that the frozen coordinator would have lost all
    agents twice."""
    load = Load(100, 14)
    first = breakable_fleet.coordinator(*SHORT_COORDINATOR)
    breakable_fleet.coordinator(*SHORT_COORDINATOR)
    for name in ("a-1", "a-2"):
        breakable_fleet.agent(name, *SHORT_AGENT)
    with breakable_fleet.start(loadpilot, WEIGHTED, oracle.url, *load.fleet) as running:
        assert oracle.wait_count(2 * load.rps, 30)
        with frozen(first.pid):
            time.sleep(8)
        first.until("listening anew")
        finished = running.end()
    assert finished.judged == 0, finished.stderr
    breakable_fleet.assert_adds_up(
        finished, oracle, load.planned, quiet=True, late_max=load.late_max
    )


@pytest.mark.slow
@pytest.mark.case(n=11)
@pytest.mark.parametrize(
    ("load", "freeze_s"),
    [
        pytest.param(Load(100, 12), 4, id="shorter than the fence"),
        pytest.param(Load(60, 40), 12, id="12s", marks=pytest.mark.long),
    ],
)
def test_a_frozen_log_costs_at_most_what_the_fence_takes(
    loadpilot: Loadpilot, oracle: Oracle, noise_monitor: NoiseMonitor, load: Load, freeze_s: float
) -> None:
    """Broken if agents without a log go on for ever, stop too soon, or do not return when the log
    does."""
    with loadpilot.start(WEIGHTED, oracle.url, *load.local) as running:
        assert oracle.wait_count(2 * load.rps, 30)
        (server,) = running.parts(Part.SERVER)
        with frozen(server.pid):
            slept_us = now_us()
            time.sleep(freeze_s)
            woken_us = now_us()
        finished = running.end()
    is_short = freeze_s < 7
    report = assert_stack_adds_up(loadpilot.folder, finished, oracle, load.planned, quiet=is_short)
    assert report["run"]["ending"] == "completed", finished.stderr
    if is_short:
        return
    requests = oracle.requests()
    silent = [one for one in requests if slept_us + 7_500_000 < one.arrival_us < woken_us]
    assert silent == [], "agents without a log went on for more than 7 s"
    last_due = load.planned - load.rps
    assert any(arrival_of(one) > last_due for one in requests), "the agents did not return"
    assert_no_burst(
        [one for one in requests if one.arrival_us > woken_us],
        report["run"]["start_at"],
        load,
        noise_monitor,
    )
