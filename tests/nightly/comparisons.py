"""Judges ``loadpilot compare`` by targets whose differences are known: 18 of 20 right, or better.

    python -m tests.nightly.comparisons FIRST_SEED NUMBER

For each seed, on a real target:

- of two runs on one target none may be called worse; a run on a target whose responses take 5 %
  longer must be, at the median;
- one phase of one call is made slower for a share of its requests, from the start or from the
  middle of the run: `--explain` must name the task, the call, the phase, and the time.

The table goes to standard output, as Markdown. Exit code 1: fewer were right than the limits say.
"""

from __future__ import annotations

import json
import platform
import random
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.e2e.support.command import Loadpilot
from tests.oracle.oracle import Oracle, built_binary

RIGHT_OF_20 = 18
"""Least number of right judgements of 20 pairs of targets; each explanation must be right."""
ONE_CALL = """
from loadpilot import VUser, scenario, task

@scenario(rps=100, duration="6s", mode="constant")
class One(VUser):
    @task
    def only(self, client):
        client.get("/only")
"""
USUAL_MS, SLOWER_MS = 60.0, 63.0
"""Delay of the two targets that are 5 % apart."""
THRESHOLD = ("--threshold", "2")
SHOP = """
from loadpilot import VUser, scenario, task

@scenario(rps=60, duration="8s", mode="constant")
class Shop(VUser):
    @task(weight=2)
    def browse(self, client):
        client.get("/home")
        client.get("/search")

    @task
    def buy(self, client):
        client.get("/pay")
"""
DELAYS_MS = {"/home": 4.0, "/search": 9.0, "/pay": 14.0}
TASKS = {"/home": "browse", "/search": "browse", "/pay": "buy"}
MIDDLE = 400
"""Number of the request from which on a late change holds: half of those of a run."""
BODY_BYTES = 10
WITHIN_US = 700_000
"""Distance from the middle at which the begin of a late change counts as found: the target learns
of it while requests go on, and a part of the run is 200 ms."""


@dataclass(frozen=True, slots=True)
class Slowed:
    """A slowdown of the target: which requests, in which phase, by how much."""

    path: str
    phase: str
    by_ms: float
    fraction: float
    is_late: bool

    @classmethod
    def of(cls, seed: int) -> Slowed:
        """Draw one from a seed."""
        dice = random.Random(seed)  # noqa: S311 - repeated by its seed
        return cls(
            path=dice.choice(list(DELAYS_MS)),
            phase=dice.choice(["first_byte", "last_byte"]),
            by_ms=dice.randrange(30, 70),
            fraction=dice.choice([0.4, 0.6, 0.9]),
            is_late=dice.random() < 0.5,
        )

    def apply(self, oracle: Oracle) -> None:
        """Make the target slower from now on."""
        if self.phase == "first_byte":
            delay = DELAYS_MS[self.path] + self.by_ms
            oracle.delay(delay, path=self.path, fraction=self.fraction)
        else:
            oracle.drip(self.by_ms / BODY_BYTES, path=self.path, fraction=self.fraction)

    def __str__(self) -> str:
        since = "from the middle" if self.is_late else "from the start"
        what = f"{self.fraction:.0%} of {self.path} of {TASKS[self.path]} in {self.phase}"
        return f"{what}, by {self.by_ms} ms {since}"


@dataclass(frozen=True, slots=True)
class Scene:
    """A run on the usual target, and one with a slowdown."""

    slowed: Slowed
    usual: str
    slower: str
    middle_us: int
    """Arrival time of request number MIDDLE, from which on a late change holds, after the first
    request."""


def scene(seed: int, loadpilot: Loadpilot) -> Scene:
    """Make both runs."""
    slowed = Slowed.of(seed)
    with Oracle(built_binary(), loadpilot.folder / "target.jsonl") as oracle:
        for path, delay in DELAYS_MS.items():
            oracle.delay(delay, path=path)
            oracle.size(BODY_BYTES, path=path)
        usual = loadpilot.run(SHOP, oracle.url)
        before = len(oracle.requests())
        if not slowed.is_late:
            slowed.apply(oracle)
        with loadpilot.start(SHOP, oracle.url) as running:
            if slowed.is_late:
                assert oracle.wait_count(before + MIDDLE, timeout_s=30)
                slowed.apply(oracle)
            slower = running.end()
        arrivals = [request.arrival_us for request in oracle.requests()[before:]]
    return Scene(slowed, usual.run, slower.run, arrivals[MIDDLE] - arrivals[0])


def problem(scene: Scene, loadpilot: Loadpilot) -> str:
    """Describe the mistake in the explanation of p99, or of p95 where chance hides p99; empty if it
    is right."""
    comparison = _compare(loadpilot, scene.slower, scene.usual)
    explained = {one["figure"]: one for one in comparison["explained"] if one["task"] is None}
    found = explained.get("p99_ms") or explained.get("p95_ms")
    if found is None:
        return "neither p99 nor p95 is called worse"
    call, slowed = found["calls"][0], scene.slowed
    phase = max(call["phases"], key=lambda phase: call["phases"][phase], default="none")
    path = call["call"].rpartition(" ")[2]
    if (call["task"], path, phase) != (TASKS[slowed.path], slowed.path, slowed.phase):
        return f"named {path} of {call['task']} in {phase}"
    begin_us = None if call["during_us"] is None else call["during_us"][0]
    is_middle = begin_us is not None and abs(begin_us - scene.middle_us) <= WITHIN_US
    if is_middle != slowed.is_late:
        return f"named its begin as {begin_us} µs; the middle was at {scene.middle_us} µs"
    return ""


@dataclass(frozen=True, slots=True)
class Pair:
    """Figures that `compare` called worse."""

    equal: dict[str, str]
    """Each with its change."""
    slower: dict[str, str]

    @property
    def right(self) -> tuple[bool, bool]:
        """Whether the judgement of each pair is right."""
        return not self.equal, "p50_ms" in self.slower


def judged(loadpilot: Loadpilot) -> Pair:
    """Compare runs on equal targets, and on targets that are 5 % apart."""
    with Oracle(built_binary(), loadpilot.folder / "pair.jsonl") as oracle:
        oracle.delay(USUAL_MS)
        first, second = (loadpilot.run(ONE_CALL, oracle.url) for _ in range(2))
        oracle.delay(SLOWER_MS)
        third = loadpilot.run(ONE_CALL, oracle.url)
    worse = [
        {
            row["figure"]: f"{row['figure']} {row['change_pct']:+.1f} %"
            for row in _compare(loadpilot, run.run, first.run)["figures"]
            if row["change"] == "worse" and row["task"] is None
        }
        for run in (second, third)
    ]
    return Pair(*worse)


def _compare(loadpilot: Loadpilot, current: str, baseline: str) -> dict[str, Any]:
    found = loadpilot.call("compare", current, baseline, *THRESHOLD, "--json")
    comparison: dict[str, Any] = json.loads(found.stdout)
    return comparison


def main(words: list[str]) -> int:
    """Judge the named number of seeds; return 1 when too few judgements are right."""
    first, number = map(int, words)
    pairs: list[Pair] = []
    problems: list[str] = []
    print(f"Python {platform.python_version()}, {platform.platform()}\n", flush=True)
    print("| seed | equal | 5 % slower | made slower | explained |\n| -- | -- | -- | -- | -- |")
    for seed in range(first, first + number):
        with tempfile.TemporaryDirectory() as folder:
            loadpilot = Loadpilot(Path(folder))
            pairs.append(judged(loadpilot))
            problems.append(problem(scene(seed, loadpilot), loadpilot))
        equal, slower = pairs[-1].right
        marks = (
            "right" if equal else f"WRONG: {', '.join(pairs[-1].equal.values())}",
            "right" if slower else "WRONG",
        )
        row = (str(seed), *marks, str(Slowed.of(seed)), problems[-1] or "right")
        print(f"| {' | '.join(row)} |", flush=True)
    equal, slower = (sum(rights) for rights in zip(*(pair.right for pair in pairs), strict=True))
    named = problems.count("")
    print(f"\nright of {number}: equal {equal}, 5 % slower {slower}, explained {named}")
    least = number * RIGHT_OF_20 // 20
    return 0 if equal >= least and slower >= least and named == number else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
