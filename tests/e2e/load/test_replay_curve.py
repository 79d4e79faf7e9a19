"""A recorded load arrives at the target second by second, as it was recorded."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import Counter
from itertools import accumulate
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.support.command import Loadpilot
    from tests.oracle.oracle import Oracle

pytestmark = pytest.mark.timed

SCENE = """
from loadpilot import LoadClient, VUser, scenario, task


@scenario(replay_curve="curve.csv", scale=1.3)
class Replay(VUser):
    @task
    def get(self, client: LoadClient) -> None:
        client.get("/get")
"""
COUNTS = [200, 310, 0, 500, 420, 430, 210, 270]
"""Arrivals of each second of the recording."""
PLANNED = [260, 403, 0, 650, 546, 559, 273, 351]
"""Planned arrivals at 1.3 times the recording."""
SHARE = 0.01
"""Maximum difference of a second at the target, as a share of the busiest of it and its neighbours:
arrivals that are late by a few ms at its end arrive in the next one."""
STALL_SHARE = 0.1
"""The same where the machine stalls across the border of two seconds, which may happen once."""
SECOND_US = 1_000_000


def record(folder: Path) -> None:
    """Writes the curve with a header and times since 1970, as a monitor exports it."""
    rows = [f"{1_764_151_200 + second},{count}\n" for second, count in enumerate(COUNTS)]
    (folder / "curve.csv").write_text("time,requests\n" + "".join(rows), encoding="utf-8")


def second_of(n: int) -> int:
    """The second in which arrival n is due, according to the recording."""
    return bisect_right(list(accumulate(PLANNED)), n)


@pytest.mark.slow
@pytest.mark.parametrize("agents", [pytest.param(1, marks=pytest.mark.long), 4])
def test_a_curve_arrives_as_it_was_recorded(
    loadpilot: Loadpilot, oracle: Oracle, agents: int
) -> None:
    """Broken if a second has other arrivals than the recording: in the plan, by their ids at the
    target, or by the target's own clock. 12 s each."""
    record(loadpilot.folder)
    finished = loadpilot.run(SCENE, oracle.url, "--agents", str(agents))
    assert finished.judged == 0, finished.stderr
    assert "replay of 8 s, second by second" in finished.stderr
    report = finished.report
    assert report["run"]["shape"] == "replay"
    assert "load_curve" not in report
    series = loadpilot.call("dump", finished.run, "--what", "series", "--format", "ndjson")
    rows = [json.loads(line) for line in series.stdout.splitlines()]
    assert [row["planned"] for row in rows] == PLANNED
    assert [row["started"] for row in rows] == PLANNED

    requests = oracle.requests()
    numbers = [int((request.id or "").split("/")[1]) for request in requests]
    assert sorted(numbers) == list(range(sum(PLANNED)))
    assert Counter(map(second_of, numbers)) == {s: n for s, n in enumerate(PLANNED) if n}

    start_us = report["run"]["start_at"]
    received = Counter((request.arrival_us - start_us) // SECOND_US for request in requests)
    near = [max(PLANNED[max(0, second - 1) : second + 2]) for second in range(len(PLANNED))]
    off = [abs(received[second] - n) / near[second] for second, n in enumerate(PLANNED)]
    assert sum(share > SHARE for share in off) <= 2, received
    assert max(off) <= STALL_SHARE, received


def test_a_broken_curve_is_refused_at_its_place(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if a run starts with an invalid curve, or if the message does not name the place.
    1 s."""
    (loadpilot.folder / "bad.csv").write_text("second,count\n0,5\n1,many\n", encoding="utf-8")
    flags = ("--replay-curve", "bad.csv", "--scale", "0")
    refused = loadpilot.run(SCENE, oracle.url, *flags)
    assert refused.code == 2
    assert "bad.csv:3:3: must be the number of arrivals of the second" in refused.stderr
    assert "--scale: must be a factor such as 1.3" in refused.stderr
    assert oracle.requests() == []
