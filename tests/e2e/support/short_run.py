"""A run of two seconds on a fleet, and the check that it is complete."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.e2e.support.command import Finished
    from tests.oracle.oracle import Oracle

RPS, SECS = 50, 2
SHORT = ("--rps", str(RPS), "--duration", f"{SECS}s")
PLANNED = RPS * SECS
HELD = re.compile(r"generation 1: (.+)")

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
    """Agents that held shards, by the timeline that the command printed."""
    (held,) = HELD.findall(finished.stderr)
    return {one.split()[0] for one in held.split(", ")}


def assert_whole(finished: Finished, received: int) -> dict[str, Any]:
    assert finished.judged == 0, finished.stderr + finished.stdout
    report = finished.report
    assert report["arrivals"]["started"] == report["arrivals"]["planned"] == PLANNED
    assert report["calls"]["attempted"] == received
    return report
