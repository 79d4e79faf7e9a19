"""Files that hold runs for a comparison, read by `loadpilot compare`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from loadpilot.cli import main
from loadpilot.local.baseline import NoBaseline, runs_of_file

if TYPE_CHECKING:
    from collections.abc import Callable

STORED = Path(__file__).parents[3] / "tests/e2e/results/stored_logs"
REPORT = STORED / "open_loop.report.json"
"""The results file of a run of two tasks."""


def test_a_file_without_runs_is_named_with_its_rule(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Broken if an error does not say which of two files is wrong, or what it must be."""
    binary, other = tmp_path / "bin.json", tmp_path / "other.json"
    binary.write_bytes(b"\xff\xfe")
    other.write_text("{}", encoding="utf-8")
    for path, must in ((binary, "must be JSON in UTF-8"), (other, "must be a results file")):
        with pytest.raises(NoBaseline):
            runs_of_file(path)
        assert main(["compare", str(REPORT), str(path)]) == 2
        assert f"{path.name}: {must}" in capsys.readouterr().err.replace("\n", " ")


def compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: Callable[[dict[str, Any]], None]
) -> tuple[int, str]:
    """Compare a changed copy of a results file with the file: exit code and output."""
    report = json.loads(REPORT.read_text(encoding="utf-8"))
    change(report)
    file = tmp_path / "new.json"
    file.write_text(json.dumps(report), encoding="utf-8")
    code = main(["compare", str(file), str(REPORT)])
    return code, capsys.readouterr().out


def test_a_slower_task_of_a_results_file_is_a_regression(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Broken if a results file loses its tasks, or if the last line claims that chance was
    excluded where only the threshold judges."""
    code, text = compared(tmp_path, capsys, lambda _: None)
    assert (code, text.splitlines()[-1]) == (0, "no regression beyond 10 %")

    def slower(report: dict[str, Any]) -> None:
        ladder = report["tasks"][1]["response"]
        for name in ladder.keys() - {"count", "min_us", "mean_us"}:
            ladder[name] *= 120

    code, text = compared(tmp_path, capsys, slower)
    assert (code, " p50 of order" in text.splitlines()[-1]) == (1, True), text
    assert "and chance" not in text.splitlines()[-1]

    def renamed(report: dict[str, Any]) -> None:
        report["tasks"][1]["name"] = "pay"

    code, text = compared(tmp_path, capsys, renamed)
    assert code == 0
    assert "task order is not in the current run, and is not compared" in text
    assert "task pay is not in every baseline, and is not compared" in text
