"""Names whose addresses change after they were checked: each connection is judged by its address.

The name server of the test answers with an allowed address first, and with another one from a
number of queries on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.e2e.support.dropped_arrivals import all_but_late
from tests.faults.support.closed_network import (
    ALLOWED,
    METADATA,
    OTHER,
    ClosedNetwork,
    enter_closed_network,
)
from tests.faults.support.network import why_not

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.e2e.support.command import Finished

pytestmark = pytest.mark.skipif(why_not(("ip",)) is not None, reason=str(why_not(("ip",))))

RPS, SECS = 50, 2
FLAGS = ("--external-agents", "1", "--no-early-abort")
SCENE = """
from loadpilot import LoadClient, VUser, scenario, task

@scenario(
    rps=50,
    duration="2s",
    mode="constant",
    connections={"resolve_every": "100ms", "reuse": "never", "redirects": 1},
)
class Moving(VUser):
    @task
    def look(self, client: LoadClient) -> None:
        client.get("PATH")
"""
MOVING = "http://moving.test"
FAR = "10.0.0.0/8"
TENANTS = f"""
[tenants.shop]
targets = ["{ALLOWED}/32:80"]

[tenants.names]
targets = ["moving.test"]

[tenants.search]
"""


class Moving:
    """Addresses of `moving.test`, which change; those of `allowed.test` are always ALLOWED."""

    def __init__(self) -> None:
        self.moves_after = 0
        """Number of queries that are answered with ALLOWED."""
        self.then = METADATA
        self._before = 0
        self._last = 0

    def move(self, after: int, then: str) -> None:
        """Answers this number of further queries with ALLOWED, and all later ones with `then`."""
        self.moves_after, self.then, self._before = after, then, self._last

    def answer(self, name: str, earlier: int) -> list[str] | None:
        """The addresses of a name at this moment."""
        if name == "allowed.test":
            return [ALLOWED]
        if name != "moving.test":
            return None
        self._last = max(self._last, earlier + 1)
        return [ALLOWED if earlier - self._before < self.moves_after else self.then]


@pytest.fixture
def moving() -> Moving:
    return Moving()


@pytest.fixture
def network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moving: Moving
) -> Iterator[ClosedNetwork]:
    """The network; its agents allow the private one and no other address."""
    with enter_closed_network(tmp_path, monkeypatch, moving.answer) as network:
        monkeypatch.setenv("AGENT_ALLOW_TARGET", FAR)
        yield network


def run(network: ClosedNetwork, target: str, *flags: str, path: str = "/look") -> Finished:
    """A run of two seconds, whose connections resolve the name ten times a second."""
    network.listener.forget()
    return network.fleet.run(network.loadpilot, SCENE.replace("PATH", path), target, *FLAGS, *flags)


def counts(finished: Finished) -> dict[str, Any]:
    """The calls by outcome. Asserts the cause of those that did not connect."""
    calls = finished.report["calls"]
    outcomes: dict[str, Any] = calls["outcomes"]
    if refused := outcomes.get("connect"):
        assert calls["causes"] == {"connect": {"not_allowed": refused}}
    sent = all_but_late(finished.report, RPS, SECS)
    assert calls["attempted"] == sum(outcomes.values()) == sent
    return outcomes


def test_a_name_that_moves_between_check_and_connect(
    network: ClosedNetwork, moving: Moving
) -> None:
    """Broken if the agent connects to an address that a name got after its check. 6 s."""
    network.fleet.coordinator()
    network.fleet.agent("a-1")
    moving.move(1, METADATA)
    finished = run(network, MOVING)
    assert finished.code != 0
    outcomes = counts(finished)
    assert outcomes.keys() == {"connect"}
    assert network.listener.connections == {}
    assert f"connect: not allowed {outcomes['connect']}" in finished.stdout
    assert max(network.names.queries.values()) > 2


@pytest.mark.slow
def test_a_name_that_moves_in_a_run(network: ClosedNetwork, moving: Moving) -> None:
    """Broken if later connections are not judged, or the calls that made them are not counted.

    The control moves to an allowed address. Costs 10 s.
    """
    network.fleet.coordinator()
    network.fleet.agent("a-1")
    moving.move(6, METADATA)
    outcomes = counts(run(network, MOVING))
    assert network.listener.received(ALLOWED) == outcomes["ok"] > 0
    assert outcomes["connect"] > 0
    assert network.listener.connections.keys() == {ALLOWED}
    moving.move(6, OTHER)
    assert counts(run(network, MOVING)).keys() == {"ok"}
    assert network.listener.received(ALLOWED) > 0
    assert network.listener.received(OTHER) > 0


@pytest.mark.slow
def test_a_redirect_to_a_name_that_moves(network: ClosedNetwork, moving: Moving) -> None:
    """Broken if a target leads agents to a closed address by a redirect to a named origin.

    The control moves to an allowed address. Costs 10 s.
    """
    network.fleet.coordinator()
    network.fleet.agent("a-1")
    network.listener.location = f"{MOVING}/landed"
    moving.move(1, METADATA)
    flags = ("--redirect-to", MOVING)
    outcomes = counts(run(network, "http://allowed.test", *flags, path="/away"))
    assert outcomes.keys() == {"connect"}
    assert network.listener.requests == {(ALLOWED, "allowed.test"): outcomes["connect"]}
    assert network.listener.connections.keys() == {ALLOWED}
    moving.move(1, OTHER)
    outcomes = counts(run(network, "http://allowed.test", *flags, path="/away"))
    assert outcomes.keys() == {"ok"}
    assert network.listener.received(OTHER) == outcomes["ok"]


@pytest.mark.slow
def test_the_targets_of_a_tenant_are_addresses_after_a_change(
    network: ClosedNetwork, moving: Moving, tmp_path: Path
) -> None:
    """Broken if the list of a tenant is judged when the run is requested only, or if a listed name
    opens what its agents do not allow.

    Costs 16 s.
    """
    tenants = tmp_path / "tenants.toml"
    tenants.write_text(TENANTS, encoding="utf-8")
    network.fleet.coordinator("--tenant", "fleet", "--tenants", str(tenants))
    network.fleet.agent("a-1", "--tenant", "fleet")

    moving.move(6, OTHER)
    outcomes = counts(run(network, MOVING, "--tenant", "shop"))
    assert network.listener.received(ALLOWED) == outcomes["ok"] > 0
    assert outcomes["connect"] > 0
    assert network.listener.connections.keys() == {ALLOWED}

    # Without a list the same change is followed.
    moving.move(6, OTHER)
    assert counts(run(network, MOVING, "--tenant", "search")).keys() == {"ok"}
    assert network.listener.received(OTHER) > 0

    moving.move(6, METADATA)
    outcomes = counts(run(network, MOVING, "--tenant", "names"))
    assert outcomes["connect"] > 0
    assert network.listener.connections.keys() == {ALLOWED}
