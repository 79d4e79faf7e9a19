"""Several tenants on one fleet: each has its own runs, its own target and its own limits."""

from __future__ import annotations

import asyncio
import json
import signal
from typing import TYPE_CHECKING

import nats
import pytest
from tests.e2e.support import rawlog
from tests.e2e.support.command import SCENARIOS, Finished, Loadpilot, Running
from tests.e2e.support.fleet import Fleet, wait_until_handled
from tests.e2e.support.short_run import PLANNED, SCRIPTED, SHORT, assert_whole, holders
from tests.oracle.oracle import Oracle, built_binary

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

WEIGHTED = SCENARIOS / "weighted.py"
HOME = ("--tenant", "fleet")
TWO = ("--external-agents", "2")
LONG = ("--rps", "100", "--duration", "60s")
TENANTS = """
[tenants.shop]
targets = ["127.0.0.1"]

[tenants.search]
"""


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Oracle]:
    """The target of the other tenant."""
    with Oracle(built_binary(), tmp_path / "other.jsonl") as oracle:
        yield oracle


def shared(fleet: Fleet, *flags: str, tenants: str = TENANTS) -> Running:
    """Start a coordinator that serves these tenants."""
    path = fleet.folder / "tenants.toml"
    path.write_text(tenants, encoding="utf-8")
    return fleet.coordinator(*HOME, "--tenants", str(path), *flags)


def subjects(fleet: Fleet, run: str) -> set[str]:
    """The tenants on whose subjects the log has messages of a run."""
    entries = rawlog.read_from(f"nats://{fleet.token}@127.0.0.1:{fleet.port}")
    return {entry.subject.split(".")[1] for entry in entries if entry.subject.split(".")[3] == run}


def publish(fleet: Fleet, messages: list[tuple[str, object]]) -> None:
    """Publish messages as a user that may publish to any subject."""

    async def send() -> None:
        client = await nats.connect(fleet.url, token=fleet.token)
        for subject, message in messages:
            await client.publish(subject, json.dumps(message).encode())
        await wait_until_handled(client)
        await client.close()

    asyncio.run(send())


@pytest.mark.slow
def test_two_tenants_share_two_agents(
    fleet: Fleet, loadpilot: Loadpilot, oracle: Oracle, other: Oracle
) -> None:
    """Broken if two tenants' runs mix on shared agents, or if the log of one tenant has messages of
    the other's run."""
    shared(fleet)
    for name in ("a-1", "a-2"):
        fleet.agent(name, *HOME)
    with (
        fleet.start(loadpilot, WEIGHTED, oracle.url, *SHORT, *TWO, "--tenant", "shop") as shop,
        fleet.start(loadpilot, WEIGHTED, other.url, *SHORT, *TWO, "--tenant", "search") as search,
    ):
        ended = {"shop": shop.end(), "search": search.end()}
    for tenant, finished in ended.items():
        assert_whole(finished, PLANNED)
        assert holders(finished) == {"a-1", "a-2"}
        assert subjects(fleet, finished.run) == {tenant}
        listed = loadpilot.call("runs", "--nats-url", fleet.url, "--tenant", tenant)
        assert [line.split()[0] for line in listed.stdout.splitlines()[1:]] == [finished.run]
    assert (oracle.counts().received, other.counts().received) == (PLANNED, PLANNED)
    foreign = ("report", ended["shop"].run, "--nats-url", fleet.url, "--tenant", "search")
    assert loadpilot.call(*foreign).code == 2


@pytest.mark.slow
def test_what_a_killed_agent_left_is_reported_to_its_tenant(
    fleet: Fleet, loadpilot: Loadpilot, oracle: Oracle, tmp_path: Path
) -> None:
    """Broken if the successor of a killed process reports its tail on the subjects of another
    tenant, or not at all."""
    shared(fleet, "--lost-after", "4s", "--fence-after", "3s")
    state = ("--state-dir", str(tmp_path / "state"), "--fence", "3s")
    fleet.agent("a-1", *HOME, *state)
    victim = fleet.agent("a-2", *HOME, *state)
    flags = ("--rps", "100", "--duration", "12s", *TWO, "--tenant", "search")
    with fleet.start(loadpilot, WEIGHTED, oracle.url, *flags) as running:
        assert oracle.wait_count(200, 30)
        victim.signal(signal.SIGKILL)
        fleet.agent("a-2", *HOME, *state)
        finished = running.end()
    report = finished.report
    outcomes = {name: count for name, count in report["calls"]["outcomes"].items() if count}
    assert set(outcomes) <= {"ok", "indeterminate"}
    received, cut = oracle.counts().received, outcomes.get("indeterminate", 0)
    assert received - cut <= outcomes["ok"] <= received
    assert received <= report["calls"]["attempted"] <= received + cut
    assert subjects(fleet, finished.run) == {"search"}
    entries = rawlog.read_from(f"nats://{fleet.token}@127.0.0.1:{fleet.port}")
    what = [entry.event.get("what", {}).get("type") for entry in entries]
    assert what.count("TailReported") == 1


@pytest.mark.slow
def test_another_tenant_cannot_touch_a_run(
    fleet: Fleet, loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if a message, a kill switch or a heartbeat on another tenant's subject changes a
    run."""
    coordinator = shared(fleet, "--owner-gone-after", "3s")
    agent = fleet.agent("a-1", *HOME)
    # From now on the agent listens to the kill switches of that tenant.
    assert_whole(fleet.run(loadpilot, WEIGHTED, oracle.url, *SHORT, "--tenant", "search"), PLANNED)
    with fleet.start(loadpilot, WEIGHTED, oracle.url, *LONG, "--tenant", "shop") as running:
        run = running.run_id()
        assert oracle.wait_count(PLANNED + 100, 30)
        stop = {
            "v": 1,
            "id": "01forged",
            "at": 1,
            "event": {"type": "StopRequested", "by": "search"},
        }
        publish(fleet, [(f"lp.search.run.{run}.req", stop), (f"lp.search.halt.{run}", {})])
        line = coordinator.until("skipped")
        assert "the run belongs to tenant shop, not to tenant search" in line
        agent.until("halt of an unknown or another tenant's run")
        seen = oracle.counts().received
        assert oracle.wait_count(seen + 200, 30), "the load was stopped by another tenant"

        entries = rawlog.read_from(f"nats://{fleet.token}@127.0.0.1:{fleet.port}")
        ours = [entry for entry in entries if entry.subject.split(".")[3] == run]
        owners = [entry.event.get("owner") for entry in ours]
        (owner,) = {owner for owner in owners if owner}
        running.kill()
        for _ in range(20):
            publish(fleet, [(f"lp.search.hb.{owner}", {"type": "owner", "run": run})])
            if "RunSealed" in coordinator.output:
                break
            oracle.wait_count(oracle.counts().received + 50, 1)
        coordinator.until("RunSealed")
    assert oracle.counts().received < PLANNED + 20 * 100, "the run went on without its owner"


@pytest.mark.slow
def test_the_kill_switch_of_a_tenant_stops_its_run(
    fleet: Fleet, loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if agents do not obey the kill switches of the tenants that they serve."""
    shared(fleet)
    agent = fleet.agent("a-1", *HOME)
    with fleet.start(loadpilot, WEIGHTED, oracle.url, *LONG, "--tenant", "shop") as running:
        run = running.run_id()
        assert oracle.wait_count(100, 30)
        halted = loadpilot.call("halt", run, "--yes", "--nats-url", fleet.url, "--tenant", "shop")
        assert halted.code == 0
        agent.until(" halt ")
        finished = running.end(30)
    assert finished.report["calls"]["attempted"] == oracle.counts().received < 60 * 100


@pytest.mark.slow
def test_tenants_and_targets_that_are_not_listed_are_refused(
    fleet: Fleet, loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if a run reaches a target that the list of its tenant does not contain."""
    port = oracle.url.rsplit(":", 1)[1]
    tenants = f"""
[tenants.shop]
targets = ["127.0.0.2", "*.shop.example"]

[tenants.search]
targets = ["127.0.0.1:{port}"]

[tenants.names]
targets = ["localhost:{port}"]
"""
    shared(fleet, tenants=tenants)
    fleet.agent("a-1", *HOME)

    def run(tenant: str, target: str, *flags: str) -> Finished:
        return fleet.run(loadpilot, WEIGHTED, target, *SHORT, "--tenant", tenant, *flags)

    refused = run("unknown", oracle.url)
    assert refused.code == 2
    assert "must have a table [tenants.unknown] in " in refused.stdout
    assert "shop" not in refused.stdout, "the message names another tenant"

    listed = "is not among the targets of tenant shop"
    refused = run("shop", oracle.url)
    assert refused.code == 2
    assert f"target: not allowed: 127.0.0.1:{port} {listed}" in refused.stdout

    # Only an agent knows the address of a name.
    by_name = oracle.url.replace("127.0.0.1", "localhost")
    failed = run("shop", by_name)
    assert failed.code not in {0, 1}
    assert f":{port} {listed}" in failed.stdout + failed.stderr
    assert oracle.counts().received == 0

    for tenant in ("search", "names"):
        target = oracle.url if tenant == "search" else by_name
        assert_whole(run(tenant, target), PLANNED)
    assert oracle.counts().received == 2 * PLANNED

    refused = fleet.run(loadpilot, SCRIPTED, oracle.url, "--tenant", "search")
    assert refused.code == 2
    assert "this fleet takes compiled plans only" in refused.stdout


@pytest.mark.slow
def test_a_run_above_the_limits_of_its_tenant_is_refused(
    fleet: Fleet, loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if a limit is not enforced, at the request or when a running run is steered."""
    limits = """
[tenants.shop]
max_rate = 100
max_users = 2
max_agents = 1
max_duration = "60s"
"""
    shared(fleet, tenants=limits)
    fleet.agent("a-1", *HOME)
    shop = ("--tenant", "shop")
    for flags, refusal in (
        (("--rps", "101"), 'rate: must be at most 100/s in a run of tenant shop (got "101/s")'),
        (("--users", "3"), 'users: must be at most 2 in a run of tenant shop (got "3")'),
        (("--rps", "1", "--external-agents", "2"), "requested agents: must be at most 1 in a run"),
        (("--rps", "1", "--duration", "61s"), "duration: must be at most 60s in a run"),
    ):
        refused = fleet.run(loadpilot, WEIGHTED, oracle.url, *shop, *flags)
        assert refusal in refused.stderr
        assert refused.code == 2
    assert oracle.counts().received == 0
    with fleet.start(loadpilot, WEIGHTED, oracle.url, *LONG, *shop) as running:
        run = running.run_id()
        assert oracle.wait_count(20, 30)
        at = ("--nats-url", fleet.url, *shop)
        steered = loadpilot.call("rate", run, "101/s", *at)
        assert steered.code == 2
        assert "101/s is above max_rate, 100/s" in steered.stdout + steered.stderr
        assert loadpilot.call("stop", run, *at).code == 0
        running.end(30)


def test_a_file_with_mistakes_is_refused(fleet: Fleet, loadpilot: Loadpilot) -> None:
    """Broken if a coordinator starts with limits that its operator did not write."""
    path = fleet.folder / "wrong.toml"
    path.write_text("[tenants.shop]\nmax_agent = 1\ntargets = ['a b']\n", encoding="utf-8")
    refused = loadpilot.call("coordinator", "--check-config", "--tenants", str(path))
    assert refused.code == 2
    assert "wrong.toml: [tenants.shop]: must be a known key; the nearest is max_agents" in (
        refused.stderr
    )
    assert "wrong.toml: [tenants.shop] targets[0]: must be a host name" in refused.stderr
