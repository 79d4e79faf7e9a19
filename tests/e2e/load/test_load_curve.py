"""The levels of a run of steps are those that the target saw, and the knee is where it broke."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.e2e.support.command import Loadpilot
    from tests.oracle.oracle import Oracle

pytestmark = pytest.mark.timed

SCENE = """
from loadpilot import LoadClient, VUser, scenario, task


@scenario(rps=150, duration="9s", mode="step", steps=3)
class Steps(VUser):
    @task
    def get(self, client: LoadClient) -> None:
        client.get("/get")
"""
PLANNED = [150, 300, 450]
"""Three seconds each at 50, 100 and 150 arrivals per second."""
FREEZE_AFTER_MS, FREEZE_MS = 7000, 1500
"""The freeze is in the third level."""
DELAY_MS = 150
"""Delay of each response. The limit of a level is three times that, far above stalls of a busy
machine."""
P99_US = 1_470_000
"""Expected p99: of 450 arrivals 225 are due in the freeze, evenly, and the fifth longest waits so
long."""


def knee_point(curve: dict[str, Any]) -> dict[str, Any] | None:
    """The knee as the results file has it in one object."""
    if curve["knee"] is None:
        return None
    held = curve["knee"]["held"]
    level = curve["levels"][held]
    return {
        "step": held + 1,
        "rps": level["rate_rps"],
        "p99_ms": level["response"]["p99_us"] / 1000,
        "error_rate_pct": level["error_rate_pct"],
        "total_steps": len(curve["levels"]),
        "max_rps": max(level["rate_rps"] for level in curve["levels"]),
    }


def curve_of(loadpilot: Loadpilot, oracle: Oracle) -> tuple[str, dict[str, Any], str]:
    """Runs the scenario; returns the run, its curve as `report` prints it from the log, and the
    line of the knee."""
    oracle.delay(DELAY_MS)
    before = len(oracle.requests())
    finished = loadpilot.run(SCENE, oracle.url)
    assert finished.judged == 0, finished.stderr
    curve = finished.report["load_curve"]
    assert finished.report.get("knee_point") == knee_point(curve)
    printed = loadpilot.call("report", "last", "--json")
    assert json.loads(printed.stdout)["load_curve"] == curve
    levels = curve["levels"]
    assert [level["planned"] for level in levels] == PLANNED
    assert sum(level["finished"] for level in levels) == len(oracle.requests()) - before
    line = next(line for line in finished.stdout.splitlines() if line.startswith("knee"))
    return finished.run, curve, line.split(maxsplit=1)[1]


@pytest.mark.slow
def test_the_knee_is_below_the_level_in_which_the_target_froze(
    loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if the freeze is in another level, is averaged away, or does not move the knee, if a
    healthy target is reported as failing, or if `compare` does not find that the target holds less.
    20 s."""
    oracle.freeze(after_first_ms=FREEZE_AFTER_MS, for_ms=FREEZE_MS)
    froze, curve, line = curve_of(loadpilot, oracle)
    assert curve["knee"] == {"held": 1, "broke": 2}
    assert [level["exceeded"] for level in curve["levels"]] == [[], [], ["latency"]]
    frozen = curve["levels"][2]["response"]["p99_us"]
    # A busy machine answers later, never earlier. Tests of the engine check exact percentiles.
    assert frozen >= P99_US * 0.95
    assert line.startswith("100/s held, 150/s did not: p99 ")

    healthy, curve, line = curve_of(loadpilot, oracle)
    assert (curve["knee"], curve["no_knee"]) == (None, "all_held"), curve["levels"]
    assert line.startswith("none: every level up to 150")

    compared = loadpilot.call("compare", froze, healthy, "--json")
    rows = json.loads(compared.stdout)["figures"]
    [held] = [row for row in rows if row["figure"] == "held_rps"]
    assert (held["baseline"], held["current"], held["change"]) == (150.0, 100.0, "worse")
    text = loadpilot.call("compare", froze, healthy)
    lines = [" ".join(line.split()) for line in text.stdout.splitlines()]
    assert (text.code, "✗ held 150 /s 100 /s -33.3 % worse" in lines) == (1, True), text.stdout
