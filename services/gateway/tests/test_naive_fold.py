"""A fold that shares no code with the product agrees with its report and its indexed runs, on a log
with a killed agent, and on the same log with repeats, another order and holes."""

from __future__ import annotations

import json
import os
import random
import signal
from collections import Counter
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from services.gateway.tests.naive_fold import Folded, Message, fold, read, replay
from tests.e2e.support.command import SCENARIOS, Loadpilot
from tests.e2e.support.processes import Part
from tests.e2e.support.rawlog import Histogram, served
from tests.oracle.oracle import Oracle, built_binary

from loadpilot import _native

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

RPS, SECS = 120, 8
TICK_US = 1_000_000
SEED = 20261122


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """A run in which an agent was killed and targets failed: its id and its log."""
    folder = tmp_path_factory.mktemp("kept")
    loadpilot = Loadpilot(folder / "work")
    with Oracle(built_binary(), folder / "oracle.jsonl") as oracle:
        oracle.status(503, path="/rarely", fraction=0.3)
        load = ("--rps", str(RPS), "--duration", f"{SECS}s", "--agents", "2")
        with loadpilot.start(SCENARIOS / "weighted.py", oracle.url, *load) as running:
            assert oracle.wait_count(2 * RPS, 30)
            os.kill(running.parts(Part.AGENT)[0].pid, signal.SIGKILL)
            finished = running.end()
    (log,) = loadpilot.log.iterdir()
    assert finished.report["arrivals"]["lost"] > 0, "the kill left no hole"
    return finished.run, log


@contextmanager
def empty(folder: Path) -> Iterator[str]:
    """An empty log with the two streams."""
    (folder / "nothing" / "store").mkdir(parents=True)
    with served(folder / "nothing", folder / "replayed") as url:
        _native.Session(url, None).close()
        yield url


def agree(url: str, run: str, cache: Path | None = None) -> None:
    """Compare report and indexed runs of a run with the naive fold, figure by figure."""
    naive = fold(read(url, run))
    session = _native.Session(url, None)
    reading = session.read(run, cache)
    assert reading.report() == session.report(run)
    report: dict[str, Any] = json.loads(reading.report())
    assert report["arrivals"]["started"] == naive.started.total()
    assert report["calls"]["outcomes"] == naive.outcomes()
    assert report["gaps"]["excess_arrivals"] == naive.excess_arrivals
    assert report["gaps"]["excess_calls"] == naive.excess_calls
    lost = {holder: intervals(ticks) for holder, ticks in naive.lost.items() if ticks}
    assert lost_in(report) == lost
    for tick in report["series"]:
        at = tick["tick"]
        finished = [c.count for c in naive.calls if c.tick == at and c.finished]
        assert tick["finished"] == sum(finished)
        assert tick["started"] == sum(n for key, n in naive.started.items() if key[0] == at)
    agents = sorted({call.agent for call in naive.calls})
    slices: list[dict[str, Any]] = [{}, {"bucket_us": 3 * TICK_US}]
    slices += [{"agents": [agent]} for agent in agents]
    slices += [{"tasks": ["often"]}, {"outcomes": ["http_5xx"]}]
    slices += [{"from_us": 2 * TICK_US, "to_us": 5 * TICK_US, "tasks": ["rarely"]}]
    for query in slices:
        same(json.loads(reading.series(json.dumps(query))), query, naive)
    session.close()


def lost_in(report: dict[str, Any]) -> dict[tuple[str, str], Counter[int]]:
    """The number of lost arrivals of each holder by tick: those of an interval are all in its first
    tick."""
    found: dict[tuple[str, str], Counter[int]] = {}
    for lost in report["gaps"]["lost"]:
        holder = (lost["holder"]["agent"], lost["holder"]["boot_id"])
        ticks = found.setdefault(holder, Counter())
        assert lost["from_tick"] <= lost["to_tick"]
        ticks.update({lost["from_tick"]: lost["arrivals"]})
    return found


def intervals(ticks: Counter[int]) -> Counter[int]:
    """Counts by the first tick of each uninterrupted range."""
    found: Counter[int] = Counter()
    first = last = -2
    for tick in sorted(ticks):
        if tick != last + 1:
            first = tick
        found[first] += ticks[tick]
        last = tick
    return found


def same(series: dict[str, Any], query: dict[str, Any], naive: Folded) -> None:
    """Compare one series with the naive fold."""
    edges = [*series["from_us"], query.get("to_us", SECS * TICK_US)]
    for place, (from_us, to_us) in enumerate(pairwise(edges)):
        wanted = picked(query, from_us // TICK_US, to_us // TICK_US)
        outcomes = naive.outcomes(wanted)
        assert {name: row[place] for name, row in series["outcomes"].items() if row[place]} == {
            name: count for name, count in outcomes.items() if count
        }
        for name in ("response", "service"):
            points(series[name], place, naive.times(name, wanted))
    whole = naive.times("response", picked(query, edges[0] // TICK_US, edges[-1] // TICK_US))
    ladder = series["total"]["response"]
    assert whole is not None
    assert ladder["count"] == whole.total
    assert ladder["p99_us"] == whole.percentile(99)


def points(series: dict[str, list[int | None]], place: int, times: Histogram | None) -> None:
    for name, percent in (("p50", 50), ("p95", 95), ("p99", 99), ("max", 100)):
        assert series[name][place] == (times.percentile(percent) if times else None)


def picked(query: dict[str, Any], first: int, end: int) -> Callable[[Any], bool]:
    def wanted(call: Any) -> bool:
        return (
            first <= call.tick < end
            and call.agent in query.get("agents", [call.agent])
            and call.task in query.get("tasks", [call.task])
            and call.outcome in query.get("outcomes", [call.outcome])
        )

    return wanted


@pytest.mark.slow
def test_a_log_with_a_killed_agent(recorded: tuple[str, Path], tmp_path: Path) -> None:
    """Broken if report or indexed runs count anything that is not in the log, or omit anything."""
    run, log = recorded
    with served(log, tmp_path / "copy") as url:
        agree(url, run)


@pytest.mark.slow
def test_repeats_another_order_and_holes(recorded: tuple[str, Path], tmp_path: Path) -> None:
    """Broken if a repeated message counts twice, if order matters, or if a missing message is not
    named."""
    run, log = recorded
    with served(log, tmp_path / "copy") as url:
        messages = read(url, run)
    dice = random.Random(SEED)  # noqa: S311
    deltas = [one for one in messages if one.kind == "delta"]
    twice = dice.sample(deltas, len(deltas) // 3)
    gone = dice.sample([one for one in deltas if one.event["seq"] in range(2, 6)], 2)
    stored = [one for one in [*deltas, *twice] if one not in gone]
    dice.shuffle(stored)
    control = [sealed_at(one, len(stored)) for one in messages if one.kind != "delta"]
    with empty(tmp_path) as url:
        replay(url, [*control, *stored])
        agree(url, run, tmp_path / "cache")


def sealed_at(message: Message, data_seq: int) -> Message:
    """The same message; a seal then covers this many deltas of another stream, and all
    decisions."""
    if message.kind != "ctl" or message.event["type"] != "RunSealed":
        return message
    envelope = deepcopy(message.envelope)
    envelope["event"] |= {"data_seq": data_seq, "ctl_seq": 10_000, "evt_seq": 10_000}
    return replace(message, envelope=envelope)
