"""The report has exactly the requests that the target received, to the last one."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from tests.e2e.support.command import SCENARIOS, Finished, Loadpilot
from tests.oracle.oracle import Oracle, Outcome, Request, built_binary

if TYPE_CHECKING:
    from pathlib import Path

WEIGHTED = SCENARIOS / "weighted.py"
ROUTES = {"often": "/often", "rarely": "/rarely"}
WEIGHTS = {"often": 5, "rarely": 1}


@dataclass(frozen=True, slots=True)
class Load:
    """Rate, duration and number of agents of a run."""

    rps: int
    secs: int
    agents: int

    @property
    def planned(self) -> int:
        return self.rps * self.secs


@dataclass(frozen=True, slots=True)
class Seen:
    """One run, as the command and as the target saw it."""

    load: Load
    finished: Finished
    requests: list[Request]


def offer(folder: Path, load: Load) -> Seen:
    """Runs the weighted scenario against an oracle of its own."""
    folder.mkdir()
    with Oracle(built_binary(), folder / "oracle.jsonl") as oracle:
        flags = ("--rps", str(load.rps), "--duration", f"{load.secs}s")
        finished = Loadpilot(folder / "work").run(
            WEIGHTED, oracle.url, *flags, "--agents", str(load.agents)
        )
        assert oracle.broken() == []
        return Seen(load, finished, oracle.requests())


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    """The only run at a considerable rate; no other run goes on meanwhile."""
    return offer(tmp_path_factory.mktemp("busy") / "run", Load(300, 15, 3))


def assert_equal_to_the_last_request(seen: Seen) -> None:
    """Asserts that report and oracle agree on totals, tasks, ids, outcomes and status codes."""
    load, report, requests = seen.load, seen.finished.report, seen.requests
    assert seen.finished.judged == 0, seen.finished.stderr
    arrivals, calls = report["arrivals"], report["calls"]
    assert (
        arrivals["planned"]
        == arrivals["started"]
        == calls["attempted"]
        == len(requests)
        == load.planned
    )
    assert sum(arrivals["dropped"].values()) == arrivals["lost"] == arrivals["waiting"] == 0
    assert {name: n for name, n in calls["outcomes"].items() if n} == {"ok": load.planned}
    assert Counter(request.outcome for request in requests) == {Outcome.ANSWERED: load.planned}
    assert report["status"] == {"200": load.planned}
    assert Counter(request.status for request in requests) == {200: load.planned}
    ids = [f"{seen.finished.run}/{n}/0" for n in range(load.planned)]
    assert sorted(request.id or "" for request in requests) == sorted(ids)
    by_route = Counter(request.route for request in requests)
    for task in report["tasks"]:
        name = task["name"]
        due = load.planned * WEIGHTS[name] // sum(WEIGHTS.values())
        assert (
            task["arrivals"]["planned"]
            == task["arrivals"]["started"]
            == task["calls"][0]["counts"]["attempted"]
            == by_route[ROUTES[name]]
            == due
        )
    assert len(report["run"]["holders"]) == load.agents
    assert sum(holder["calls"] for holder in report["run"]["holders"]) == load.planned


@pytest.mark.slow
def test_three_agents_offer_exactly_the_plan(busy: Seen) -> None:
    """Broken if a request is sent and not counted, or counted and not sent."""
    assert_equal_to_the_last_request(busy)
    assert Counter(r.route for r in busy.requests) == {"/often": 3750, "/rarely": 750}


@pytest.mark.slow
def test_every_due_second_has_its_rate(busy: Seen) -> None:
    """Broken if a pacer catches up, or rounds per second or agent: arrivals would move to another
    second."""
    load, series = busy.load, busy.finished.report["series"]
    ticks = [(tick["tick"], tick["planned"], tick["started"], tick["dropped"]) for tick in series]
    assert ticks == [(n, load.rps, load.rps, 0) for n in range(load.secs)]


@pytest.mark.slow
@pytest.mark.timed
def test_arrivals_keep_to_their_seconds(busy: Seen) -> None:
    """Broken if a second has other arrivals than those due in it, by more than one request and the
    arrivals of 5 ms. The machine may stall once across the border of two seconds; a pacer that
    sends in bunches does so at each border."""
    load = busy.load
    start_us = busy.finished.report["run"]["start_at"]
    seconds = Counter((request.arrival_us - start_us) // 1_000_000 for request in busy.requests)
    off = [abs(seconds[n] - load.rps) for n in range(load.secs)]
    assert sum(shift > 1 + 0.005 * load.rps for shift in off) <= 2, seconds
    assert max(off) <= 1 + 0.1 * load.rps, seconds


@pytest.mark.long
@pytest.mark.timeout(150)
@pytest.mark.timed
def test_low_rates_and_long_runs_are_exact_too(tmp_path: Path) -> None:
    """Broken if counts differ with few arrivals over many agents, with one agent, or over forty
    seconds. The runs go on beside each other, since they hardly load the machine, each with a
    folder and an oracle of its own."""
    loads = {"few": Load(3, 12, 2), "alone": Load(60, 12, 1), "long": Load(48, 40, 2)}
    with ThreadPoolExecutor(len(loads)) as pool:
        runs = [pool.submit(offer, tmp_path / name, load) for name, load in loads.items()]
    for run in runs:
        assert_equal_to_the_last_request(run.result())
