"""A log on three nodes: the run goes on when the leader dies, freezes or is cut off."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from tests.faults.support.breakable_fleet import frozen
from tests.faults.support.cluster import NODES, STREAMS, Cluster
from tests.faults.support.loads import WEIGHTED, Load
from tests.faults.support.network import ServerNetworks, own_server_networks, why_not
from tests.oracle.oracle import Oracle, built_binary

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.e2e.support.command import Loadpilot

LOAD = Load(60, 30)


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    with Cluster(tmp_path, monkeypatch) as cluster:
        cluster.coordinator()
        cluster.spread()
        for name in ("a-1", "a-2"):
            cluster.agent(name)
        yield cluster


@pytest.mark.case(n=22)
@pytest.mark.long
@pytest.mark.timeout(240)
@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize("how", ["killed", "frozen"])
def test_a_leader_that_is_gone_is_replaced_without_loss(
    cluster: Cluster, loadpilot: Loadpilot, oracle: Oracle, stream: str, how: str
) -> None:
    """Broken if an acknowledged message is on one node only, if an old leader can still decide, or
    if agents take an election for the end of the log."""
    with cluster.start(loadpilot, WEIGHTED, oracle.url, *LOAD.fleet) as running:
        assert oracle.wait_count(2 * LOAD.rps, 60)
        leader = cluster.leader(stream)
        if how == "killed":
            cluster.kill_node(leader)
            assert oracle.wait_count(12 * LOAD.rps, 60)
            cluster.start_node(leader)
        else:
            with frozen(cluster.nodes[leader].pid):
                time.sleep(12)
        finished = running.end()
    report = cluster.assert_adds_up(finished, oracle, LOAD.planned)
    assert report["run"]["ending"] == "completed", finished.stderr
    assert cluster.leader(stream)
    if how == "killed":
        assert finished.judged == 0, finished.stderr
        cluster.assert_adds_up(finished, oracle, LOAD.planned, quiet=True, late_max=LOAD.late_max)


@pytest.fixture
def server_networks() -> Iterator[ServerNetworks]:
    """Every process that a test starts after this is in a network of the test's own."""
    with own_server_networks(NODES) as server_networks:
        yield server_networks


@pytest.mark.case(n=22)
@pytest.mark.long
@pytest.mark.timeout(240)
@pytest.mark.skipif(why_not(("ip",)) is not None, reason=str(why_not(("ip",))))
@pytest.mark.parametrize("stream", STREAMS)
def test_a_leader_that_is_cut_off_from_the_others_decides_nothing(
    server_networks: ServerNetworks,
    loadpilot: Loadpilot,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    stream: str,
) -> None:
    """Broken if a write that only the minority received counts as stored. Its clients still reach
    it, and it acts as the leader for a while."""
    *rest, alone = NODES
    with (
        Oracle(built_binary(), tmp_path / "oracle.jsonl") as oracle,
        Cluster(tmp_path, monkeypatch, server_networks) as cluster,
    ):
        # A command without heartbeats for 10 s counts as dead: this one stays connected.
        cluster.url = ",".join(cluster.urls[node] for node in rest)
        cluster.coordinator()
        cluster.spread()
        cluster.give_lead(stream, alone)
        cluster.agent("a-1")
        cluster.agent("a-2", url=cluster.urls[alone])
        with cluster.start(loadpilot, WEIGHTED, oracle.url, *LOAD.fleet) as running:
            assert oracle.wait_count(2 * LOAD.rps, 60)
            assert cluster.leader(stream) == alone
            with server_networks.isolated(alone):
                time.sleep(12)
                assert cluster.leader(stream, but=alone) != alone
            finished = running.end()
        report = cluster.assert_adds_up(finished, oracle, LOAD.planned)
        assert report["run"]["ending"] == "completed", finished.stderr
        assert cluster.leader(stream)
