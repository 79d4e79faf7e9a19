"""The rules of the night: no step is left out after a failure, and no skipped step passes."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from tests.nightly import nightly
from tests.nightly.nightly import Stage, Step, main, stages

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

SEED = 20261126


def step(name: str, code: str) -> Step:
    return Step(name, (sys.executable, "-c", code), {"OWN": name})


def night(monkeypatch: pytest.MonkeyPatch, folder: Path, planned: Sequence[Stage]) -> int:
    monkeypatch.setattr(nightly, "FOLDER", folder)
    monkeypatch.setattr(nightly, "stages", lambda seed: planned if seed == SEED else [])
    return main([f"{SEED}"])


def test_every_step_runs_and_the_summary_has_its_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Broken if a failure ends the night or is not in the summary, or if a step lacks its
    environment."""
    folder = tmp_path / "night"
    planned = [
        Stage(
            [step("first", "print('FAILED tests/a.py::b - no'); raise SystemExit(1)")],
            computing=[
                step("beside", "import os; print(os.environ['OWN'], os.sched_getscheduler(0))")
            ],
        ),
        Stage([step("second", "print('3 passed')")]),
    ]
    assert night(monkeypatch, folder, planned) == 1
    lines = (folder / "summary.txt").read_text().splitlines()
    assert lines[0] == f"seed {SEED}, repeated by: ./dev nightly {SEED}"
    results = {line.split()[1]: line.split()[0] for line in lines[1:] if line[0] != " "}
    assert results == {"first": "FAILED", "beside": "passed", "second": "passed"}
    assert "    FAILED tests/a.py::b - no" in lines
    assert "    FAILED tests/a.py::b - no" in capsys.readouterr().out.splitlines()
    assert (folder / "beside.txt").read_text().startswith("beside ")


@pytest.mark.parametrize(
    ("code", "result"),
    [
        ("print('SKIPPED [4] x.py:1: needs y'); print('== 4 skipped in 1 s ==')", "skipped"),
        ("print('SKIPPED [4] x.py:1: needs y'); print('== 2 passed, 4 skipped ==')", "passed"),
        ("print('SKIPPED z: needs y'); raise SystemExit(77)", "skipped"),
    ],
)
def test_a_skipped_step_is_named_with_its_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, result: str
) -> None:
    """Broken if a skipped step is reported as passed, or without its reason."""
    assert night(monkeypatch, tmp_path / "night", [Stage([step("one", code)])]) == 0
    _, line, reason = (tmp_path / "night/summary.txt").read_text().splitlines()
    assert line.split()[:2] == [result, "one"]
    assert reason.startswith("    SKIPPED")
    assert reason.endswith("needs y")


def test_the_seed_reaches_every_random_step() -> None:
    """Broken if a night cannot be repeated by its seed."""
    planned = [s for stage in stages(SEED) for s in (*stage.steps, *stage.computing)]
    seeded = {s.name for s in planned if f"{SEED}" in s.environ.values()}
    assert seeded == {
        "fault cases",
        "timed fault cases",
        "simulation",
        "soundness",
        "property tests",
    }
    assert len({s.output for s in planned}) == len(planned)
