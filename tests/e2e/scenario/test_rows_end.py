"""A feed ends a run after its last row, measured at the target."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import pytest

if TYPE_CHECKING:
    from tests.e2e.support.command import Loadpilot
    from tests.e2e.support.fleet import Fleet
    from tests.oracle.oracle import Oracle

RPS, ROWS = 100, 200
SCENE = """
from loadpilot import LoadClient, VUser, feed, scenario, task


@scenario(rps=RPS, duration="30s", mode="constant", users=50, compile=COMPILE)
class Shop(VUser):
    accounts = feed([{"name": f"user{n}"} for n in range(ROWS)], when_used_up="stop")

    @task(weight=2)
    def take(self, client: LoadClient) -> None:
        client.get("/take", params={"name": next(self.accounts)["name"]}, name="take")

    @task
    def look(self, client: LoadClient) -> None:
        client.get("/look", name="look")
""".replace("RPS", str(RPS))
FLEET_COORDINATOR = ("--lost-after", "3s", "--fence-after", "2s", "--takeover-room", "500ms")
FLEET_AGENT = ("--fence", "2s", "--heartbeat", "200ms")


def scene(rows: int, *, compiled: bool = True) -> str:
    text = SCENE.replace("ROWS", str(rows))
    return text.replace(", compile=COMPILE", "" if compiled else ", compile=False")


def taken(oracle: Oracle) -> Counter[str]:
    requests = [request for request in oracle.requests() if request.route == "/take"]
    return Counter(parse_qs(urlsplit(request.path).query)["name"][0] for request in requests)


@pytest.mark.slow
@pytest.mark.parametrize("agents", ["1", "4"])
@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "Python"])
def test_the_run_ends_with_the_last_row(
    loadpilot: Loadpilot, oracle: Oracle, agents: str, *, compiled: bool
) -> None:
    """Broken if a row is left or taken twice, if the run waits for the rest of its profile, if it
    is not sealed as complete, or if no message says why it was short. 7 s each."""
    finished = loadpilot.run(scene(ROWS, compiled=compiled), oracle.url, "--agents", agents)
    assert finished.judged == 0, finished.stderr
    assert taken(oracle) == {f"user{n}": 1 for n in range(ROWS)}
    report = finished.report
    run, arrivals = report["run"], report["arrivals"]
    assert (run["state"], run["ending"]) == ("sealed", "completed")
    # In each block of three arrivals, two take a row.
    assert ROWS * 3 // 2 <= arrivals["planned"] <= ROWS * 3 // 2 + 1
    assert arrivals["started"] == arrivals["planned"] == oracle.counts().received
    used_up = run["rows_used_up"]
    assert (used_up["feed"], used_up["rows"]) == ("accounts", ROWS)
    assert used_up["at_us"] == arrivals["planned"] * 1_000_000 // RPS == run["profile_us"]
    assert used_up["profile_us"] == 30_000_000
    at = f"{used_up['at_us'] / 1e6:g} s"
    assert f"stopped      feed accounts has no row left at {at} of 30 s" in finished.stdout
    assert "or until feed accounts has no row left" in finished.stderr
    assert any("feed accounts has no row left at" in line["text"] for line in report["story"])


@pytest.mark.slow
def test_no_row_is_taken_twice_when_an_agent_dies(
    fleet: Fleet, loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if agents that take over go beyond the last row or take a row again, or if the run
    goes on for the rows of the dead agent. 15 s."""
    rows = 600
    fleet.coordinator(*FLEET_COORDINATOR)
    members = [fleet.agent(f"a-{number}", *FLEET_AGENT) for number in range(4)]
    flags = ("--external-agents", "4")
    with fleet.start(loadpilot, scene(rows), oracle.url, *flags) as running:
        assert oracle.wait_count(RPS, 30)
        members[-1].kill()
        finished = running.end()
    counts = taken(oracle)
    assert set(counts.values()) == {1}, finished.stderr
    assert set(counts) <= {f"user{n}" for n in range(rows)}
    run = finished.report["run"]
    assert len(run["maps"]) > 1, "no shard moved to the other agents"
    assert f"user{rows - 1}" in counts or f"user{rows - 2}" in counts
    assert (run["ending"], run["rows_used_up"]["rows"]) == ("completed", rows)
    # The dead agent had sent some of the rows that it never reported.
    arrivals = finished.report["arrivals"]
    assert 0 <= arrivals["planned"] - oracle.counts().received <= arrivals["lost"]


@pytest.mark.slow
@pytest.mark.parametrize(("rows", "rate"), [(900, 300), (800, 90)])
def test_the_last_row_ends_a_run_at_another_rate(
    loadpilot: Loadpilot, oracle: Oracle, rows: int, rate: int
) -> None:
    """Broken if rows are left or missing after a change of the rate, or if the run keeps its old
    end. 15 s."""
    with loadpilot.start(scene(rows), oracle.url, "--agents", "2") as running:
        assert oracle.wait_count(50, 30)
        changed = loadpilot.call("rate", "last", str(rate))
        assert changed.code == 0, changed.stderr
        finished = running.end()
    assert finished.judged == 0, finished.stderr
    assert taken(oracle) == {f"user{n}": 1 for n in range(rows)}
    used_up = finished.report["run"]["rows_used_up"]
    planned_us = rows * 3 // 2 * 1_000_000 // RPS
    assert (used_up["at_us"] < planned_us) == (rate > RPS)


def test_a_run_that_is_stopped_before_has_rows_left(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if a stop by the user is reported as the end of the rows. 5 s."""
    with loadpilot.start(scene(2000), oracle.url) as running:
        assert oracle.wait_count(50, 30)
        assert loadpilot.call("stop", "last").code == 0
        finished = running.end()
    assert finished.report["run"]["ending"] == "stopped"
    assert "rows_used_up" not in finished.report["run"]


def test_the_end_is_known_before_the_run(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if the user learns the duration only during the run, or if a run starts that ends in
    its warm-up. 3 s."""
    known = loadpilot.run(scene(ROWS), oracle.url, "--dry-run")
    assert "; feed accounts has no row left then, of 30s" in known.stderr
    refused = loadpilot.run(scene(ROWS), oracle.url, "--warm-up", "10s")
    assert refused.code == 2
    assert "must last longer than the warm-up, 10s: feed accounts ends the run at" in refused.stderr
    assert oracle.requests() == []
