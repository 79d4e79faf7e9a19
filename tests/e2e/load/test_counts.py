"""What the report says was sent is what the target received: exactly, to the last request."""

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
    """How much to offer."""

    rps: int
    secs: int
    agents: int

    @property
    def planned(self) -> int:
        return self.rps * self.secs


@dataclass(frozen=True, slots=True)
class Seen:
    """One run from both sides."""

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
    """The one run with a rate to speak of; it has the machine to itself."""
    return offer(tmp_path_factory.mktemp("busy") / "run", Load(300, 15, 3))


def assert_equal_to_the_last_request(seen: Seen) -> None:
    """Report and oracle agree on totals, tasks, ids, outcomes and status codes."""
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
    """A request that is sent and not counted, or counted and not sent, shows here."""
    assert_equal_to_the_last_request(busy)
    assert Counter(r.route for r in busy.requests) == {"/often": 3750, "/rarely": 750}


@pytest.mark.slow
def test_every_due_second_has_its_rate(busy: Seen) -> None:
    """A pacer that catches up, or rounds per second or agent, shifts arrivals between seconds."""
    load, series = busy.load, busy.finished.report["series"]
    ticks = [(tick["tick"], tick["planned"], tick["started"], tick["dropped"]) for tick in series]
    assert ticks == [(n, load.rps, load.rps, 0) for n in range(load.secs)]


@pytest.mark.slow
@pytest.mark.timed
def test_arrivals_keep_to_their_seconds(busy: Seen) -> None:
    """A second holds what is due in it, give or take one request and what 5 ms hold. The machine
    may stall once across the border of two seconds; a pacer that bunches does so at each."""
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
    """Few arrivals over many agents, one agent alone, forty seconds: the same equality. They run
    side by side, since they hardly load the machine, each with folder and oracle of its own."""
    loads = {"few": Load(3, 12, 2), "alone": Load(60, 12, 1), "long": Load(48, 40, 2)}
    with ThreadPoolExecutor(len(loads)) as pool:
        runs = [pool.submit(offer, tmp_path / name, load) for name, load in loads.items()]
    for run in runs:
        assert_equal_to_the_last_request(run.result())
