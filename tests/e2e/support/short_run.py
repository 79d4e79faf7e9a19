"""Short runs: one of two seconds on a fleet, with the check that it is complete, and runs that are
repeated when a stall of a busy machine made them INVALID or arrivals late."""

from __future__ import annotations

import re
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tests.e2e.support.command import Loadpilot
from tests.e2e.support.dropped_arrivals import late_of
from tests.oracle.oracle import Oracle, built_binary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.e2e.support.command import Finished

RPS, SECS = 50, 2
SHORT = ("--rps", str(RPS), "--duration", f"{SECS}s")
PLANNED = RPS * SECS
HELD = re.compile(r"generation 1: (.+)")
RUNS_MAX = 5
"""Maximum number of runs that are started because the machine was busy."""

SCRIPTED = """
import math
from loadpilot import LoadClient, VUser, scenario, task, teardown

@scenario(rps=50, duration="2s", mode="constant", users=4, compile=False)
class Scripted(VUser):
    def on_start(self, client: LoadClient) -> None:
        self.token = client.post("/login").status_code

    @task
    def t(self, client: LoadClient) -> None:
        client.get("/t", headers={"X-Token": str(math.floor(self.token))})

    def on_stop(self, client: LoadClient) -> None:
        client.delete("/login")

    @teardown
    def tidy(self, client: LoadClient) -> None:
        client.post("/tidy")
"""


def routes(oracle: Oracle) -> Counter[str]:
    return Counter(f"{one.method} {one.route}" for one in oracle.requests())


def holders(finished: Finished) -> set[str]:
    """Agents that held shards, according to the timeline that the command printed."""
    (held,) = HELD.findall(finished.stderr)
    return {one.split()[0] for one in held.split(", ")}


def assert_whole(finished: Finished, received: int) -> dict[str, Any]:
    assert finished.judged == 0, finished.stderr + finished.stdout
    report = finished.report
    assert report["arrivals"]["started"] == report["arrivals"]["planned"] == PLANNED
    assert report["calls"]["attempted"] == received
    return report


def rerun_until_trusted(run: Callable[[], Finished]) -> Finished:
    """Repeats a run that many tests read, while only the busy machine made its certificate INVALID.
    Returns the last run as it is, and at once a run that fails for another reason."""
    for _ in range(RUNS_MAX - 1):
        finished = run()
        if finished.judged == finished.code:
            return finished
    return run()


@contextmanager
def rerun_until_punctual(
    folder: Path, run: Callable[[Loadpilot, Oracle], Finished]
) -> Iterator[tuple[Loadpilot, Finished, Oracle]]:
    """Repeats a run with an oracle of its own while arrivals were dropped as late, for a test that
    needs each arrival. Yields the last run as it is."""
    for number in range(RUNS_MAX):
        place = folder / str(number)
        place.mkdir(parents=True)
        with Oracle(built_binary(), place / "oracle.jsonl") as oracle:
            loadpilot = Loadpilot(place / "work")
            finished = run(loadpilot, oracle)
            if not late_of(finished.report) or number == RUNS_MAX - 1:
                yield loadpilot, finished, oracle
                return
