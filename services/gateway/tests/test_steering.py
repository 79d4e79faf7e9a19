"""Runs that are started and steered over HTTP; the target counts."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from services.gateway.tests.gateways import Gateways, cli_report, plan

if TYPE_CHECKING:
    from tests.e2e.support.command import Loadpilot
    from tests.e2e.support.fleet import Fleet
    from tests.oracle.oracle import Oracle


@pytest.mark.slow
def test_a_run_is_steered_over_http(
    fleet: Fleet, gateways: Gateways, loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if steering does not reach the target, or if its answer differs from the command's
    words."""
    fleet.coordinator()
    for name in ("a-1", "a-2"):
        fleet.agent(name)
    gateway = gateways.start()
    long = {"plan": plan(loadpilot, oracle, 50, 60), "agents": {"want": 2}}
    run = gateway.tell("/runs", long).json["run"]
    assert oracle.wait_count(50, 60)
    early = gateway.api(f"/runs/{run}").json
    assert (early["run"]["state"], early["run"]["ending"]) == ("running", None)
    changed = gateway.tell(f"/runs/{run}/rate", {"rate": "200/s"})
    assert changed.status == 200, changed.body
    begin = changed.json["answer"]["from_secs"]
    assert changed.json["words"].startswith(f"rate 50 -> 200/s from second {begin:.0f} on")
    assert oracle.wait_count(int(50 * begin) + 200, 60)
    paused = gateway.tell(f"/runs/{run}/pause")
    assert "nothing is started, its time goes on" in paused.json["words"]
    assert "is paused already" in gateway.tell(f"/runs/{run}/pause").json["words"]
    assert gateway.tell(f"/runs/{run}/resume").status == 200
    agents = gateway.api("/agents").json["agents"]
    assert [one["holder"]["agent"] for one in agents] == ["a-1", "a-2"]
    stopped = gateway.tell(f"/runs/{run}/stop")
    assert stopped.json["words"].startswith("stops: nothing is started after second")
    assert gateway.see_end(run)[-1].kind == "sealed"
    report = gateway.api(f"/runs/{run}").json
    assert report["run"]["ending"] == "stopped"
    assert [one["change"]["type"] for one in report["run"]["steered"]] == [
        *("rate", "paused", "resumed"),
    ]
    assert report["calls"]["attempted"] == oracle.counts().received
    assert report["arrivals"]["started"] == oracle.counts().received
    assert gateway.api(f"/runs/{run}").body.decode() == cli_report(loadpilot, fleet, run)
    over = gateway.tell(f"/runs/{run}/pause")
    assert (over.status, over.json["code"], over.json["exit_code"]) == (409, "usage", 2)
    assert over.json["detail"] == "it is over (stopped)"
    assert "a caller of the gateway" in str(report["story"])


@pytest.mark.slow
def test_a_key_asks_for_one_run(
    fleet: Fleet, gateways: Gateways, loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if a request that is sent again after a lost answer loads the target twice, or if a
    key blocks that of another tenant in the same account."""
    fleet.coordinator()
    fleet.agent("a-1")
    one, other = gateways.start(), gateways.start()
    wanted = {"plan": plan(loadpilot, oracle)}
    key = {"Idempotency-Key": "build-4711"}
    with ThreadPoolExecutor(8) as callers:
        requests = [
            callers.submit(gateway.tell, "/runs", wanted, key)
            for gateway in (one, other)
            for _ in range(4)
        ]
        answers = [one.result() for one in requests]
    assert sorted(answer.status for answer in answers) == [200] * 7 + [202]
    (run,) = {answer.json["run"] for answer in answers}
    one.see_end(run)
    assert oracle.counts().received == 150
    again = other.tell("/runs", wanted, key)
    assert (again.status, again.json["run"]) == (200, run)
    differs = other.tell("/runs", {**wanted, "agents": {"want": 2}}, key)
    assert (differs.status, differs.json["code"]) == (409, "key_taken")
    assert len(one.api("/runs").json["runs"]) == 1
    fleet.coordinator("--tenant", "shop")
    elsewhere = gateways.start(TENANT="shop").tell("/runs", wanted, key)
    assert (elsewhere.status, elsewhere.json.get("run") != run) == (202, True), elsewhere.body
    listed = one.tell("/runs", wanted, {"Idempotency-Key": "build-4712"}).json["run"]
    one.see_end(listed)
    runs = one.api("/runs?limit=1").json
    assert ([row["run"] for row in runs["runs"]], runs["next"]) == ([listed], listed)
    rest = one.api(f"/runs?limit=1&cursor={runs['next']}").json
    assert ([row["run"] for row in rest["runs"]], rest["next"]) == ([run], None)


@pytest.mark.slow
def test_without_a_fleet_it_says_so(
    fleet: Fleet, gateways: Gateways, loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if a run is accepted without a coordinator, or if a probe fails without need."""
    coordinator = fleet.coordinator()
    fleet.agent("a-1")
    gateway = gateways.start()
    wanted = {"plan": plan(loadpilot, oracle)}
    assert gateway.ask("GET", "/readyz").body == b"ready\n"
    coordinator.kill()
    coordinator.end()
    refused = gateway.tell("/runs", wanted)
    assert (refused.status, refused.json["code"]) == (503, "infrastructure")
    assert "no coordinator listens" in refused.json["detail"]
    fleet.server.kill()
    fleet.server.end()
    assert gateway.ask("GET", "/healthz").status == 200
    assert gateway.ask("GET", "/readyz").status == 503
    assert gateway.tell("/runs", wanted).status == 503
    fleet.start_server()
    assert gateway.ask("GET", "/readyz").body == b"ready\n"
    assert gateway.api("/runs").json["runs"] == []
    assert oracle.counts().received == 0
