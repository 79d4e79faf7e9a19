"""Several coordinators, some of them frozen or killed: their decisions never contradict each
other."""

from __future__ import annotations

import random
import signal
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from tests.e2e.support import rawlog
from tests.e2e.support.command import SCENARIOS, Loadpilot
from tests.e2e.support.dropped_arrivals import all_but_late, assert_each_came_once
from tests.faults.support.elastic import (
    AGENT,
    COORDINATOR,
    LOST_S,
    Plan,
    assert_accounted,
    load,
    not_late,
)
from tests.faults.support.stack_run import arrivals_of

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.support.fleet import Fleet
    from tests.oracle.oracle import Oracle

WEIGHTED = SCENARIOS / "weighted.py"
ONCE = ("RunCreated", "ShardsAssigned", "StartScheduled", "RunSealed")


def decisions(fleet: Fleet, folder: Path) -> list[tuple[str, int]]:
    """Every decision in the log with its generation (0 if it has none), read without the product.
    Ends the server."""
    fleet.server.kill()
    fleet.server.end()
    entries = [entry for entry in rawlog.read(fleet.folder, folder) if entry.kind == "ctl"]
    return [(entry.event["type"], entry.event.get("generation", 0)) for entry in entries]


@pytest.mark.long
def test_a_coordinator_that_was_frozen_changes_nothing_when_it_wakes(
    fleet: Fleet, loadpilot: Loadpilot, oracle: Oracle, tmp_path: Path
) -> None:
    """Broken if a coordinator still decides from its state before it was frozen, or if it declares
    agents lost whose heartbeats it missed while it was frozen."""
    rps, secs = 100, 20
    frozen = fleet.coordinator(*COORDINATOR)
    fleet.coordinator(*COORDINATOR)
    agents = [fleet.agent(f"a-{n}", *AGENT) for n in (1, 2)]
    with fleet.start(loadpilot, WEIGHTED, oracle.url, *load(rps, secs, 2)) as running:
        assert oracle.wait_count(rps, 30)
        fleet.agent("a-3", *AGENT)
        frozen.signal(signal.SIGSTOP)
        agents[0].kill()
        running.until("lost a-1")
        running.until("a-3 joins with 128")
        before = oracle.counts().received
        assert oracle.wait_count(before + int(LOST_S * rps), 30)
        frozen.signal(signal.SIGCONT)
        frozen.until("listening anew")
        finished = running.end()
    plan = Plan(finished.report, rps, secs)
    assert not_late(assert_accounted(finished, oracle, plan), finished, plan, "a-1")
    decided = decisions(fleet, tmp_path / "copy")
    assert Counter(what for what, _ in decided) == Counter(ONCE) + Counter(ShardsReassigned=2)
    assert [generation for _, generation in decided if generation] == [1, 2, 3]


@pytest.mark.slow
def test_five_coordinators_are_killed_one_by_one_and_the_last_one_knows_everything(
    fleet: Fleet, loadpilot: Loadpilot, oracle: Oracle, tmp_path: Path
) -> None:
    """Broken if a decision is made twice, or if only one coordinator knows it."""
    rps, secs = 100, 8
    dice = random.Random(20261122)  # noqa: S311  (no secret hangs on it)
    coordinators = [fleet.coordinator(*COORDINATOR) for _ in range(5)]
    for number in (1, 2):
        fleet.agent(f"a-{number}", *AGENT)
    with fleet.start(loadpilot, WEIGHTED, oracle.url, *load(rps, secs, 2)) as running:
        for done in range(1, 5):
            assert oracle.wait_count(done * rps, 30)
            coordinators.pop(dice.randrange(len(coordinators))).kill()
        finished = running.end()
    assert finished.judged == 0, finished.stderr
    sent = all_but_late(finished.report, rps, secs)
    assert_each_came_once(arrivals_of(finished.run, oracle.requests()), rps * secs, sent)
    decided = decisions(fleet, tmp_path / "copy")
    assert Counter(what for what, _ in decided) == Counter(ONCE)
