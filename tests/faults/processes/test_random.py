"""Random processes are killed at random moments: the report agrees with what the target
received."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest
from tests.faults.support.breakable_fleet import kill
from tests.faults.support.loads import WEIGHTED, Load

if TYPE_CHECKING:
    import random

    from tests.e2e.support.command import Loadpilot, Running
    from tests.faults.support.breakable_fleet import BreakableFleet
    from tests.oracle.oracle import Oracle

SOAK_SECS = int(os.environ.get("LOADPILOT_SOAK_SECS", "600"))
"""How long the soak takes."""
KILLS = 20


@pytest.mark.case(n=9)
@pytest.mark.long
@pytest.mark.parametrize(
    ("load", "kills"),
    [
        pytest.param(Load(100, 10), 6, id="short"),
        pytest.param(Load(60, 60), 50, id="fifty"),
    ],
)
def test_five_coordinators_of_which_some_are_always_dying(
    breakable_fleet: BreakableFleet,
    loadpilot: Loadpilot,
    oracle: Oracle,
    rng: random.Random,
    load: Load,
    kills: int,
) -> None:
    """Broken if two coordinators can make one decision, or if only a dead one knows it."""
    coordinators = [breakable_fleet.coordinator() for _ in range(5)]
    for name in ("a-1", "a-2"):
        breakable_fleet.agent(name)
    with breakable_fleet.start(loadpilot, WEIGHTED, oracle.url, *load.fleet) as running:
        assert oracle.wait_count(load.rps, 30)
        for _ in range(kills):
            time.sleep(rng.uniform(0.1, 0.8) * load.secs / kills)
            victim = rng.randrange(len(coordinators))
            kill(coordinators[victim].pid)
            coordinators[victim].end()
            coordinators[victim] = breakable_fleet.coordinator()
        finished = running.end()
    assert finished.judged == 0, finished.stderr
    breakable_fleet.assert_adds_up(
        finished, oracle, load.planned, quiet=True, late_max=load.late_max
    )


@pytest.mark.case(n=24)
@pytest.mark.long
@pytest.mark.timeout(SOAK_SECS + 240)
def test_a_soak_in_which_anything_dies(
    breakable_fleet: BreakableFleet, loadpilot: Loadpilot, oracle: Oracle, rng: random.Random
) -> None:
    """Broken if any order of kills loses or doubles a call without a word in the report."""
    load = Load(60, SOAK_SECS, agents=3)
    coordinators = [breakable_fleet.coordinator() for _ in range(2)]
    names = ["a-1", "a-2", "a-3"]
    agents = {name: breakable_fleet.agent(name) for name in names}
    oracle.delay(20)
    with breakable_fleet.start(loadpilot, WEIGHTED, oracle.url, *load.fleet) as running:
        assert oracle.wait_count(load.rps, 30)
        for _ in range(KILLS):
            time.sleep(rng.uniform(0.5, 0.9) * SOAK_SECS / KILLS)
            what = rng.choice(["agent", "agent", "coordinator", "log"])
            print(f"kills a(n) {what}")
            if what == "log":
                breakable_fleet.kill_server()
                breakable_fleet.start_server()
            elif what == "coordinator":
                victim = rng.randrange(len(coordinators))
                end(coordinators[victim])
                coordinators[victim] = breakable_fleet.coordinator()
            else:
                name = rng.choice(names)
                end(agents[name])
                agents[name] = breakable_fleet.agent(name, "--predecessor-dead")
        finished = running.end(SOAK_SECS)
    report = breakable_fleet.assert_adds_up(finished, oracle, load.planned)
    assert report["run"]["ending"] == "completed", finished.stderr
    outcomes = report["calls"]["outcomes"]
    assert set(outcomes) <= {"ok", "indeterminate"}
    received, cut = len(oracle.requests()), outcomes.get("indeterminate", 0)
    assert outcomes["ok"] <= received <= outcomes["ok"] + cut
    assert all(one.get("tail", {}).get("lost") is None for one in report["run"]["holders"])


def end(process: Running) -> None:
    kill(process.pid)
    process.end()
