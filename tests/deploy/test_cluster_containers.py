"""The log on three nodes in containers: a run survives the loss of a node."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.deploy.containers import BUILD_S, Containers

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.long, pytest.mark.timeout(BUILD_S)]

CATALOGUE = Path(__file__).with_name("catalogue.py")
TARGET = "http://target:8000"


@pytest.fixture(scope="module")
def containers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Containers]:
    """A fleet as `docker compose -f docker-compose.yml -f deploy/nats/cluster.yml up` starts it."""
    folder = tmp_path_factory.mktemp("containers")
    with Containers(folder, "deploy/nats/cluster.yml").up() as containers:
        yield containers


@pytest.mark.parametrize("node", ["nats", "nats-2"])
def test_a_node_that_is_killed_loses_nothing(containers: Containers, node: str) -> None:
    """Broken if the log has one replica, if the nodes do not trust each other, or if a part knows
    one node only."""
    run = containers.gateway.submit(CATALOGUE, TARGET, rps=100, secs=12, agents=2)
    containers.gateway.wait_calls(run, 200)
    containers.compose("kill", "--signal", "KILL", node)
    report = containers.gateway.report(run)
    containers.compose("up", "--detach", "--wait", "--no-recreate", node)
    calls, arrivals = report["calls"]["outcomes"], report["arrivals"]
    assert report["run"]["ending"] == "completed"
    assert calls == {"ok": containers.answered()}
    assert arrivals["started"] == arrivals["planned"] > 0
