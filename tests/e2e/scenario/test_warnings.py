"""Warnings before a run: they come in time, and never prevent the run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.e2e.support.command import SCENARIOS
from tests.e2e.support.short_run import PLANNED, RPS, SHORT, assert_whole

if TYPE_CHECKING:
    from tests.e2e.support.command import Loadpilot
    from tests.e2e.support.fleet import Fleet
    from tests.oracle.oracle import Oracle

WEIGHTED = SCENARIOS / "weighted.py"
CONNECTIONS = 60_000
"""More connections than any range of ports has, fewer than the open files of most machines."""


@pytest.mark.slow
def test_an_agent_is_asked_for_more_than_it_offered(
    fleet: Fleet, loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if the warning is not shown, or if it makes a run incomplete."""
    fleet.coordinator()
    fleet.agent("strong")
    whole = fleet.run(loadpilot, WEIGHTED, oracle.url, *SHORT)
    assert_whole(whole, PLANNED)
    assert "warning" not in whole.stderr
    fleet.agent("weak", "--capacity", "10")
    flags = (*SHORT, "--external-agents", "2")
    finished = fleet.run(loadpilot, WEIGHTED, oracle.url, *flags)
    assert_whole(finished, PLANNED)
    warning = f"warning: weak is asked for up to {RPS // 2} arrivals per second and offered 10;"
    assert warning in finished.stderr
    assert "warning: strong" not in finished.stderr
    assert warning in str(finished.report["story"])
    assert oracle.counts().received == 2 * PLANNED


def test_ports_that_will_not_last_are_named_before_the_run(
    loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if only the errors of a run show that the ports of this machine do not suffice."""
    sound = loadpilot.run(WEIGHTED, oracle.url, *SHORT, "--connections", "10")
    assert_whole(sound, PLANNED)
    assert "warning" not in sound.stderr
    flags = (*SHORT, "--connections", str(CONNECTIONS))
    finished = loadpilot.run(WEIGHTED, oracle.url, *flags)
    assert "warning: 60,000 connections at a time, and " in finished.stderr
    before, _, _ = finished.stderr.partition("\nrun 0")
    assert "ports to connect from: widen net.ipv4.ip_local_port_range" in before
