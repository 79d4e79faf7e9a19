"""Notes are stored in the log of a run, and do not change its report."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.e2e.support.command import SCENARIOS, Loadpilot

if TYPE_CHECKING:
    from pathlib import Path

    from tests.oracle.oracle import Oracle

VARIED = SCENARIOS / "varied.py"
SHORT = ("--duration", "1s")
FIRST, SECOND = "before the upgrade", "after it\n\x1b[2Jtwo lines"


@pytest.mark.slow
def test_notes_change_no_report(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if a note is lost, changes a report or its digest, or counts as damage. 5 s."""
    run = loadpilot.run(VARIED, oracle.url, *SHORT).run
    before = loadpilot.call("report", run, "--json").stdout
    assert loadpilot.call("note", run).stderr == f"run {run} has no notes\n"
    assert loadpilot.call("note", run, FIRST, "--baseline").code == 0
    assert loadpilot.call("note", "last", SECOND).code == 0

    lines = loadpilot.call("note", run).stdout.splitlines()
    said = [line.partition("UTC  ")[2] or line for line in lines]
    assert [line.partition(": ")[2] for line in said[:3]] == ["baseline", FIRST, "after it"]
    assert said[3].startswith("  ")
    assert said[3].endswith("two lines")
    assert "\x1b" not in said[3], "a note contains control characters for a terminal"
    assert loadpilot.call("report", run, "--json").stdout == before
    assert "17 of 17 invariants hold" in loadpilot.call("verify", run).stdout
    row = loadpilot.call("runs").stdout.splitlines()[2]
    assert row == "  baseline · 2 notes"

    assert loadpilot.call("note", run, "--no-baseline").code == 0
    assert loadpilot.call("runs").stdout.splitlines()[2] == "  2 notes"


@pytest.mark.slow
def test_compare_takes_the_run_that_is_marked(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if the baseline is not the newest marked run. 6 s."""
    runs = [loadpilot.run(VARIED, oracle.url, *SHORT).run for _ in range(3)]
    unmarked = loadpilot.call("compare", runs[2])
    assert unmarked.code == 2
    assert "`loadpilot note RUN --baseline`" in unmarked.stderr
    for run in (runs[0], runs[1], runs[2]):
        assert loadpilot.call("note", run, "--baseline").code == 0
    compared = loadpilot.call("compare", runs[2], "--threshold", "1000")
    assert compared.stdout == loadpilot.call("compare", *runs[:0:-1], "--threshold", "1000").stdout


@pytest.mark.slow
def test_a_file_has_the_notes_and_takes_no_more(
    loadpilot: Loadpilot, oracle: Oracle, tmp_path: Path
) -> None:
    """Broken if an exported run loses its notes, or if a redacted one contains them. 5 s."""
    run = loadpilot.run(VARIED, oracle.url, *SHORT).run
    loadpilot.call("note", run, FIRST, "--baseline")
    whole, redacted = tmp_path / "whole.lprun", tmp_path / "redacted.lprun"
    assert loadpilot.call("export", run, str(whole)).code == 0
    assert loadpilot.call("export", run, str(redacted), "--redact").code == 0
    assert loadpilot.call("note", str(whole)).stdout == loadpilot.call("note", run).stdout
    printed = loadpilot.call("note", str(redacted)).stdout
    assert printed.count("\n") == 1
    assert printed.endswith(": baseline\n")
    refused = loadpilot.call("note", str(whole), SECOND)
    assert refused.code == 2
    assert "the file of a run is not changed" in refused.stderr


def test_a_run_gets_notes_when_it_is_over(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if a note is stored before the seal, where older versions count it as damage. 4 s."""
    with loadpilot.start(VARIED, oracle.url, "--duration", "60s"):
        assert oracle.wait_count(10, 30)
        early = loadpilot.call("note", "last", FIRST)
    assert early.code == 2
    assert "must be over before it gets notes" in early.stderr


@pytest.mark.slow
def test_a_wrong_note_is_refused(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if a note is cut, or if a contradictory command is executed in part. 4 s."""
    run = loadpilot.run(VARIED, oracle.url, *SHORT).run
    for flags, says in (
        (["x" * 2001], "must have 1 to 2000 characters"),
        ([" "], "must have 1 to 2000 characters"),
        (["--baseline", "--no-baseline"], "--baseline: cannot be used with --no-baseline"),
    ):
        refused = loadpilot.call("note", run, *flags)
        assert (refused.code, says in refused.stderr) == (2, True), refused.stderr
    assert loadpilot.call("note", run).stderr == f"run {run} has no notes\n"
