"""A run of one minute that is stopped, and the checks of its report."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from tests.e2e.support.processes import Process, descendants

if TYPE_CHECKING:
    import signal

    from tests.e2e.support.command import Finished, Running
    from tests.oracle.oracle import Oracle

RPS = 100
LONG = ("--rps", str(RPS), "--duration", "60s", "--agents", "2")
STOP_US = 2_000_000


def interrupt(running: Running, number: signal.Signals) -> tuple[int, list[Process]]:
    """Sends a signal to the command; returns the time, and the processes below the command."""
    below = descendants(running.pid)
    at_us = time.time_ns() // 1000
    running.signal(number)
    return at_us, below


def assert_report_of_a_stop(finished: Finished, oracle: Oracle) -> None:
    """Asserts that every arrival is accounted for, and that the target received every request."""
    report = finished.report
    arrivals = report["arrivals"]
    assert report["run"]["ending"] == "stopped"
    assert report["calls"]["attempted"] == oracle.counts().received == arrivals["started"]
    assert arrivals["planned"] == 60 * RPS
    assert arrivals["started"] + arrivals["dropped"]["stopped"] == arrivals["planned"]
    assert arrivals["lost"] == 0
