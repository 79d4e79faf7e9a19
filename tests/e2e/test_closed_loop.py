"""A closed loop counts every request too, keeps each user's weights, and is labelled as one."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from tests.e2e.command import SCENARIOS, Loadpilot

if TYPE_CHECKING:
    from tests.oracle.oracle import Oracle

WEIGHTED = SCENARIOS / "weighted.py"
WEIGHTS = {"/often": 5, "/rarely": 1}
ROUTES = {"often": "/often", "rarely": "/rarely"}
USERS = 8
ANSWER_MS = 20
"""Bounds the load: 8 users of 20 ms a request send at most 400 a second."""
SECS = 6


def test_every_iteration_of_every_user_is_counted(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """A user that is forgotten, doubled, or out of step with its weights shows here."""
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
    # Each user waits for its answers and for nothing else; a busy machine makes it slower.
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
