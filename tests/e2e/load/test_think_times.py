"""The think times of a closed loop's users, measured at the target, follow their distribution."""

from __future__ import annotations

import math
from collections import defaultdict
from statistics import NormalDist
from typing import TYPE_CHECKING

import pytest
from tests.e2e.support.command import SCENARIOS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.e2e.support.command import Finished, Loadpilot
    from tests.oracle.oracle import Oracle

WEIGHTED = SCENARIOS / "weighted.py"
USERS = 120
SECS = 8
JUDGED_US = 4_500_000
"""Think times that begin until then are judged: all others of the run may be cut by its end."""
MEDIAN_US = 300_000
P99_US = 1_500_000
SLACK = 0.03
"""Maximum distance that the time of a request, which a gap contains, adds."""


def exponential(us: float) -> float:
    return 1 - 2 ** (-us / MEDIAN_US)


def lognormal(us: float) -> float:
    sigma = math.log(P99_US / MEDIAN_US) / NormalDist().inv_cdf(0.99)
    return NormalDist(math.log(MEDIAN_US), sigma).cdf(math.log(us))


WAITS: dict[str, tuple[Callable[[float], float], str]] = {
    "exponential:median=0.3s": (exponential, "thinking 0.3 s in the median (exponential)"),
    "lognormal:median=0.3s,p99=1.5s": (
        lognormal,
        "thinking 0.3 s in the median, 1.5 s at p99 (lognormal)",
    ),
}


def thought(
    loadpilot: Loadpilot, oracle: Oracle, wait: str, agents: int
) -> tuple[Finished, dict[tuple[int, int], int]]:
    """Run the scenario; return the time in µs between the requests k and k + 1 of each user, by
    user and k."""
    load = ("--users", str(USERS), "--duration", f"{SECS}s", "--wait", wait)
    finished = loadpilot.run(WEIGHTED, oracle.url, *load, "--agents", str(agents), "--seed", "7")
    assert finished.judged == 0, finished.stderr
    times: dict[int, dict[int, int]] = defaultdict(dict)
    for request in oracle.requests():
        run, who, _ = (request.id or "").split("/")
        if run == finished.run:
            user, _, k = map(int, who.split("."))
            times[user][k] = request.arrival_us
    assert len(times) == USERS
    until_us = finished.report["run"]["start_at"] + JUDGED_US
    gaps = {
        (user, k): of_user[k + 1] - at_us
        for user, of_user in times.items()
        for k, at_us in of_user.items()
        if at_us < until_us and k + 1 in of_user
    }
    return finished, gaps


def distance(gaps: Sequence[int], share_below: Callable[[float], float]) -> float:
    """The largest distance between gaps and a distribution (Kolmogorov, Smirnov)."""
    places = enumerate(sorted(gaps))
    pairs = [(share_below(us), place / len(gaps)) for place, us in places]
    return max(max(expected - below, below + 1 / len(gaps) - expected) for expected, below in pairs)


@pytest.mark.slow
@pytest.mark.parametrize("wait", WAITS)
def test_think_times_are_those_of_the_distribution_for_any_number_of_agents(
    loadpilot: Loadpilot, oracle: Oracle, wait: str
) -> None:
    """Broken if think times have another distribution, or differ between 4 agents and 1.

    25 s for each.
    """
    share_below, text = WAITS[wait]
    finished, alone = thought(loadpilot, oracle, wait, 1)
    assert text in finished.stderr
    assert text in finished.stdout
    limit = 2.7 / math.sqrt(len(alone)) + SLACK
    assert distance(list(alone.values()), share_below) < limit
    # Uniform think times with the same median and mean exceed the limit.
    assert distance(list(alone.values()), lambda us: min(1.0, us / (2 * MEDIAN_US))) > limit
    _, together = thought(loadpilot, oracle, wait, 4)
    both = alone.keys() & together.keys()
    assert len(both) > len(alone) // 2
    # A busy machine makes gaps longer; other random values would agree for a few gaps only.
    near = sum(abs(alone[one] - together[one]) < 50_000 for one in both)
    assert near / len(both) > 0.7
