"""Programs of two versions in one fleet: they perform a run together, or refuse it.

Events of a future version are forged in `test_foreign_events`; here older versions are
built. `LOADPILOT_OLDER` may name another commit.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from tests.faults.support.breakable_fleet import SHORT_COORDINATOR
from tests.faults.support.loads import WEIGHTED, Load
from tests.faults.support.older_builds import BUILD_S, Older, older

if TYPE_CHECKING:
    from tests.e2e.support.command import Finished, Loadpilot
    from tests.faults.support.breakable_fleet import BreakableFleet
    from tests.oracle.oracle import Oracle

pytestmark = [pytest.mark.long, pytest.mark.case(n=21), pytest.mark.timeout(BUILD_S)]

BEFORE_STRIDES = "8ddb510cbffb8a33faa7e1da7ea7101d28ffc0e4"
"""A commit whose agents cannot read the assignments of today."""
BEFORE_THE_LOGS_TIME = "127e96af522ac2989bee5e154dfa4cdd484b434c"
"""A commit that writes and reads all events of today, except for fields that were added."""
NAMED = os.environ.get("LOADPILOT_OLDER")
LOAD = Load(100, 8)


@pytest.fixture(scope="module", params=[NAMED] if NAMED else [BEFORE_STRIDES, BEFORE_THE_LOGS_TIME])
def before(request: pytest.FixtureRequest) -> Older:
    """The programs of an older commit."""
    return older(request.param)


def assert_done_or_refused(
    breakable_fleet: BreakableFleet, finished: Finished, oracle: Oracle
) -> None:
    """Asserts that all load was sent and counted, or that none was sent and the command names the
    agent that is too old."""
    if finished.judged == 0:
        breakable_fleet.assert_adds_up(
            finished, oracle, LOAD.planned, quiet=True, late_max=LOAD.late_max
        )
    else:
        assert finished.code == 4, finished.stderr
        assert "too few agents got ready in time (old not ready)" in finished.stderr
        assert oracle.counts().received == 0


def test_an_older_agent_beside_a_newer_one(
    breakable_fleet: BreakableFleet, loadpilot: Loadpilot, oracle: Oracle, before: Older
) -> None:
    """Broken if an agent that does not understand its part sends something else, or delays the run
    without being named."""
    breakable_fleet.coordinator()
    breakable_fleet.agent("old", program=before.agent)
    breakable_fleet.agent("new")
    finished = breakable_fleet.run(loadpilot, WEIGHTED, oracle.url, *LOAD.fleet)
    assert_done_or_refused(breakable_fleet, finished, oracle)


def test_an_older_coordinator_with_newer_agents(
    breakable_fleet: BreakableFleet, loadpilot: Loadpilot, oracle: Oracle, before: Older
) -> None:
    """Broken if agents cannot be upgraded first."""
    breakable_fleet.coordinator(program=before.coordinator)
    breakable_fleet.agent("old", program=before.agent)
    breakable_fleet.agent("new")
    finished = breakable_fleet.run(loadpilot, WEIGHTED, oracle.url, *LOAD.fleet)
    assert finished.judged == 0, finished.stderr
    breakable_fleet.assert_adds_up(
        finished, oracle, LOAD.planned, quiet=True, late_max=LOAD.late_max
    )


def test_a_newer_coordinator_goes_on_with_a_run_of_an_older_one(
    breakable_fleet: BreakableFleet, loadpilot: Loadpilot, oracle: Oracle, before: Older
) -> None:
    """Broken if coordinators cannot be upgraded while a run goes on."""
    older_one = breakable_fleet.coordinator(*SHORT_COORDINATOR, program=before.coordinator)
    breakable_fleet.agent("old", program=before.agent)
    breakable_fleet.agent("new")
    with breakable_fleet.start(loadpilot, WEIGHTED, oracle.url, *LOAD.fleet) as running:
        assert oracle.wait_count(LOAD.rps, 30)
        older_one.kill()
        breakable_fleet.coordinator(*SHORT_COORDINATOR)
        finished = running.end()
    assert finished.judged == 0, finished.stderr
    breakable_fleet.assert_adds_up(
        finished, oracle, LOAD.planned, quiet=True, late_max=LOAD.late_max
    )
