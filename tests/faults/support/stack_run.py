"""A run on a stack of its own whose processes are killed, and what the target saw of it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.oracle.oracle import Request

RPS, SECS = 120, 8
PLANNED = RPS * SECS
FLEET = ("--rps", str(RPS), "--agents", "2", "--duration")
LOAD = (*FLEET, f"{SECS}s")
UNDER_WAY = 2 * RPS
"""Number of requests after which the run sends at its full rate, and is far from its end."""
CHILDREN_GONE_S = 5.0


def arrivals_of(run: str, requests: list[Request]) -> Counter[int]:
    """How often the target received each arrival of a run."""
    ids = [(request.id or "//").split("/") for request in requests]
    return Counter(int(arrival) for named, arrival, _ in ids if named == run)


def holders_of(report: dict[str, Any], agent: str) -> list[dict[str, Any]]:
    """The processes of one agent in the report; the lost one comes first."""
    holders = [h for h in report["run"]["holders"] if h["holder"]["agent"] == agent]
    return sorted(holders, key=lambda holder: holder["lost"] is None)
