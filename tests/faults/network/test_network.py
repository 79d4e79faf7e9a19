"""Networks that lose packets, are disconnected or are slow: an agent at the end of a bad cable."""

from __future__ import annotations

import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.faults.support.loads import WEIGHTED, Load, arrival_of
from tests.faults.support.network import Network, RemoteLogFleet, own_network, why_not
from tests.oracle.oracle import Oracle, built_binary

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.e2e.support.command import Loadpilot, Running

pytestmark = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))

MIB = 1 << 20
WIDE = """
from loadpilot import LoadClient, VUser, scenario, task

@scenario(rps=200, duration="40s", mode="constant")
class Wide(VUser):
"""
TASK = """
    @task
    def task_{n}(self, client: LoadClient) -> None:
        client.get("/a/{n}")
        client.get("/b/{n}")
"""


@pytest.fixture
def network() -> Iterator[Network]:
    """Every process that a test starts after this is in a network of the test's own."""
    with own_network() as network:
        yield network


@pytest.fixture
def target(network: Network, tmp_path: Path) -> Iterator[Oracle]:
    """An oracle in that network."""
    del network
    with Oracle(built_binary(), tmp_path / "oracle.jsonl") as oracle:
        yield oracle


@pytest.fixture
def remote_log_fleet(
    network: Network, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[RemoteLogFleet]:
    """A fleet with a coordinator and an agent at the good cable. Tests add one at the bad cable."""
    with RemoteLogFleet(tmp_path, monkeypatch, network) as remote_log_fleet:
        remote_log_fleet.coordinator()
        remote_log_fleet.agent("good")
        yield remote_log_fleet


@contextmanager
def under_way(
    remote_log_fleet: RemoteLogFleet, loadpilot: Loadpilot, target: Oracle, load: Load
) -> Iterator[Running]:
    with remote_log_fleet.start(loadpilot, WEIGHTED, target.url, *load.fleet) as running:
        assert target.wait_count(2 * load.rps, 30)
        yield running


@pytest.mark.slow
@pytest.mark.case(n=13)
@pytest.mark.parametrize("hook", ["output", pytest.param("input", marks=pytest.mark.long)])
def test_five_seconds_of_silence_in_one_direction_cost_nothing(
    network: Network,
    remote_log_fleet: RemoteLogFleet,
    loadpilot: Loadpilot,
    target: Oracle,
    hook: str,
) -> None:
    """Broken if a short loss of packets stops an agent, or loses or doubles a delta."""
    load = Load(100, 14)
    remote_log_fleet.agent("bad", url=remote_log_fleet.far_url)
    with under_way(remote_log_fleet, loadpilot, target, load) as running:
        before = time.monotonic()
        with network.drops(hook):
            # nft takes longer to add the rule than to remove it: both are part of the five seconds.
            time.sleep(5 - (time.monotonic() - before))
        finished = running.end()
    assert finished.report["run"]["ending"] == "completed", finished.stderr
    remote_log_fleet.assert_adds_up(
        finished, target, load.planned, quiet=True, late_max=load.late_max
    )


@pytest.mark.case(n=13)
@pytest.mark.long
@pytest.mark.timeout(180)
@pytest.mark.parametrize("how", ["unplugged", "half-open"])
def test_a_cable_that_is_out_for_ten_seconds_stops_its_agent_until_it_is_back(
    network: Network,
    remote_log_fleet: RemoteLogFleet,
    loadpilot: Loadpilot,
    target: Oracle,
    how: str,
) -> None:
    """Broken if an agent goes on when no stop can reach it, sends arrivals of shards that had moved
    to others, or does not return when it can be reached again."""
    load = Load(60, 45)
    bad = remote_log_fleet.agent("bad", url=remote_log_fleet.far_url)
    with under_way(remote_log_fleet, loadpilot, target, load) as running:
        if how == "unplugged":
            with network.unplugged():
                time.sleep(10)
        else:
            # Neither side sees the connection close: each considers the other alive.
            with network.drops("output", "input"):
                remote_log_fleet.kill_server()
                remote_log_fleet.start_server()
                time.sleep(10)
        bad.until("begins anew")
        finished = running.end()
    report = remote_log_fleet.assert_adds_up(finished, target, load.planned)
    assert report["run"]["ending"] == "completed", finished.stderr
    requests = target.requests()
    assert any(arrival_of(one) >= load.planned - load.rps for one in requests)


@pytest.mark.case(n=14)
@pytest.mark.long
@pytest.mark.timeout(240)
def test_a_cable_that_carries_less_than_is_measured_costs_bounded_memory(
    network: Network, remote_log_fleet: RemoteLogFleet, loadpilot: Loadpilot, target: Oracle
) -> None:
    """Broken if deltas that cannot be published yet use up the memory, or delay the load."""
    bad = remote_log_fleet.agent("bad", url=remote_log_fleet.far_url)
    scene = WIDE + "".join(TASK.format(n=n) for n in range(30))
    samples = ("--samples", "samples.csv")
    flags = ("--external-agents", "2", *samples)
    with remote_log_fleet.start(loadpilot, scene, target.url, *flags) as running:
        assert target.wait_count(400, 30)
        before = resident(bad.pid)
        network.slow("256kbit")
        assert target.wait_count(2 * 200 * 39, 90), "the load is delayed"
        grown = resident(bad.pid) - before
        finished = running.end()
    print(f"grown by {grown / MIB:.1f} MiB")
    assert grown < 72 * MIB
    assert finished.report["run"]["ending"] == "completed"
    remote_log_fleet.assert_adds_up(finished, target, 200 * 40)


def resident(pid: int) -> int:
    """Resident memory of a process, in bytes."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    (line,) = [one for one in status.splitlines() if one.startswith("VmRSS")]
    return int(line.split()[1]) * 1024
