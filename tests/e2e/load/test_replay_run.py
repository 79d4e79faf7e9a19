"""The planned arrivals of a past run are the plan of another one, second by second."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.e2e.support.command import Finished, Loadpilot
    from tests.oracle.oracle import Oracle

SCENE = """
from loadpilot import LoadClient, VUser, scenario, task


@scenario({said})
class Past(VUser):
    @task
    def get(self, client: LoadClient) -> None:
        client.get("/get")
"""
STAGES = "stages=[('2s', 40), ('0s', 90), ('1s', 90)]"
PLANNED = [10, 30, 90]
"""Arrivals of a ramp to 40/s over two seconds, and of a second at 90/s."""


@pytest.fixture
def past(loadpilot: Loadpilot, oracle: Oracle) -> Finished:
    """A run to replay."""
    finished = loadpilot.run(SCENE.format(said=STAGES), oracle.url)
    assert finished.judged == 0, finished.stderr
    return finished


def planned(loadpilot: Loadpilot, run: str) -> list[int]:
    """Planned arrivals of each second, from the log."""
    series = loadpilot.call("dump", run, "--what", "series", "--format", "ndjson")
    return [json.loads(line)["planned"] for line in series.stdout.splitlines()]


@pytest.mark.slow
def test_a_past_run_is_replayed(loadpilot: Loadpilot, oracle: Oracle, past: Finished) -> None:
    """Broken if a second of the past run has other arrivals in the run that replays it, from its
    log or from its file, or if the scale has no effect. 15 s."""
    assert planned(loadpilot, past.run) == PLANNED
    exported = loadpilot.call("export", past.run, "past.lprun")
    assert exported.code == 0, exported.stderr
    before = len(oracle.requests())
    assert before == sum(PLANNED)

    again = loadpilot.run(SCENE.format(said="rps=1"), oracle.url, "--replay-run", past.run)
    assert again.judged == 0, again.stderr
    assert planned(loadpilot, again.run) == PLANNED

    said = "replay_run='past.lprun', scale=1.5"
    scaled = loadpilot.run(SCENE.format(said=said), oracle.url)
    assert scaled.judged == 0, scaled.stderr
    assert planned(loadpilot, scaled.run) == [15, 45, 135]
    counts = Counter((request.id or "").split("/")[0] for request in oracle.requests())
    assert counts == {past.run: 130, again.run: 130, scaled.run: 195}


def test_a_run_without_a_plan_is_refused(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if a closed loop, which plans no arrivals, or an absent run is replayed. 6 s."""
    closed = loadpilot.run(SCENE.format(said="users=1, wait='1s', duration='2s'"), oracle.url)
    assert closed.judged == 0, closed.stderr
    before = len(oracle.requests())
    for run, why in [
        (closed.run, "planned no arrivals: it was a closed loop"),
        ("x", "no run 'x'"),
    ]:
        refused = loadpilot.run(SCENE.format(said="rps=1"), oracle.url, "--replay-run", run)
        assert (refused.code, why in refused.stderr) == (2, True), refused.stderr
        assert "--replay-run: " in refused.stderr
    assert len(oracle.requests()) == before
