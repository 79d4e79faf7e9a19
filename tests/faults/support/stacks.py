"""Stacks that a command starts for itself, compared with their log after they have ended."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.e2e.support.command import Loadpilot
from tests.faults.support.checker import Evidence, Message, check
from tests.faults.support.stored_log import of_run, of_store

if TYPE_CHECKING:
    from tests.e2e.support.command import Finished
    from tests.oracle.oracle import Oracle


def two_coordinators(folder: Path) -> Loadpilot:
    """A command whose stack has two coordinators."""
    entry = [sys.executable, str(Path(__file__).with_name("two_coordinators.py"))]
    return Loadpilot(folder / "work", entry)


def messages_of(work: Path, run: str) -> list[Message]:
    """The messages of a run in the log of a command's folder, after its stack has ended."""
    (log,) = [log for log in sorted((work / ".loadpilot").iterdir()) if log.is_dir()]
    with tempfile.TemporaryDirectory() as folder:
        return of_run(of_store(log, Path(folder) / "copy"), run)


def assert_stack_adds_up(
    work: Path, finished: Finished, oracle: Oracle, planned: int, **how: Any
) -> dict[str, Any]:
    """Compares the report of a run with target and log; returns the report."""
    assert oracle.broken() == [], "the target received a broken request"
    run = finished.run
    evidence = Evidence(run, oracle.requests(), messages_of(work, run), finished.report)
    found = check(evidence, planned=planned, **how)
    assert found == [], "\n".join(found)
    return finished.report
