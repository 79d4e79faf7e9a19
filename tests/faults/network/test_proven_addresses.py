"""Targets of several addresses whose owners differ: only those with the tenant's token are loaded.

Each agent looks for the token itself, at the addresses to which the name leads when it prepares.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.e2e.support.dropped_arrivals import all_but_late
from tests.faults.support.closed_network import ALLOWED, OTHER, ClosedNetwork, enter_closed_network
from tests.faults.support.elastic import AGENT, COORDINATOR
from tests.faults.support.network import why_not

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.skipif(why_not(("ip",)) is not None, reason=str(why_not(("ip",))))

HOST = "two.test"
HOME = ("--tenant", "fleet")
RPS, SECS = 50, 8
SCENE = """
from loadpilot import LoadClient, VUser, scenario, task

@scenario(rps=50, mode="constant", connections={"resolve_every": "100ms", "reuse": "never"})
class Two(VUser):
    @task
    def look(self, client: LoadClient) -> None:
        client.get("/look")
"""


@pytest.fixture
def network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ClosedNetwork]:
    """The network, a coordinator with a limit without a proof, and an agent."""

    def addresses(name: str, _: int) -> list[str] | None:
        return [ALLOWED, OTHER] if name == HOST else None

    with enter_closed_network(tmp_path, monkeypatch, addresses) as network:
        monkeypatch.setenv("AGENT_ALLOW_TARGET", "10.0.0.0/8")
        key, tenants = tmp_path / "ownership.key", tmp_path / "tenants.toml"
        key.write_text("k" * 40, encoding="utf-8")
        key.chmod(0o600)
        tenants.write_text(
            "[tenants.shop]\nunproven_rate = 10\n[fleet]\nownership_key_file = 'ownership.key'\n",
            encoding="utf-8",
        )
        network.fleet.coordinator(*HOME, "--tenants", str(tenants), *COORDINATOR)
        network.fleet.agent("a-1", *HOME, *AGENT)
        yield network


def token(network: ClosedNetwork, folder: Path) -> str:
    """The line with which the host shows that the tenant may load it."""
    key = str(folder / "ownership.key")
    made = network.loadpilot.call("admin", "ownership-token", "shop", HOST, "--key-file", key)
    assert made.code == 0, made.stderr
    return made.stdout.splitlines()[0]


@pytest.mark.slow
def test_only_addresses_with_the_token_are_loaded(network: ClosedNetwork, tmp_path: Path) -> None:
    """Broken if one server with the token opens the other servers of its name, or if an agent that
    joins a run loads an address because another agent found the token there.

    Costs 20 s.
    """
    listener, line = network.listener, token(network, tmp_path)
    agents = ("--external-agents", "2", "--min-agents", "1", "--wait-agents", "1s")
    flags = ("--tenant", "shop", "--duration", f"{SECS}s", *agents)
    listener.published[OTHER] = line
    with network.fleet.start(network.loadpilot, SCENE, f"http://{HOST}", *flags) as running:
        assert listener.loaded.wait(30)
        assert listener.looked_for == {ALLOWED: 1, OTHER: 1}
        assert listener.received(ALLOWED) == 0
        # The next agent finds the token at the other address.
        listener.published = {ALLOWED: line}
        network.fleet.agent("a-2", *HOME, *AGENT)
        running.until("a-2 joins with 128")
        finished = running.end()
    sent = all_but_late(finished.report, RPS, SECS)
    assert finished.report["calls"]["outcomes"] == {"ok": sent}
    assert listener.looked_for == {ALLOWED: 2, OTHER: 2}
    of = {one["holder"]["agent"]: one["started"] for one in finished.report["run"]["holders"]}
    assert min(of.values()) > 0
    assert (listener.received(OTHER), listener.received(ALLOWED)) == (of["a-1"], of["a-2"])
