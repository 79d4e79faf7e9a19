"""Stored logs of earlier versions fold to the report of that version, to the byte."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.e2e.support.command import Loadpilot
from tests.e2e.support.files import unpack

STORED = Path(__file__).with_name("stored_logs")
LOGS = sorted(path.name.removesuffix(".tar.gz") for path in STORED.glob("*.tar.gz"))


@pytest.mark.parametrize("log", LOGS)
def test_a_stored_log_folds_to_its_stored_report(tmp_path: Path, log: str) -> None:
    """Broken if a change of the engine or of a stored form changes the report of a past run."""
    loadpilot = Loadpilot(tmp_path)
    unpack(STORED / f"{log}.tar.gz", loadpilot.log / "log-1")
    printed = loadpilot.call("report", "last", "--json")
    assert printed.code == 0, printed.stderr
    assert printed.stdout == (STORED / f"{log}.report.json").read_text(encoding="utf-8")


def test_a_run_file_of_each_version_is_read(tmp_path: Path) -> None:
    """Broken if a later version cannot read a file that was shared or archived. 1 s."""
    printed = Loadpilot(tmp_path).call("report", str(STORED / "run_file_v1.lprun"), "--json")
    assert printed.code == 0, printed.stderr
    assert printed.stdout == (STORED / "open_loop.report.json").read_text(encoding="utf-8")


def test_there_are_stored_logs() -> None:
    """Broken if the logs are moved: the tests above would pass without them."""
    assert LOGS == ["killed_agent", "open_loop", "python"]
