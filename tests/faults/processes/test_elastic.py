"""Agents come and go while a run goes on: shards follow them, and every arrival is accounted for.

On fleets, where no supervisor restarts a dead process. The timeouts of the fleet are shortened;
their order is that of the defaults.
"""

from __future__ import annotations

import re
import signal
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from tests.e2e.support.command import SCENARIOS, Loadpilot
from tests.e2e.support.dropped_arrivals import all_but_late, late_of
from tests.faults.support.elastic import (
    AGENT,
    BEAT_S,
    COORDINATOR,
    LATENESS_S,
    LOST_S,
    ROOM_S,
    TICK_S,
    Plan,
    assert_accounted,
    load,
    not_late,
    started,
)
from tests.faults.support.loads import shards_of

if TYPE_CHECKING:
    from tests.e2e.support.fleet import Fleet
    from tests.oracle.oracle import Oracle

WEIGHTED = SCENARIOS / "weighted.py"
TIMES = "\N{MULTIPLICATION SIGN}"
JOINS = re.compile(r"(\S+) joins with (\d+)")


SCRIPTED = """
import math
from loadpilot import LoadClient, VUser, scenario, setup, task, teardown

@scenario(rps=40, duration="15s", mode="constant", users=4, compile=False)
class Scripted(VUser):
    @setup
    def prepare(self, client: LoadClient) -> None:
        client.post("/prepare")

    def on_start(self, client: LoadClient) -> None:
        self.token = client.post("/login").status_code

    @task
    def t(self, client: LoadClient) -> None:
        client.get("/t", headers={"X-Token": str(math.floor(self.token))})

    def on_stop(self, client: LoadClient) -> None:
        client.delete("/login")

    @teardown
    def tidy(self, client: LoadClient) -> None:
        client.post("/tidy")
"""


@pytest.mark.slow
def test_a_run_grows_by_the_agents_that_come(
    fleet: Fleet, loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if agents that join late get no load, or if arrivals of a shard are sent twice, or not
    at all, in the tick in which it moves."""
    rps, secs = 100, 15
    fleet.coordinator(*COORDINATOR)
    fleet.agent("a-1", *AGENT)
    flags = load(rps, secs, 3, "--min-agents", "1", "--wait-agents", "1s")
    with fleet.start(loadpilot, WEIGHTED, oracle.url, *flags) as running:
        assert oracle.wait_count(rps, 30)
        fleet.agent("a-2", *AGENT)
        running.until("a-2 joins with 128")
        fleet.agent("a-3", *AGENT)
        running.until("a-3 joins with 85")
        fleet.agent("a-4", *AGENT)
        finished = running.end()
    assert finished.judged == 0, finished.stderr
    report = finished.report
    plan = Plan(report, rps, secs)
    missing = assert_accounted(finished, oracle, plan)
    assert len(missing) == plan.planned - all_but_late(report, rps, secs)
    assert plan.sizes() == [85, 85, 86]
    assert [plan.sizes(n) for n in range(2)] == [[256], [128, 128]]
    assert started(report) == dict(plan.shares(set(range(plan.planned)) - missing))
    assert "a-4" not in {agent for agent, _ in JOINS.findall(finished.stderr)}


@pytest.mark.long
def test_who_joins_gets_users_that_are_prepared_already(
    fleet: Fleet, loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if a newcomer logs users in again, cannot serve its share of them, or if a step that
    happens once per run is performed for each agent."""
    fleet.coordinator(*COORDINATOR)
    fleet.agent("a-1", *AGENT)
    flags = ("--external-agents", "2", "--min-agents", "1", "--wait-agents", "1s")
    with fleet.start(loadpilot, SCRIPTED, oracle.url, *flags) as running:
        assert oracle.wait_count(40, 30)
        fleet.agent("a-2", *AGENT)
        running.until("a-2 joins with 128")
        finished = running.end()
    assert finished.judged == 0, finished.stderr
    seen = Counter(f"{one.method} {one.route}" for one in oracle.requests())
    once = {"POST /prepare": 1, "POST /tidy": 1, "POST /login": 4, "DELETE /login": 4}
    assert seen == once | {"GET /t": all_but_late(finished.report, 40, 15)}
    plan = Plan(finished.report, 40, 15)
    ids = [(one.id or "").split("/") for one in oracle.requests() if one.route == "/t"]
    assert started(finished.report) == dict(plan.shares({int(one[1]) for one in ids}))
    assert len(started(finished.report)) == 2


@pytest.mark.slow
@pytest.mark.case(n=5)
def test_one_of_four_is_killed_and_the_others_share_what_it_held(
    fleet: Fleet, loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if more is lost than the time until the loss is detected, if unsent arrivals are not
    named, or if survivors go on at a wrong rate."""
    rps, secs = 200, 12
    fleet.coordinator(*COORDINATOR)
    agents = [fleet.agent(f"a-{n}", *AGENT) for n in range(1, 5)]
    with fleet.start(loadpilot, WEIGHTED, oracle.url, *load(rps, secs, 4)) as running:
        assert oracle.wait_count(2 * rps, 30)
        agents[1].kill()
        running.until(f"lost a-2 {TIMES} 64: silent")
        finished = running.end()
    report = finished.report
    plan = Plan(report, rps, secs)
    missing = assert_accounted(finished, oracle, plan)
    # Arrivals that a-2 dropped as late were due before the last one that it sent.
    held = {n for n in range(plan.planned) if plan.owner(n)[0] == "a-2"}
    last = max(map(plan.tick, held - missing))
    early = {n for n in held & missing if plan.tick(n) < last}
    hole = not_late(missing, finished, plan, "a-2") - early
    assert len(missing) - len(hole) <= late_of(report), "arrivals before the kill are missing"
    missing = hole
    takeover = plan.maps[1]["from_tick"]
    assert max(map(plan.tick, missing)) < takeover, "an arrival is missing after the takeover"
    # From its last answered heartbeat to the tick at which others go on.
    assert len(missing) <= (LOST_S + BEAT_S + ROOM_S + 2 * TICK_S) * rps / 4
    lost = report["arrivals"]["lost"]
    # Arrivals that it had sent and not reported count as lost, too: less than two ticks.
    assert len(missing) <= lost <= len(missing) + 2 * TICK_S * rps / 4
    assert {gap["holder"]["agent"] for gap in report["gaps"]["lost"]} == {"a-2"}
    assert plan.sizes() == [85, 85, 86]
    assert finished.code == 3


UNIQUE = """
from loadpilot import LoadClient, VUser, feed, scenario, task

@scenario(mode="constant")
class Unique(VUser):
    names = feed([{"name": f"name{n}"} for n in range(1_000)], unique=True, order="shuffled")

    @task
    def take(self, client: LoadClient) -> None:
        client.get("/take", params=next(self.names), name="take")
"""


@pytest.mark.slow
def test_no_row_is_taken_twice_when_an_agent_is_killed(
    fleet: Fleet, loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if survivors take rows again that the killed agent took. 10 s."""
    rps, secs = 100, 10
    fleet.coordinator(*COORDINATOR)
    agents = [fleet.agent(f"a-{n}", *AGENT) for n in range(1, 5)]
    with fleet.start(loadpilot, UNIQUE, oracle.url, *load(rps, secs, 4)) as running:
        assert oracle.wait_count(2 * rps, 30)
        agents[1].kill()
        running.until(f"lost a-2 {TIMES} 64: silent")
        finished = running.end()
    taken = Counter(request.path for request in oracle.requests())
    assert set(taken.values()) == {1}
    missing = rps * secs - len(taken)
    arrivals = finished.report["arrivals"]
    assert arrivals["lost"] > 0
    assert 0 < missing <= arrivals["lost"] + late_of(finished.report)


@pytest.mark.case(n=6)
@pytest.mark.long
def test_agents_are_killed_and_added_all_the_time(
    fleet: Fleet, loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if a run ends with the agents that it started with."""
    rps, secs = 90, 30
    fleet.coordinator(*COORDINATOR)
    agents = [fleet.agent(f"a-{n}", *AGENT) for n in range(3)]
    with fleet.start(loadpilot, WEIGHTED, oracle.url, *load(rps, secs, 3)) as running:
        assert oracle.wait_count(rps, 30)
        for number in range(3, 6):
            agents.append(fleet.agent(f"a-{number}", *AGENT))
            agents[number - 3].kill()
            running.until(f"a-{number} joins with")
        finished = running.end()
    plan = Plan(finished.report, rps, secs)
    missing = assert_accounted(finished, oracle, plan)
    missing = not_late(missing, finished, plan, "a-0", "a-1", "a-2")
    last = plan.maps[-1]["holdings"]
    assert {held["holder"]["agent"] for held in last} == {"a-3", "a-4", "a-5"}
    assert plan.sizes() == [85, 85, 86]
    assert len(missing) <= 3 * (LOST_S + BEAT_S + ROOM_S + 2 * TICK_S) * rps / 3


@pytest.mark.long
def test_an_agent_that_was_frozen_is_taken_back(
    fleet: Fleet, loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if an agent that was suspended stays idle for the rest of the run, or sends arrivals
    that others have sent meanwhile."""
    rps, secs = 100, 20
    fleet.coordinator(*COORDINATOR)
    frozen, _ = (fleet.agent(name, *AGENT) for name in ("a-1", "a-2"))
    with fleet.start(loadpilot, WEIGHTED, oracle.url, *load(rps, secs, 2)) as running:
        assert oracle.wait_count(rps, 30)
        frozen.signal(signal.SIGSTOP)
        running.until(f"lost a-1 {TIMES} 128: silent")
        took_over = oracle.counts().received
        assert oracle.wait_count(took_over + 3 * rps, 30)
        frozen.signal(signal.SIGCONT)
        running.until("a-1 joins with 128")
        finished = running.end()
    plan = Plan(finished.report, rps, secs)
    # Threads that wake before the fence send arrivals that are not late yet; these count as excess.
    missing = assert_accounted(finished, oracle, plan, LATENESS_S * rps / 2 + 2)
    assert not_late(missing, finished, plan, "a-1")
    boots = {boot for agent, boot in started(finished.report) if agent == "a-1"}
    assert len(boots) == 2, "the agent does not return under a new boot id"
    assert plan.sizes() == [128, 128]


@pytest.mark.long
def test_everything_is_killed_and_started_again_and_the_run_goes_on(
    fleet: Fleet, loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if a run needs state that is not in its log, or if arrivals due while no process ran
    are sent later, or are not reported."""
    rps, secs = 100, 25
    coordinator = fleet.coordinator(*COORDINATOR)
    agents = [fleet.agent(f"a-{n}", *AGENT) for n in (1, 2)]
    with fleet.start(loadpilot, WEIGHTED, oracle.url, *load(rps, secs, 2)) as running:
        assert oracle.wait_count(3 * rps, 30)
        for process in (coordinator, *agents, fleet.server):
            process.kill()
        for process in (coordinator, *agents, fleet.server):
            process.end()
        before = oracle.counts().received
        fleet.start_server()
        fleet.coordinator(*COORDINATOR)
        for number in (1, 2):
            fleet.agent(f"a-{number}", *AGENT)
        assert oracle.wait_count(before + 2 * rps, 30), "the load goes on"
        finished = running.end()
    report = finished.report
    plan = Plan(report, rps, secs)
    missing = assert_accounted(finished, oracle, plan)
    dead = set(plan.owners[0].values())
    after = range(min(missing), plan.planned)
    assert missing == {n for n in after if plan.owner(n) in dead}, (
        "other arrivals are missing than those of agents that were away"
    )
    # The first agent that is back may take all shards, and share them with the other one later.
    back = next(n for n, owners in enumerate(plan.owners) if not dead & set(owners.values()))
    assert max(map(plan.tick, missing)) == plan.maps[back]["from_tick"] - 1
    assert report["arrivals"]["lost"] >= len(missing)
    assert finished.code == 3


@pytest.mark.long
def test_agents_that_stopped_by_themselves_go_on_when_the_log_is_back(
    fleet: Fleet, loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if a nats-server that is away for longer than the fence ends every run of its
    fleet."""
    rps, secs = 100, 20
    fleet.coordinator(*COORDINATOR)
    agents = [fleet.agent(f"a-{n}", *AGENT) for n in (1, 2)]
    with fleet.start(loadpilot, WEIGHTED, oracle.url, *load(rps, secs, 2)) as running:
        assert oracle.wait_count(2 * rps, 30)
        fleet.server.kill()
        fleet.server.end()
        for agent in agents:
            agent.until("reason=Isolated")
        stopped = oracle.counts().received
        fleet.start_server()
        for agent in agents:
            agent.until("it begins anew")
        assert oracle.wait_count(stopped + 2 * rps, 30), "the load goes on"
        finished = running.end()
    report = finished.report
    plan = Plan(report, rps, secs)
    missing = assert_accounted(finished, oracle, plan)
    # A busy machine may drop arrivals as late anywhere. The others are missing in one interval, in
    # which only one agent sends at its edge: each counts its fence from a heartbeat of its own.
    late = late_of(report)
    ordered, count = sorted(missing), len(missing) - late
    spans = [ordered[i + count - 1] - ordered[i] + 1 for i in range(late + 1)]
    assert min(spans) - count <= rps // 2, "the arrivals are missing in more than one interval"
    lost, dropped = report["arrivals"]["lost"], sum(report["arrivals"]["dropped"].values())
    assert lost + dropped == len(missing), "missing arrivals are not reported as lost or dropped"


@pytest.mark.long
def test_users_of_a_closed_loop_move_to_who_joins(
    fleet: Fleet, loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if users stay on their agent, run on two agents, or vanish in the move."""
    users, secs, delay_ms = 10, 12, 50
    oracle.delay(delay_ms)
    fleet.coordinator(*COORDINATOR)
    fleet.agent("a-1", *AGENT)
    flags = ("--users", str(users), "--duration", f"{secs}s", "--external-agents", "2")
    wait = ("--min-agents", "1", "--wait-agents", "1s")
    with fleet.start(loadpilot, WEIGHTED, oracle.url, *flags, *wait) as running:
        assert oracle.wait_count(users, 30)
        fleet.agent("a-2", *AGENT)
        running.until("a-2 joins with 5")
        finished = running.end()
    report = finished.report
    assert report["run"]["ending"] == "completed"
    assert report["gaps"]["excess_arrivals"] == 0
    sizes = [[len(shards_of(one)) for one in held["holdings"]] for held in report["run"]["maps"]]
    assert sizes == [[10], [5, 5]]
    assert {agent for agent, _ in started(report)} == {"a-1", "a-2"}
    requests = oracle.requests()
    assert report["calls"]["attempted"] == len(requests)
    moments = [(one.arrival_us, 1) for one in requests]
    moments += [(one.end_us, -1) for one in requests if one.end_us is not None]
    most = busy = 0
    for _, change in sorted(moments):
        busy += change
        most = max(most, busy)
    # A user that moves may begin on its new agent while its last iteration runs on the old one.
    assert most <= users + users // 2
