"""Programs that reach the log through a leaf node, which is one connection for all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.e2e.cloud.cloud_server import HostedFleet, account, user
from tests.e2e.support.command import SCENARIOS
from tests.e2e.support.fleet import free_port

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.support.command import Loadpilot
    from tests.oracle.oracle import Oracle

SCENE = SCENARIOS / "weighted.py"
RPS, SECS = 50, 6
LOAD = ("--rps", str(RPS), "--duration", f"{SECS}s", "--external-agents", "2")
PLANNED = RPS * SECS
SHOP = """
from loadpilot import LoadClient, VUser, env, scenario, task
@scenario(rps=50, duration="6s", mode="constant")
class Shop(VUser):
    @task
    def browse(self, client: LoadClient) -> None:
        client.post("/a", content="x" * 70_000, headers={"X-Key": env("SHOP_KEY", secret=True)})
"""
"""A scenario that needs the key-value bucket, for a secret, and the object store, for a large
body."""


def hub(
    tmp_path: Path, environ: pytest.MonkeyPatch, store: str = "max_file: 64G"
) -> tuple[HostedFleet, int]:
    """The server with the log, and the port at which it accepts leaf nodes."""
    port = free_port()
    leaves = f'leafnodes {{ listen: "127.0.0.1:{port}" }}\n'
    return HostedFleet(tmp_path, environ, leaves + account(user("made-up")), store=store), port


CONNECTED = "Leafnode connection created"
"""Logged by a leaf node once it is connected to its hub."""


def leaf(port: int, hub_port: int, jetstream: str = "") -> str:
    """Configuration of a leaf node, whose users are all one user of the hub."""
    remote = f'{{ url: "nats-leaf://fleet:made-up@127.0.0.1:{hub_port}" }}'
    return (
        f'listen: "127.0.0.1:{port}"\nserver_name: leaf-{port}\n{jetstream}\n'
        f'leafnodes {{ reconnect: "100ms", remotes: [{remote}] }}\n'
    )


@pytest.mark.slow
def test_a_leaf_node_drops_and_comes_back_mid_run(
    loadpilot: Loadpilot, oracle: Oracle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken if agents behind a leaf node lose or repeat an arrival while it is down.

    Coordinator and command are connected to the hub, the agents to the leaf node."""
    fleet, hub_port = hub(tmp_path, monkeypatch)
    port = free_port()
    near = f"nats://127.0.0.1:{port}"
    fleet.set(NATS_TOKEN="fleet:made-up")
    with fleet:
        first = fleet.beside("leaf", leaf(port, hub_port), CONNECTED)
        fleet.coordinator()
        agents = [fleet.agent(name, url=near) for name in ("a-1", "a-2")]
        with fleet.start(loadpilot, SCENE, oracle.url, *LOAD) as running:
            assert oracle.wait_count(PLANNED // 4, 30)
            first.kill()
            for one in agents:
                one.until("NATS connection lost")
            fleet.beside("leaf", leaf(port, hub_port))
            finished = running.end()
    assert finished.judged == 0, finished.stderr
    assert oracle.counts().received == PLANNED
    assert finished.report["calls"]["outcomes"] == {"ok": PLANNED}


@pytest.mark.slow
def test_a_log_in_the_domain_of_another_server(
    loadpilot: Loadpilot, oracle: Oracle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken if a part of the log is created or read in the JetStream of the leaf node.

    All programs are connected to a leaf node with JetStream of its own. The log is in that of the
    hub."""
    fleet, hub_port = hub(tmp_path, monkeypatch, "max_file: 64G, domain: hub")
    store = f'jetstream {{ store_dir: "{tmp_path / "edge"}", domain: edge }}'
    port = free_port()
    fleet.set(NATS_TOKEN="fleet:made-up", SHOP_KEY="hush")
    with fleet:
        fleet.beside("leaf", leaf(port, hub_port, store), CONNECTED)
        fleet.url = f"nats://127.0.0.1:{port}"
        with monkeypatch.context() as here:
            here.setenv("NATS_DOMAIN", "hub")
            fleet.coordinator()
            fleet.agent("a-1")
        fleet.agent("a-2", "--nats-api-prefix", "$JS.hub.API")
        finished = fleet.run(loadpilot, SHOP, oracle.url, *LOAD[4:], "--nats-domain", "hub")
        listed = loadpilot.call("runs", "--nats-url", fleet.url, "--nats-domain", "hub")
        own = loadpilot.call("runs", "--nats-url", fleet.url, "--nats-domain", "edge")
    assert finished.judged == 0, finished.stderr
    assert oracle.counts().received == PLANNED
    assert finished.report["calls"]["outcomes"] == {"ok": PLANNED}
    assert finished.run in listed.stdout
    assert own.code != 0
    assert "holds no log of runs" in own.stderr
    assert not list((tmp_path / "edge").rglob("streams/*"))
