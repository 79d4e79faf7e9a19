"""The target policy, through the real command: a closed address in a plan is refused before
anything starts, and one behind a name by the agent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.e2e.support.command import SCENARIOS

if TYPE_CHECKING:
    from tests.e2e.support.command import Loadpilot
    from tests.e2e.support.fleet import Fleet
    from tests.oracle.oracle import Oracle

WEIGHTED = SCENARIOS / "weighted.py"
SHORT = ("--rps", "50", "--duration", "1s")
SOCKET = ("--connect-to", "unix:/run/docker.sock")
METADATA = ("--connect-to", "[::ffff:169.254.169.254]:80")


@pytest.mark.parametrize(
    ("target", "flags", "wanted"),
    [
        ("http://169.254.8.1", (), "not allowed: link-local address 169.254.8.1"),
        ("http://[fe80::1]:80", (), "not allowed: link-local address fe80::1"),
        ("http://0.0.0.0:8000", (), "not allowed: unspecified address 0.0.0.0"),
        ("http://shop.example", METADATA, "not allowed: cloud metadata address 169.254.169.254"),
        ("http://shop.example", SOCKET, "not allowed: Unix socket /run/docker.sock"),
    ],
)
def test_a_closed_address_in_a_plan_starts_nothing(
    loadpilot: Loadpilot, target: str, flags: tuple[str, ...], wanted: str
) -> None:
    """Broken if a stack starts for a plan with a closed address."""
    finished = loadpilot.run(WEIGHTED, target, *SHORT, *flags)
    assert finished.code == 2, finished.stderr
    assert wanted in finished.stderr
    assert "nothing was started" in finished.stderr
    assert not loadpilot.log.exists()


@pytest.mark.slow
def test_what_is_opened_must_be_a_network_a_name_or_a_folder(loadpilot: Loadpilot) -> None:
    """Broken if a mistake in a flag allows an address, or is silently ignored."""
    finished = loadpilot.run(
        WEIGHTED, "http://169.254.8.1", *SHORT, "--allow-target", "169.254.8.1/8"
    )
    assert finished.code == 2
    assert "--allow-target: must be a network such as 10.1.0.0/16" in finished.stderr
    opened = ("--allow-target", "169.254.8.0/24", "--dry-run")
    assert loadpilot.run(WEIGHTED, "http://169.254.8.1", *SHORT, *opened).code == 0


@pytest.mark.slow
def test_a_fleet_reaches_loopback_only_where_its_agents_say_so(
    fleet: Fleet, loadpilot: Loadpilot, oracle: Oracle, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken if an agent of a fleet connects to its own machine or to its own NATS, or does not say
    why it refuses."""
    monkeypatch.delenv("AGENT_ALLOW_TARGET")
    fleet.coordinator()
    fleet.agent("a-1")
    target = oracle.url.replace("127.0.0.1", "localhost")
    closed = fleet.run(loadpilot, WEIGHTED, target, *SHORT, "--external-agents", "1")
    assert closed.judged != 0
    output = closed.stdout + closed.stderr
    assert "not allowed: loopback address" in output, output
    assert closed.report["arrivals"]["started"] == 0
    assert oracle.counts().received == 0
    assert oracle.counts().connections == 0


@pytest.mark.slow
def test_the_nats_server_of_an_agent_is_no_target(fleet: Fleet, loadpilot: Loadpilot) -> None:
    """Broken if a plan can make an agent connect to the log of its own fleet."""
    fleet.coordinator()
    fleet.agent("a-1")
    target = f"http://127.0.0.1:{fleet.port}"
    closed = fleet.run(loadpilot, WEIGHTED, target, *SHORT, "--external-agents", "1")
    assert closed.judged != 0
    output = closed.stdout + closed.stderr
    assert f"not allowed: NATS server of the agent 127.0.0.1:{fleet.port}" in output, output
    assert closed.report["arrivals"]["started"] == 0
