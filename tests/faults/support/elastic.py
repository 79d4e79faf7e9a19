"""Agents that join and leave: short timeouts, and the expected sender of each arrival."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from tests.e2e.support.dropped_arrivals import LATE_MAX_SECS, late_of
from tests.faults.support.loads import shards_of
from tests.faults.support.stack_run import arrivals_of

if TYPE_CHECKING:
    from tests.e2e.support.command import Finished
    from tests.oracle.oracle import Oracle

LOST_S, ROOM_S, BEAT_S, LATENESS_S = 3.0, 0.5, 0.2, 0.5
COORDINATOR = ("--lost-after", "3s", "--fence-after", "2s", "--takeover-room", "500ms")
AGENT = ("--fence", "2s", "--heartbeat", "200ms")
TICK_S = 1.0


def load(rps: int, secs: int, want: int, *flags: str) -> tuple[str, ...]:
    return ("--rps", str(rps), "--duration", f"{secs}s", "--external-agents", str(want), *flags)


class Plan:
    """The expected sender of each arrival, computed from the rate and the assignments in a
    report."""

    def __init__(self, report: dict[str, Any], rps: int, secs: int) -> None:
        self.rps, self.planned = rps, rps * secs
        self.maps = report["run"]["maps"]
        self.shards = sum(len(shards_of(held)) for held in self.maps[0]["holdings"])
        self.owners = [
            {
                shard: (held["holder"]["agent"], held["holder"]["boot_id"])
                for held in one["holdings"]
                for shard in shards_of(held)
            }
            for one in self.maps
        ]
        for owners in self.owners:
            assert set(owners) == set(range(self.shards)), "a shard has no holder, or two"

    def tick(self, arrival: int) -> int:
        return int(arrival / self.rps / TICK_S)

    def owner(self, arrival: int) -> tuple[str, str]:
        begun = [n for n, one in enumerate(self.maps) if one["from_tick"] <= self.tick(arrival)]
        return self.owners[begun[-1]][arrival % self.shards]

    def shares(self, arrivals: set[int]) -> Counter[tuple[str, str]]:
        return Counter(self.owner(arrival) for arrival in arrivals)

    def sizes(self, number: int = -1) -> list[int]:
        return sorted(len(shards_of(held)) for held in self.maps[number]["holdings"])


def started(report: dict[str, Any]) -> dict[tuple[str, str], int]:
    return {
        (one["holder"]["agent"], one["holder"]["boot_id"]): one["started"]
        for one in report["run"]["holders"]
        if one["started"]
    }


def assert_accounted(
    finished: Finished, oracle: Oracle, plan: Plan, excess_max: float = 0
) -> set[int]:
    """Asserts that all arrivals are accounted for, that none came twice beyond the reported excess,
    and that each agent sent its own shards only. Returns the arrivals that the target never
    received."""
    report = finished.report
    arrivals = report["arrivals"]
    assert report["run"]["ending"] == "completed", finished.stderr
    settled = arrivals["started"] + sum(arrivals["dropped"].values()) + arrivals["lost"]
    assert arrivals["planned"] == settled == plan.planned
    assert sum(gap["arrivals"] for gap in report["gaps"]["lost"]) == arrivals["lost"]
    assert report["gaps"]["quarantined"] == []
    received = arrivals_of(finished.run, oracle.requests())
    twice = received.total() - len(received)
    assert twice <= report["gaps"]["excess_arrivals"] <= excess_max, "an arrival was sent twice"
    assert arrivals["started"] <= len(received)
    missing = set(range(plan.planned)) - set(received)
    assert len(missing) <= arrivals["lost"] + sum(arrivals["dropped"].values())
    shares = plan.shares(set(received))
    for holder, count in started(report).items():
        assert count <= shares[holder] + excess_max, f"{holder} sent arrivals of another holder"
    return missing


def not_late(missing: set[int], finished: Finished, plan: Plan, *gone: str) -> set[int]:
    """Returns the missing arrivals of the agents that were gone. Asserts that the other missing
    ones are no more than those that agents dropped as late."""
    others = {arrival for arrival in missing if plan.owner(arrival)[0] not in gone}
    late_max = min(late_of(finished.report), LATE_MAX_SECS * plan.rps)
    assert len(others) <= late_max, "an agent that was not gone did not send its arrivals"
    return missing - others
