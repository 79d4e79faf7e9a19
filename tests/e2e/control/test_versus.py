"""A run that compares two targets: both get every request, and a difference is found in spite of a
drift of both."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections import Counter
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest
from tests.e2e.support.command import ID_HEADER
from tests.e2e.support.processes import Part
from tests.oracle.oracle import Oracle, built_binary

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.e2e.support.command import Loadpilot, Running

SCENE = """
from loadpilot import LoadClient, VUser, scenario, task

@scenario(rps=40, duration="%s", mode="constant")
class Shop(VUser):
    @task(weight=2)
    def look(self, client: LoadClient) -> None:
        client.get("/items")

    @task
    def order(self, client: LoadClient) -> None:
        client.post("/orders", json={"amount": 1})
"""
CODE = """
from loadpilot import LoadClient, VUser, feed, scenario, task

@scenario(rps=40, duration="%s", mode="constant")
class Shop(VUser):
    words = feed([{"word": f"w{n}"} for n in range(37)], cycle=True)

    @task
    def look(self, client: LoadClient) -> None:
        row = next(self.words)
        client.get("/words", params={"word": row["word"]})
"""
MS = 40.0
"""Response time of the first target."""
DRIFT = 0.1
STEP_S = 0.2


@pytest.fixture
def targets(tmp_path: Path) -> Iterator[tuple[Oracle, Oracle]]:
    with ExitStack() as stack:
        logs = [tmp_path / f"{name}.jsonl" for name in "ab"]
        first, second = (
            stack.enter_context(Oracle(built_binary(), log, id_header=ID_HEADER)) for log in logs
        )
        yield first, second


def begin(loadpilot: Loadpilot, scene: str, targets: tuple[Oracle, Oracle], *flags: str) -> Running:
    loadpilot.folder.mkdir(exist_ok=True)
    path = loadpilot.folder / f"scene-{targets[0].url.rpartition(':')[2]}.py"
    path.write_text(scene, encoding="utf-8")
    named = ("--target-a", targets[0].url, "--target-b", targets[1].url)
    return loadpilot.begin("versus", str(path), *named, "--id-header", ID_HEADER, *flags)


def received(target: Oracle) -> Counter[tuple[str, str, str]]:
    return Counter((one.method, one.path, one.body_fnv1a) for one in target.requests())


def pairs(target: Oracle) -> list[int]:
    return sorted(int((one.id or "").split("/")[1]) // 2 for one in target.requests())


@pytest.mark.parametrize("scene", [SCENE, CODE], ids=["steps", "code"])
@pytest.mark.parametrize("agents", [1, 2])
def test_both_targets_get_the_same_requests_in_pairs(
    loadpilot: Loadpilot, targets: tuple[Oracle, Oracle], scene: str, agents: int
) -> None:
    """Broken if the two targets get different requests. Costs 3 s."""
    flags = ("--agents", str(agents), "--output", "json", "--seed", "7")
    with begin(loadpilot, scene % "1500ms", targets, *flags) as running:
        finished = running.end()
    first, second = map(received, targets)
    assert first == second, finished.stderr
    assert first.total() == 60
    assert pairs(targets[0]) == pairs(targets[1]) == list(range(60))
    found = json.loads(finished.stdout)
    for side, target in zip(found["sides"], targets, strict=True):
        assert side["target"] == target.url
        assert side["finished"] == side["arrivals"]["started"] == len(target.requests())
    # A run of less than 8 s cannot tell a difference from chance; a busy machine is named first.
    assert finished.code == 3
    if found["grade"] == "INVALID":
        assert found["obstacles"] == [f"the certificate of run {found['run']} is INVALID"]
    else:
        assert "at least 8 s of the run" in found["obstacles"][0]
    assert loadpilot.call("verify", found["run"]).code == 0


@pytest.mark.slow
def test_a_killed_agent_takes_from_both(
    loadpilot: Loadpilot, targets: tuple[Oracle, Oracle]
) -> None:
    """Broken if a lost agent takes more requests from one target than from the other, or if the
    counts of a side are not those of its target. Costs 10 s."""
    flags = ("--agents", "2", "--output", "json", "--seed", "7")
    with begin(loadpilot, SCENE % "8s", targets, *flags) as running:
        assert targets[0].wait_count(40, 20.0)
        os.kill(running.parts(Part.AGENT)[0].pid, signal.SIGKILL)
        finished = running.end()
    found = json.loads(finished.stdout)
    counts = [len(target.requests()) for target in targets]
    assert abs(counts[0] - counts[1]) <= 2, counts
    for side, count in zip(found["sides"], counts, strict=True):
        assert side["arrivals"]["planned"] == 320
        # Requests in flight at the kill may not have reached the target.
        assert 0 <= side["arrivals"]["started"] - count <= 4, (side["arrivals"], count)
    assert loadpilot.call("verify", found["run"]).code == 0


class Drift(threading.Thread):
    """Makes all targets slower, or faster, by a tenth over a number of seconds."""

    def __init__(self, targets: list[tuple[Oracle, float]], length_s: float, sign: int) -> None:
        super().__init__(daemon=True)
        self.over = threading.Event()
        self._targets, self._length_s, self._sign = targets, length_s, sign

    def run(self) -> None:
        step = 0
        while True:
            factor = 1 + self._sign * DRIFT * step * STEP_S / self._length_s
            for target, ms in self._targets:
                target.delay(ms * factor)
            step += 1
            if self.over.wait(STEP_S):
                return


def compared(loadpilot: Loadpilot, folder: Path, slower: float, seed: int) -> dict[str, Any]:
    """Compares two drifting targets, the second of which is slower by this share."""
    with ExitStack() as stack:
        logs = [folder / f"{slower}-{seed}-{name}.jsonl" for name in "ab"]
        first, second = (stack.enter_context(Oracle(built_binary(), log)) for log in logs)
        sign = 1 if seed % 2 else -1
        drift = Drift([(first, MS), (second, MS * (1 + slower))], 10.0, sign)
        drift.start()
        flags = ("--output", "json", "--seed", str(seed))
        with begin(loadpilot, SCENE % "9s", (first, second), *flags) as running:
            finished = running.end()
        drift.over.set()
        drift.join()
    found: dict[str, Any] = json.loads(finished.stdout)
    assert found["obstacles"] == [], finished.stderr
    return found


def median(found: dict[str, Any]) -> dict[str, Any]:
    row: dict[str, Any] = found["figures"][0]
    assert row["figure"] == "p50_ms"
    return row


def finds_five(found: dict[str, Any]) -> bool:
    row = median(found)
    least, most = row["interval_pct"]
    return bool(row["change"] == "worse" and least > 0 and most < 10)


def is_equal(found: dict[str, Any]) -> bool:
    return median(found)["change"] in {"equal", "noise", "small"}


@pytest.mark.long
def test_a_difference_shows_through_a_drift(loadpilot: Loadpilot, tmp_path: Path) -> None:
    """Broken if a drift of 10 % hides 5 %, or makes equal targets look different. Costs 23 s."""
    assert finds_five(compared(loadpilot, tmp_path, 0.05, 1))
    assert is_equal(compared(loadpilot, tmp_path, 0.0, 2))


@pytest.mark.long
@pytest.mark.timed  # a busy machine makes differences that are chance
@pytest.mark.timeout(1_200)
def test_twenty_seeds_find_it(loadpilot: Loadpilot, tmp_path: Path) -> None:
    """Broken if fewer than 18 of 20 runs find 5 %, or call equal targets equal. Costs 8 min."""
    found = [finds_five(compared(loadpilot, tmp_path, 0.05, seed)) for seed in range(20)]
    equal = [is_equal(compared(loadpilot, tmp_path, 0.0, seed)) for seed in range(20)]
    assert (sum(found) >= 18, sum(equal) >= 18) == (True, True), (found, equal)
