"""A closed loop: every request is counted, each user keeps the weights, and the output names it as
one."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from tests.e2e.support.command import SCENARIOS, Loadpilot

if TYPE_CHECKING:
    from tests.oracle.oracle import Oracle

WEIGHTED = SCENARIOS / "weighted.py"
WEIGHTS = {"/often": 5, "/rarely": 1}
ROUTES = {"often": "/often", "rarely": "/rarely"}
USERS = 8
ANSWER_MS = 20
"""Response time, which limits the load: 8 users with 20 ms a request send at most 400 a second."""
SECS = 6
RESTING = """
import math
from loadpilot import LoadClient, VUser, scenario, task

@scenario(users=4, duration="4s", {rest}{how})
class Resting(VUser):
    @task
    def t(self, client: LoadClient) -> None:
        client.get("/t"{more})
"""
HOW = {
    "compiled": {"how": "", "more": ""},
    "in Python": {"how": ", compile=False", "more": ', headers={"X-Root": str(math.isqrt(9))}'},
}


@pytest.mark.slow
def test_every_iteration_of_every_user_is_counted(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if a user is missing or doubled, or does not keep the weights of its tasks."""
    oracle.delay(ANSWER_MS)
    flags = ("--users", str(USERS), "--duration", f"{SECS}s", "--agents", "2")
    finished = loadpilot.run(WEIGHTED, oracle.url, *flags)
    assert finished.judged == 0, finished.stderr
    requests, report = oracle.requests(), finished.report
    assert oracle.broken() == []

    arrivals = report["arrivals"]
    assert arrivals["started"] == arrivals["planned"] == len(requests)
    assert report["calls"]["outcomes"] == {"ok": len(requests)}
    assert sum(arrivals["dropped"].values()) == arrivals["lost"] == 0
    assert report["gaps"]["lost"] == []
    # Each user waits only for its responses; a busy machine makes it slower.
    most = USERS * SECS * 1_000 // ANSWER_MS
    assert most // 3 < len(requests) <= most + USERS

    by_route = Counter(request.route for request in requests)
    for task in report["tasks"]:
        assert task["arrivals"]["started"] == by_route[ROUTES[task["name"]]]

    ids = [request.id or "" for request in requests]
    assert len(set(ids)) == len(ids)
    of_user: dict[int, dict[int, str]] = defaultdict(dict)
    for request in requests:
        run, who, step = (request.id or "").split("/")
        user, generation, k = map(int, who.split("."))
        assert (run, generation, step) == (finished.run, 1, "0")
        of_user[user][k] = request.route
    assert sorted(of_user) == list(range(USERS))
    block = sum(WEIGHTS.values())
    for routes in of_user.values():
        assert sorted(routes) == list(range(len(routes)))
        for begin in range(0, len(routes) - block + 1, block):
            assert Counter(routes[k] for k in range(begin, begin + block)) == WEIGHTS

    shares = [holder["calls"] for holder in report["run"]["holders"]]
    assert len(shares) == 2
    assert sum(shares) == len(requests)
    assert report["run"]["users"] == USERS
    for part in (f"closed loop, {USERS} users", "coordinated omission"):
        assert part in finished.stdout
    for part in ("CO factor", "shortfall", "uncorrected"):
        assert part not in finished.stdout


def times_by_user(oracle: Oracle) -> dict[int, list[int]]:
    """Times of the requests of each user, in µs."""
    of_user: dict[int, list[int]] = defaultdict(list)
    for request in oracle.requests():
        _, who, _ = (request.id or "").split("/")
        of_user[int(who.partition(".")[0])].append(request.arrival_us)
    return of_user


@pytest.mark.slow
@pytest.mark.parametrize("how", HOW)
def test_paced_users_come_every_so_often(loadpilot: Loadpilot, oracle: Oracle, how: str) -> None:
    """Broken if a user's pace depends on the response time of the target, or if all users begin at
    once."""
    oracle.delay(200)
    scene = RESTING.format(rest='pacing="1s"', **HOW[how])
    finished = loadpilot.run(scene, oracle.url, "--agents", "2")
    assert finished.judged == 0, finished.stderr
    assert "closed loop, 4 users, each begins every 1 s" in finished.stderr
    assert "closed loop, 4 users, each begins every 1 s" in finished.stdout
    times = times_by_user(oracle)
    assert sorted(times) == list(range(4))
    for of_user in times.values():
        # The last user begins 250 ms before the end, which a stall of the machine may skip.
        assert len(of_user) in {3, 4}, times
        # A stall lengthens some gaps; a user that also waits for its response has only long ones.
        assert min(b - a for a, b in pairwise(of_user)) < 1_150_000, times
    begins = sorted(of_user[0] for of_user in times.values())
    assert begins[-1] - begins[0] > 300_000, "the users begin at the same time"
    assert finished.report["arrivals"]["started"] == sum(map(len, times.values()))
    assert finished.report["run"]["rest"] == {"pacing": {"every_us": 1_000_000}}


@pytest.mark.parametrize("how", HOW)
def test_thinking_users_rest_after_their_answers(
    loadpilot: Loadpilot, oracle: Oracle, how: str
) -> None:
    """Broken if think time runs while a user waits for a response, if it is too short, or if it is
    the same for all."""
    oracle.delay(100)
    scene = RESTING.format(rest='wait=("200ms", "600ms")', **HOW[how])
    finished = loadpilot.run(scene, oracle.url, "--agents", "2")
    assert finished.judged == 0, finished.stderr
    assert "closed loop, 4 users, thinking 0.2 s to 0.6 s" in finished.stderr
    times = times_by_user(oracle)
    assert len(times) == 4
    gaps = [b - a for of_user in times.values() for a, b in pairwise(of_user)]
    assert finished.report["arrivals"]["started"] == sum(map(len, times.values()))
    assert min(gaps) >= 300_000
    # Uniform from 200 to 600 ms: about half of them on each side of the middle.
    short = sum(gap < 500_000 for gap in gaps)
    assert 0.2 < short / len(gaps) < 0.8, gaps
