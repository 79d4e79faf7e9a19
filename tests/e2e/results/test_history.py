"""Past runs are read from the log alone, with the same text to the byte, until they are pruned."""

from __future__ import annotations

import shutil
from contextlib import ExitStack
from threading import Thread
from typing import TYPE_CHECKING

import pytest
from tests.e2e.support.command import SCENARIOS, Finished, Loadpilot

from loadpilot.local.log_readers import reading

if TYPE_CHECKING:
    from pathlib import Path

    from tests.oracle.oracle import Oracle

VARIED = SCENARIOS / "varied.py"
FLAGS = ("--duration", "1s", "--threshold", "p99_ms=5000", "--threshold", "error_rate=0")


@pytest.mark.slow
def test_a_report_is_printed_again_to_the_byte(
    tmp_path: Path, loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if a summary uses anything except for the log: it could not be printed again later."""
    oracle.status(404, fraction=0.1)
    finished = loadpilot.run(VARIED, oracle.url, *FLAGS, "--agents", "2")
    assert finished.judged == 1, finished.stderr
    assert_prints(loadpilot, finished, finished.run)
    assert_prints(loadpilot, finished, finished.run[:12].upper())
    assert_prints(loadpilot, finished, "last")
    json = loadpilot.call("report", finished.run, "--json")
    assert json.stdout == finished.results.read_text(encoding="utf-8")

    elsewhere = Loadpilot(tmp_path / "elsewhere")
    (log,) = loadpilot.log.iterdir()
    shutil.copytree(log / "store", elsewhere.log / log.name / "store")
    shutil.rmtree(loadpilot.folder)
    assert_prints(elsewhere, finished, finished.run)


def assert_prints(loadpilot: Loadpilot, finished: Finished, name: str) -> None:
    """Asserts that `report` prints the same text as the run."""
    again = loadpilot.call("report", name)
    assert again.code == 0, again.stderr
    assert again.stdout == finished.stdout


@pytest.mark.slow
def test_runs_are_listed_until_they_are_pruned(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if a pruned run stays in the log, or if pruning changes other runs."""
    first, second = (loadpilot.run(VARIED, oracle.url, *FLAGS) for _ in range(2))
    assert listed(loadpilot) == [first.run, second.run]
    pruned = loadpilot.call("runs", "prune", first.run)
    assert (pruned.code, pruned.stderr) == (0, "deleted 1 run\n")
    assert listed(loadpilot) == [second.run]
    unknown = loadpilot.call("report", first.run)
    assert unknown.code == 2
    assert "there is no run" in unknown.stderr
    assert_prints(loadpilot, second, second.run)
    assert loadpilot.call("runs", "prune", "--all").stderr == "deleted 1 run\n"
    assert listed(loadpilot) == []
    left = [path for path in loadpilot.log.rglob("*") if path.is_file() and holds(path, second.run)]
    assert left == [], "a pruned run is left on disk"


def listed(loadpilot: Loadpilot) -> list[str]:
    """The ids that `loadpilot runs` shows."""
    shown = loadpilot.call("runs")
    assert shown.code == 0, shown.stderr
    return [line.split()[0] for line in shown.stdout.splitlines()[1:]]


def holds(path: Path, run: str) -> bool:
    """Whether a file of a log names a run; output files of the processes are not searched."""
    return path.suffix != ".log" and run.encode() in path.read_bytes()


def test_a_command_that_reads_keeps_the_server_of_another(
    loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if the command that ends first takes the server from the other one. 6 s."""
    ran = loadpilot.run(SCENARIOS / "weighted.py", oracle.url, "--rps", "20", "--duration", "1s")
    (log,) = loadpilot.log.glob("log-*")
    with ExitStack() as owner, ExitStack() as guest:
        owner.enter_context(reading(log, lambda: False))
        session = guest.enter_context(reading(log, lambda: False))
        ends = Thread(target=owner.close)
        ends.start()
        # Time in which an owner that does not wait would end its server.
        ends.join(1.0)
        assert ran.run in session.runs()
        guest.close()
        ends.join(20.0)
        assert not ends.is_alive(), "the owner waits for readers that have ended"
