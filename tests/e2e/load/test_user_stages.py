"""The users of a closed loop, measured at the target, follow their stages."""

from __future__ import annotations

import os
import signal
from collections import defaultdict
from typing import TYPE_CHECKING

import pytest
from tests.e2e.support.command import SCENARIOS
from tests.e2e.support.processes import Part

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.e2e.support.command import Finished, Loadpilot
    from tests.oracle.oracle import Oracle, Request

WEIGHTED = SCENARIOS / "weighted.py"
PEAK = 8
SECOND = 1_000_000
ANSWER_MS = 20
SLACK_US = 100_000
"""Maximum difference of the clocks of log and oracle, which are on one machine."""


def user_of(request: Request) -> int:
    return int((request.id or "").split("/")[1].partition(".")[0])


def of_users(finished: Finished, requests: Sequence[Request]) -> dict[int, list[int]]:
    """Arrival times of the requests of each user, in µs after the start."""
    start_us = finished.report["run"]["start_at"]
    found: dict[int, list[int]] = defaultdict(list)
    for request in requests:
        found[user_of(request)].append(request.arrival_us - start_us)
    return found


def in_flight_most(requests: Sequence[Request]) -> int:
    """The greatest number of requests that were in flight at the oracle at one time."""
    steps = [(one.arrival_us, 1) for one in requests]
    steps += [(one.end_us, -1) for one in requests if one.end_us is not None]
    most = now = 0
    for _, step in sorted(steps):
        now += step
        most = max(most, now)
    return most


def assert_inside(times: Sequence[int], begin_us: float, end_us: float) -> None:
    """Asserts that no task begins outside of this time. The last one may reach the target later."""
    assert times[0] >= begin_us - SLACK_US
    assert sum(one > end_us + SLACK_US for one in times) <= 1


@pytest.mark.slow
@pytest.mark.parametrize("agents", ["1", "4"])
def test_users_come_and_leave_along_the_line(
    loadpilot: Loadpilot, oracle: Oracle, agents: str
) -> None:
    """Broken if a user begins before the stages include it or goes on after they no longer do, if
    the peak is not reached, or if four agents have other active users than one. 8 s each."""
    oracle.delay(ANSWER_MS)
    flags = ("--user-stages", f"2s:{PEAK},2s:{PEAK},2s:0", "--agents", agents)
    finished = loadpilot.run(WEIGHTED, oracle.url, *flags)
    assert finished.judged == 0, finished.stderr
    requests, report = oracle.requests(), finished.report

    times = of_users(finished, requests)
    assert sorted(times) == list(range(PEAK))
    for user, of_user in times.items():
        begin_us = (user + 1) * 2 * SECOND / PEAK
        assert_inside(of_user, begin_us, 6 * SECOND - begin_us)
    assert in_flight_most(requests) == PEAK

    arrivals = report["arrivals"]
    assert arrivals["started"] == arrivals["planned"] == len(requests)
    assert report["calls"]["outcomes"] == {"ok": len(requests)}
    assert sum(arrivals["dropped"].values()) == arrivals["lost"] == 0
    assert (report["gaps"]["lost"], report["gaps"]["lost_time_pct"]) == ([], 0)
    assert len(report["run"]["holders"]) == int(agents)
    assert report["run"]["users"] == PEAK
    stage = {"duration_us": 2 * SECOND, "from": 0, "to": PEAK}
    assert report["run"]["user_stages"][0] == stage
    for text in (finished.stdout, finished.stderr):
        assert f"closed loop, up to {PEAK} users in 3 stages" in text
    assert "coordinated omission" in finished.stdout


RETURNING = """
from loadpilot import LoadClient, VUser, scenario, task

@scenario(user_stages=[("0s", 4), ("1s", 4), ("0s", 1), ("2s", 1), ("0s", 4), ("2s", 4)],
          pacing="500ms"{more})
class Returning(VUser):
    @task
    def t(self, client: LoadClient) -> None:
        client.get("/t")
"""


@pytest.mark.parametrize("more", ["", ", compile=False"], ids=["compiled", "in Python"])
def test_users_that_left_come_back(loadpilot: Loadpilot, oracle: Oracle, more: str) -> None:
    """Broken if a user that left does not come back, has think time before it does, or never left.
    7 s each."""
    finished = loadpilot.run(RETURNING.format(more=more), oracle.url, "--agents", "2")
    assert finished.judged == 0, finished.stderr
    times = of_users(finished, oracle.requests())
    assert sorted(times) == list(range(4))
    for of_user in list(times.values())[1:]:
        assert of_user[0] < SECOND + SLACK_US
    for user in range(1, 4):
        before = [one for one in times[user] if one < 3 * SECOND - SLACK_US]
        assert_inside(before, 0, SECOND)
        assert len(before) < len(times[user])
    assert [one for one in times[0] if 1.5 * SECOND < one < 3 * SECOND]
    assert finished.report["arrivals"]["started"] == sum(map(len, times.values()))


@pytest.mark.slow
def test_a_killed_agent_s_users_go_on_along_the_line(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if a request of a killed agent is not counted, or if its successor plays users that
    are not active. 14 s."""
    oracle.delay(ANSWER_MS)
    flags = ("--user-stages", f"2s:{PEAK},6s:{PEAK},4s:0", "--agents", "2")
    with loadpilot.start(WEIGHTED, oracle.url, *flags) as running:
        assert oracle.wait_count(300, 30)
        os.kill(running.parts(Part.AGENT)[0].pid, signal.SIGKILL)
        running.until("restarted agent-")
        finished = running.end()
    verified = loadpilot.call("verify", finished.run)
    assert verified.code == 0, verified.stdout
    report, requests = finished.report, oracle.requests()
    assert report["run"]["ending"] == "completed", finished.stderr
    outcomes = report["calls"]["outcomes"]
    assert set(outcomes) <= {"ok", "indeterminate"}
    cut = outcomes.get("indeterminate", 0)
    assert outcomes["ok"] <= len(requests) <= outcomes["ok"] + cut
    assert cut <= PEAK
    assert report["gaps"]["quarantined"] == []
    times = of_users(finished, requests)
    assert sorted(times) == list(range(PEAK))
    for user, of_user in times.items():
        begin_us, end_us = (user + 1) * 2 * SECOND / PEAK, 12 * SECOND
        assert_inside(of_user, begin_us, end_us - (user + 1) * 4 * SECOND / PEAK)
