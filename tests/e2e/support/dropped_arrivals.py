"""Arrivals that agents drop as late: on a busy machine a process may stall for a second.

The product reports each of them, so that a test can still count exactly: the missing arrivals are
those that were dropped as late.

    sent = all_but_late(finished.report, RPS, SECS)
    assert finished.report["calls"]["outcomes"] == {"ok": sent}
    assert oracle.counts().received == sent

Must never excuse an arrival that is missing for another reason.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections import Counter

LATE_MAX_SECS = 2
"""Maximum number of late arrivals, in seconds of the load."""


def late_of(report: dict[str, Any]) -> int:
    """Number of arrivals that agents dropped as late."""
    late: int = report["arrivals"]["dropped"].get("late", 0)
    return late


def all_but_late(report: dict[str, Any], rps: int, secs: int) -> int:
    """Number of arrivals that were sent. Asserts that they are all arrivals that were not late."""
    arrivals, late = report["arrivals"], late_of(report)
    assert late <= min(LATE_MAX_SECS * rps, rps * secs // 2), f"{late} arrivals were late"
    assert arrivals["planned"] == rps * secs, arrivals
    assert arrivals["started"] == rps * secs - late, arrivals
    return rps * secs - late


def assert_each_came_once(arrivals: Counter[int], planned: int, sent: int) -> None:
    """Asserts that the target received `sent` of the planned arrivals, and none twice."""
    assert set(arrivals.values()) == {1}, "an arrival was sent twice"
    assert set(arrivals) <= set(range(planned)), "an arrival was not planned"
    assert len(arrivals) == sent, f"{planned - len(arrivals)} arrivals are missing"
