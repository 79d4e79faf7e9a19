"""Every way to write or reach a closed address: the agent opens no connection to it.

Command and coordinators allow the addresses, so that only the agent protects the listener from a
plan. A run with an agent that allows them, too, shows that each way leads there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.e2e.support.command import SCENARIOS
from tests.e2e.support.dropped_arrivals import all_but_late
from tests.faults.support.closed_network import (
    ALLOWED,
    METADATA,
    ClosedNetwork,
    enter_closed_network,
)
from tests.faults.support.network import why_not

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.e2e.support.command import Finished

pytestmark = pytest.mark.skipif(why_not(("ip",)) is not None, reason=str(why_not(("ip",))))

WEIGHTED = SCENARIOS / "weighted.py"
SHORT = ("--rps", "20", "--duration", "500ms", "--external-agents", "1")
NAT64, SIX_TO_FOUR, COMPATIBLE = "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::", "::a9fe:a9fe"
NEAR, NEAR_6 = "127.0.0.1", "::1"
CLOUD, HERE, NOWHERE = "cloud metadata address", "loopback address", "unspecified address"
WAYS = {
    # Of one address as text, by inet_aton(3) and RFC 4291, 6052, 3056.
    "169.254.169.254": (METADATA, CLOUD),
    "2852039166": (METADATA, CLOUD),
    "0xa9fea9fe": (METADATA, CLOUD),
    "0xa9.0xfe.0xa9.0xfe": (METADATA, CLOUD),
    "0251.0376.0251.0376": (METADATA, CLOUD),
    "169.254.43518": (METADATA, CLOUD),
    "169.16689662": (METADATA, CLOUD),
    "[::ffff:169.254.169.254]": (METADATA, CLOUD),
    "[::ffff:a9fe:a9fe]": (METADATA, CLOUD),
    f"[{NAT64}]": (NAT64, CLOUD),
    f"[{SIX_TO_FOUR}]": (SIX_TO_FOUR, CLOUD),
    f"[{COMPATIBLE}]": (COMPATIBLE, CLOUD),
    "127.0.0.1": (NEAR, HERE),
    "127.1": (NEAR, HERE),
    "2130706433": (NEAR, HERE),
    "0x7f.1": (NEAR, HERE),
    "[::1]": (NEAR_6, HERE),
    "0.0.0.0": (NEAR, NOWHERE),
    "0": (NEAR, NOWHERE),
    "[::]": (NEAR_6, NOWHERE),
    # By a name.
    "metadata.test": (METADATA, CLOUD),
    "METADATA.test.": (METADATA, CLOUD),
    "alias.test": (METADATA, CLOUD),
    "mapped.test": (METADATA, CLOUD),
    "nat64.test": (NAT64, CLOUD),
    "localhost": (NEAR_6, HERE),
    "zero.test": (NEAR, NOWHERE),
}
"""Hosts of a URL; the address that a system connects to, and what the agent calls it."""
NAMES = {
    "metadata.test": [METADATA],
    "alias.test": ["metadata.test", METADATA],
    "mapped.test": [f"::ffff:{METADATA}"],
    "nat64.test": [NAT64],
    "zero.test": ["0.0.0.0"],
    "allowed.test": [ALLOWED],
    "both.test": [METADATA, ALLOWED],
}
OPEN = (METADATA, "0.0.0.0", "::", "127.0.0.0/8", "::1", ALLOWED)
TARGET, CLOSED = "http://allowed.test", "http://metadata.test"
AWAY = """
from loadpilot import LoadClient, VUser, scenario, task

@scenario(rps=20, duration="500ms", mode="constant", connections={"redirects": 2})
class Away(VUser):
    @task
    def look(self, client: LoadClient) -> None:
        client.get("/away")
"""
SCRIPTED = """
import math
from loadpilot import LoadClient, VUser, scenario, task

@scenario(rps=20, duration="500ms", mode="constant", compile=False)
class Scripted(VUser):
    @task
    def look(self, client: LoadClient) -> None:
        client.get("/look", headers={"X-Size": str(math.floor(1.5))})
"""
ROADS = {
    "connect_to": (WEIGHTED, TARGET, ("--connect-to", "metadata.test:80")),
    "connect_to_number": (WEIGHTED, TARGET, ("--connect-to", "2852039166:80")),
    "second_target": (WEIGHTED, TARGET, ("--target", CLOSED)),
    "redirect": (AWAY, TARGET, ("--redirect-to", CLOSED)),
    "redirect_number": (AWAY, TARGET, ("--redirect-to", "http://2852039166")),
    "proxy": (WEIGHTED, TARGET, ("--proxy", "http://metadata.test:80")),
    "socks": (WEIGHTED, TARGET, ("--proxy", "socks5://2852039166:80")),
    "http2": (WEIGHTED, CLOSED, ("--http", "2")),
    "tls": (WEIGHTED, "https://metadata.test:80", ("--insecure",)),
    "open_first": (WEIGHTED, CLOSED, ("--open-first", "3")),
    "no_reuse": (WEIGHTED, CLOSED, ("--reuse", "never")),
    "ipv6": (WEIGHTED, "http://mapped.test", ("--ip", "6")),
    "closed_loop": (WEIGHTED, CLOSED, ("--users", "2")),
    "python": (SCRIPTED, CLOSED, ()),
}
"""Scenario, target and flags of every other way ("road") to METADATA."""


@pytest.fixture
def network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ClosedNetwork]:
    """The network, with a command and a coordinator that allow all of its addresses."""
    monkeypatch.setenv("LOADPILOT_ALLOW_TARGET", ",".join(OPEN))
    with enter_closed_network(tmp_path, monkeypatch, lambda name, _: NAMES.get(name)) as network:
        allowed = [word for one in OPEN for word in ("--allow-target", one)]
        network.fleet.coordinator(*allowed)
        yield network


def agent(network: ClosedNetwork, environ: pytest.MonkeyPatch, *allowed: str) -> None:
    """Starts the agent, which allows these addresses, and proxies."""
    environ.setenv("AGENT_ALLOW_TARGET", ",".join(allowed))
    network.fleet.agent("a-1", "--allow-proxy")


def run(network: ClosedNetwork, road: str) -> Finished:
    """A run over one of ROADS. The counts of the listener begin at 0."""
    scenario, target, flags = ROADS[road]
    network.listener.forget()
    network.listener.location = f"{flags[1]}/landed" if scenario == AWAY else "/"
    short = SHORT[2:] if "--users" in flags else SHORT
    return network.fleet.run(network.loadpilot, scenario, target, *short, *flags)


def assert_refused(network: ClosedNetwork, finished: Finished, wanted: str) -> None:
    """Asserts that the run has no load, and that the command names the address that is not
    allowed."""
    output = finished.stdout + finished.stderr
    assert finished.code == 4, output
    assert f"not allowed: {wanted} " in output, output
    assert finished.report["arrivals"]["started"] == 0
    assert network.listener.connections == {}


def assert_stored(network: ClosedNetwork, runs: dict[str, str]) -> None:
    """Asserts that the report from the log names the address, too; `runs` has the run of each
    address."""
    for wanted, run_id in runs.items():
        stored = network.loadpilot.call("report", run_id, "--nats-url", network.fleet.url)
        assert f"not allowed: {wanted} " in stored.stdout, stored


@pytest.mark.slow
def test_no_way_to_write_an_address_opens_it(
    network: ClosedNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken if an agent connects to a closed address that is written or resolved in an unusual
    way.

    Costs 18 s.
    """
    agent(network, monkeypatch, ALLOWED)
    runs = {}
    for host, (_, wanted) in WAYS.items():
        finished = network.fleet.run(network.loadpilot, WEIGHTED, f"http://{host}", *SHORT)
        assert_refused(network, finished, wanted)
        runs[wanted] = finished.run
    assert_stored(network, runs)


@pytest.mark.slow
def test_of_two_addresses_the_allowed_one_is_taken(
    network: ClosedNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken if an allowed address of a name opens the others. 5 s."""
    agent(network, monkeypatch, ALLOWED)
    flags = ("--rps", "20", "--duration", "1s", "--external-agents", "1")
    both = network.fleet.run(network.loadpilot, WEIGHTED, "http://both.test", *flags)
    assert both.judged == 0, both.stderr
    sent = all_but_late(both.report, 20, 1)
    assert network.listener.received(ALLOWED) == both.report["calls"]["outcomes"]["ok"] == sent
    assert network.listener.connections.keys() == {ALLOWED}


@pytest.mark.slow
def test_each_of_these_ways_leads_to_its_address(
    network: ClosedNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken if the test above passes only because the address cannot be reached anyway.

    Costs 6 s.
    """
    agent(network, monkeypatch, *OPEN)
    targets = [word for host in WAYS for word in ("--target", f"http://{host}")]
    rps = 10 * len(WAYS)
    rate = ("--rps", str(rps), "--duration", "1s", "--external-agents", "1")
    finished = network.fleet.run(network.loadpilot, WEIGHTED, targets[1], *targets[2:], *rate)
    assert finished.judged == 0, finished.stderr
    assert finished.report["calls"]["outcomes"] == {"ok": all_but_late(finished.report, rps, 1)}
    wanted = {(address, host) for host, (address, _) in WAYS.items()}
    assert network.listener.requests.keys() == wanted


@pytest.mark.slow
def test_no_other_road_leads_to_a_closed_address(
    network: ClosedNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken if a setting of a run, a redirect, a proxy or a protocol bypasses the policy.

    Costs 10 s.
    """
    agent(network, monkeypatch, ALLOWED)
    for road in ROADS:
        assert_refused(network, run(network, road), CLOUD)


@pytest.mark.long
@pytest.mark.timeout(200)
def test_each_of_these_roads_leads_to_its_address(
    network: ClosedNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken if the test above passes only because the road leads nowhere.

    Costs 60 s.
    """
    agent(network, monkeypatch, *OPEN)
    for road in ROADS:
        finished = run(network, road)
        assert network.listener.connections[METADATA] > 0, (road, finished.stdout, finished.stderr)


def test_a_plan_with_a_proxy_needs_an_agent_that_allows_it(
    network: ClosedNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken if a run reaches an address behind a proxy, where no agent checks it. 2 s."""
    monkeypatch.setenv("AGENT_ALLOW_TARGET", ALLOWED)
    network.fleet.agent("a-1")
    flags = ("--proxy", f"http://{ALLOWED}:80")
    refused = network.fleet.run(network.loadpilot, WEIGHTED, CLOSED, *SHORT, *flags)
    assert refused.code == 4
    assert "behind a proxy this agent judges no address" in refused.stdout + refused.stderr
    assert network.listener.connections == {}
