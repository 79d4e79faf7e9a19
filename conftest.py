"""Settings of all tests: asserts of helpers, Ctrl-C, order of parallel tests, skipped tests."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings
from xdist.scheduler import LoadScopeScheduling

if TYPE_CHECKING:
    from xdist.remote import Producer

pytest.register_assert_rewrite("tests.e2e.support", "tests.faults.support")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell that starts the tests in the background lets them ignore Ctrl-C, and their children,
    # too, which tests end by it.
    signal.signal(signal.SIGINT, signal.default_int_handler)

# No test asserts a speed: by default an example that takes 200 ms on a busy machine fails.
settings.register_profile("without deadline", parent=settings.default, deadline=None)
settings.load_profile("without deadline")

SKIPPED_FILE = "SKIPPED_TESTS"
"""Environment variable: the file to which the reason of each skipped test is appended."""

SHARED_FIXTURES = (
    "sdk/tests/soundness/test_bugs.py",
    "services/gateway/tests/test_naive_fold.py",
    "tests/browser/",
    "tests/deploy/test_compose.py",  # builds docker compose
    "tests/deploy/roles/test_roles.py",
    "tests/deploy/test_wheels.py",
    "tests/e2e/documents/test_commands.py",
    "tests/e2e/load/test_counts.py",
    "tests/e2e/load/test_determinism.py",
    "tests/e2e/results/test_dump.py",
    "tests/e2e/results/test_raw_log.py",
    "tests/e2e/results/test_sql.py",
    "tests/e2e/scenario/test_legacy_commands.py",
    "tests/faults/log/test_version_skew.py",  # builds programs of older commits
    "tests/nightly/test_readers.py",
)
"""Files whose tests share something expensive to make: one process runs each file."""


class FixtureScheduling(LoadScopeScheduling):
    """Gives each worker of pytest-xdist single tests, or a file whose tests share a fixture."""

    def _split_scope(self, nodeid: str) -> str:
        """Return what one worker runs as a whole."""
        file = nodeid.partition("::")[0]
        return file if file.startswith(SHARED_FIXTURES) else nodeid


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> FixtureScheduling:
    """Return the scheduler of `pytest -n`."""
    return FixtureScheduling(config, log)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Append the reasons of skipped tests to the file that ./dev test prints at its end."""
    file = os.environ.get(SKIPPED_FILE)
    # A worker has the reports of its own tests, and the main process those of all workers.
    if file is None or hasattr(terminalreporter.config, "workerinput"):
        return
    with Path(file).open("a", encoding="utf-8") as lines:
        for report in terminalreporter.getreports("skipped"):
            _, _, reason = report.longrepr
            lines.write(f"{reason.removeprefix('Skipped: ')}\n")
