"""`compare` and `--save-baseline`: a slower target is found and explained, an equal one is not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.e2e.support.command import UNTRUSTED
from tests.nightly.comparisons import problem, scene

if TYPE_CHECKING:
    from tests.e2e.support.command import Loadpilot
    from tests.oracle.oracle import Oracle

SHOP = """
from loadpilot import VUser, scenario, task

@scenario(rps=40, duration="10s", mode="constant")
class Shop(VUser):
    @task
    def quick(self, client):
        client.get("/quick")

    @task
    def slow(self, client):
        client.get("/slow")
"""
SEED = 1
"""Seed of the slowdown: a first byte, from the middle of the run. The nightly tests use twenty."""
FIGURES = ["achieved_rps", "p50_ms", "p95_ms", "p99_ms", "max_ms", "error_rate_pct"]


@pytest.mark.long
@pytest.mark.timed
def test_a_slower_task_is_found(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if a regression passes, if an equal run fails, or if the results file differs from the
    log. 40 s."""
    oracle.delay(30)
    first = loadpilot.run(SHOP, oracle.url, "--save-baseline")
    assert "baseline .loadpilot/baseline.json: 1 run" in first.stderr
    equal = loadpilot.run(SHOP, oracle.url, "--save-baseline", "--append")
    assert "baseline .loadpilot/baseline.json: 2 runs" in equal.stderr
    oracle.delay(60, path="/slow")
    slower = loadpilot.run(SHOP, oracle.url)

    compared = loadpilot.call("compare", slower.run, "--json")
    comparison = json.loads(compared.stdout)
    assert comparison["baseline"] == [first.run, equal.run]
    worse = {(row["task"], row["figure"]) for row in comparison["figures"] if is_worse(row)}
    assert (compared.code, ("slow", "p50_ms") in worse) == (1, True), compared.stdout
    assert not any(task == "quick" and figure == "p50_ms" for task, figure in worse)
    rows = [row for row in comparison["figures"] if row["task"] is None]
    assert [row["figure"] for row in rows] == FIGURES
    report = slower.report
    assert rows[2]["current"] == report["p95_ms"]
    assert rows[5]["current"] == report["error_rate_pct"]
    text = loadpilot.call("compare", slower.run)
    assert (text.code, "beyond 10 % and chance" in text.stdout) == (1, True)

    path = loadpilot.folder / "slower.lprun"
    assert loadpilot.call("export", slower.run, str(path)).code == 0
    assert loadpilot.call("compare", str(path), "--json").stdout == compared.stdout
    against = loadpilot.call("compare", equal.run, first.run, "--threshold", "100", "--json")
    assert against.code == 0, against.stdout
    faster = loadpilot.call("compare", first.run, slower.run)
    assert (faster.code, "better" in faster.stdout) == (0, True)
    results = loadpilot.call("compare", str(slower.results), str(first.results), "--json")
    every = json.loads(results.stdout)["figures"]
    assert {row["task"] for row in every} == {None, "quick", "slow"}
    alone = [row for row in every if row["task"] is None]
    assert [row["current"] for row in alone] == [row["current"] for row in rows]
    assert [row["interval"] for row in alone] == [None] * len(FIGURES)


def is_worse(row: dict[str, object]) -> bool:
    return row["change"] == "worse"


@pytest.mark.slow
def test_what_proves_nothing_is_not_compared(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if a run without a response becomes a baseline, or if a comparison with it passes.
    4 s."""
    gone = oracle.url.rsplit(":", 1)[0] + ":9"
    failed = loadpilot.run(SHOP.replace("10s", "2s"), gone, "--save-baseline")
    assert "baseline not saved" in failed.stderr
    assert not (loadpilot.log / "baseline.json").exists()
    for argv, words in [
        (["compare", "last"], "--save-baseline"),
        (["compare", "last", "nothing"], "there is no run"),
        (["compare", "last", "gone.json"], "gone.json"),
        (["compare", "last", "last", "--threshold", "-1"], "--threshold"),
    ]:
        refused = loadpilot.call(*argv)
        assert (refused.code, words in refused.stderr) == (2, True), refused.stderr
    compared = loadpilot.call("compare", "last", "last")
    assert (compared.code, "not compared" in compared.stdout) == (UNTRUSTED, True)


def test_a_run_is_not_compared_with_itself(loadpilot: Loadpilot) -> None:
    """Broken if a run passes a comparison with a baseline that contains it, which proves
    nothing."""
    file = str(Path(__file__).with_name("stored_logs") / "run_file_v1.lprun")
    text = loadpilot.call("compare", file, file)
    stored = loadpilot.call("compare", file, file, "--json")
    assert (text.code, stored.code) == (UNTRUSTED, UNTRUSTED)
    assert text.stdout.splitlines()[-1].startswith("not compared: ")
    comparison = json.loads(stored.stdout)
    assert "is in its own baseline" in comparison["obstacles"][-1]
    assert {row["change"] for row in comparison["figures"]} == {"unjudged"}


@pytest.mark.long
@pytest.mark.timed
def test_what_was_made_slower_is_named(loadpilot: Loadpilot) -> None:
    """Broken if another call, phase or time is named, or if text and JSON differ. 25 s."""
    made = scene(SEED, loadpilot)
    assert problem(made, loadpilot) == ""
    baseline = made.usual
    compared = loadpilot.call("compare", "last", baseline, "--json")
    comparison = json.loads(compared.stdout)
    figures = {row["figure"]: row for row in comparison["figures"] if row["task"] is None}
    one = next(one for one in comparison["explained"] if one["figure"] == "p99_ms")
    figure = figures["p99_ms"]
    assert (one["baseline_ms"], one["current_ms"]) == (figure["baseline"], figure["current"])
    total = sum(call["ms"] for call in one["calls"]) + one["mix_ms"]
    assert total == pytest.approx(figure["current"] - figure["baseline"])

    text = loadpilot.call("compare", "last", baseline, "--explain").stdout
    [sentence] = [line for line in text.splitlines() if line.startswith("p99 rose by")]
    assert "% of that by GET /home of task browse, most of it in phase first byte" in sentence
    assert "due from " in sentence
    assert "GET /home of task browse: first byte +" in text
    assert "p99 rose by" not in loadpilot.call("compare", "last", baseline).stdout

    equal = loadpilot.call("compare", "last", baseline, "--threshold", "1000000", "--explain")
    assert (equal.code, "nothing to explain" in equal.stdout) == (0, True)
    results = loadpilot.folder / "results-1.json"
    refused = loadpilot.call("compare", "last", str(results), "--explain")
    assert (refused.code, "from a results file" in refused.stderr) == (2, True), refused.stderr
