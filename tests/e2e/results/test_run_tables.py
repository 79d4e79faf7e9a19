"""`loadpilot.open`: the figures of any slice of a run agree with its sampled calls."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

import loadpilot

STORED = Path(__file__).with_name("stored_logs")
FILE = STORED / "run_file_v1.lprun"
"""240 calls of two tasks in six seconds, all sampled."""
SECS = 6
SLICES = 60


def nearest_rank(values: list[int], percent: float) -> int:
    ordered = sorted(values)
    rank = next(n for n in range(1, len(ordered) + 1) if n * 100 >= percent * len(ordered) - 1e-6)
    return ordered[rank - 1]


def is_close(figure: int, exact: int) -> bool:
    return abs(figure - exact) <= exact / 1000 + 1


def test_any_slice_is_its_calls() -> None:
    """Broken if a figure of a slice differs from that of its calls by more than the precision of a
    histogram. 2 s."""
    run = loadpilot.open(FILE)
    calls = run.samples().to_pylist()
    start_us = run.report["run"]["start_at"]
    assert start_us is not None
    dice = random.Random(20261125)  # noqa: S311  (not for secrets)
    for _ in range(SLICES):
        start, every = dice.randrange(SECS), dice.randrange(1, SECS)
        end = dice.randrange(start + 1, SECS + 1)
        by: Any = dice.choice([None, "task", "call", "agent", "outcome"])
        percent = dice.choice([25.0, 50.0, 90.0, 99.9])
        table = run.series(
            by=by, every=every, start=start, end=end, percentiles=[percent], histograms=True
        )
        seen = 0
        for row in table.to_pylist():
            begin_us = row["from_us"]
            end_us = min(begin_us + every * 10**6, end * 10**6)
            mine = [
                call
                for call in calls
                if begin_us <= call["due"].timestamp() * 1e6 - start_us + 0.5 < end_us
                and (by is None or call[by] == row[by])
            ]
            seen += len(mine)
            assert (row["finished"], row["ok"]) == (len(mine), len(mine))
            for latency in ("response", "service"):
                exact = [call[f"{latency}_us"] for call in mine]
                name = f"p{percent:g}".replace(".", "_")
                stored = [row[f"{latency}_histogram"]]
                if exact:
                    figure = row[f"{latency}_{name}_us"]
                    assert is_close(figure, nearest_rank(exact, percent))
                    assert is_close(row[f"{latency}_max_us"], max(exact))
                    assert loadpilot._native.percentile_of(stored, percent) == figure
        assert seen == (end - start) * 40


def test_a_run_is_the_one_of_the_command() -> None:
    """Broken if Python gets another report than the command prints."""
    run = loadpilot.open(FILE)
    stored = (STORED / "open_loop.report.json").read_text(encoding="utf-8")
    assert run.report == json.loads(stored)
    assert run.id == run.report["run"]["id"]
    assert "Shop: completed" in repr(run)


def test_a_comparison_that_proves_nothing_raises(tmp_path: Path) -> None:
    """Broken if `assert not run.compare(…)["regressed"]` passes a run that cannot be judged, or if
    Python refuses a file that the command takes."""
    run = loadpilot.open(FILE)
    parts = json.loads(run.parts())
    other, dead = tmp_path / "baseline.json", tmp_path / "dead.json"
    for file, changes in ((other, {}), (dead, {"has_reached": False})):
        runs = [{**parts, "run": "01other", **changes}]
        file.write_text(json.dumps({"schema": "loadpilot.baseline/1", "runs": runs}))
    comparison = run.compare(other)
    assert (comparison["regressed"], comparison["baseline"]) == (False, ["01other"])
    with pytest.raises(ValueError, match="not compared: no call of run 01other reached a server"):
        run.compare(str(dead))
    for same in (run, FILE, STORED / "open_loop.report.json"):
        with pytest.raises(ValueError, match=f"not compared: run {run.id} is in its own baseline"):
            run.compare(same)
    with pytest.raises(ValueError, match=r"gone\.json: No such file"):
        run.compare(tmp_path / "gone.json")


def test_mistakes_are_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Broken if a mistake returns a table instead of an error."""
    run = loadpilot.open(FILE)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken.lprun").write_bytes(FILE.read_bytes()[:-9])
    for wrong, words in (
        (lambda: run.series(by="tsk"), "by: must be one of task"),  # type: ignore[arg-type]
        (lambda: run.series(every="1.5s"), "whole number of ticks"),
        (lambda: run.series(tasks=["brwse"]), "must be a task of the scenario (browse, order)"),
        (lambda: run.series(start=5, end=2), "must be below to_us"),
        (lambda: run.series(percentiles=[101]), "must be above 0 and at most 100"),
        (lambda: run.samples(tasks=["brwse"]), "must be a task of the scenario"),
        (run.compare, "name at least one run"),
        (lambda: loadpilot.open("broken.lprun"), "broken.lprun"),
    ):
        with pytest.raises(ValueError, match=words.replace("(", r"\(").replace(")", r"\)")):
            wrong()
    with pytest.raises(LookupError, match="there is no run"):
        loadpilot.open("last")


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Broken if the error without pyarrow does not say what to install."""
    run = loadpilot.open(FILE)
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(ImportError, match="pip install pyarrow"):
        run.series()
