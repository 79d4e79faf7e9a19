"""Exit codes: a table of reports; only a certain pass gives 0."""

from __future__ import annotations

from typing import Any

import pytest
from sdk.tests.support.reports import parsed

from loadpilot.control.exit_code import ExitCode, exit_code

INTERRUPTED, TERMINATED = ExitCode.INTERRUPTED, ExitCode.TERMINATED
AGENTS = {"field": "agents", "rule": "must come in time", "value": "1 of 2"}
PLAN = {"field": "plan", "rule": "must be sound", "value": "x"}
FAIL = {"verdict__passed": False}
INVALID = {"certificate__grade": "INVALID"}
UNANSWERED = {"run__unanswered": {"calls": 250, "causes": {"refused": 250}}}
REFUSED = {"calls__outcomes": {"connect": 10, "ok": 0}}
DEGRADED = {"certificate__grade": "DEGRADED"}


def ended(how: str) -> dict[str, Any]:
    return {"run__ending": how}


def unsealed(state: str) -> dict[str, Any]:
    return {"run__state": state, "run__ending": None}


def refused(problem: dict[str, str]) -> dict[str, Any]:
    return unsealed("refused") | {"run__refused": [problem], "verdict__passed": False}


TABLE: list[tuple[dict[str, Any], ExitCode | None, bool, int]] = [
    # changes to a good report, interruption, strict, code
    ({}, None, False, 0),
    ({}, None, True, 0),
    (FAIL, None, False, 1),
    (DEGRADED, None, False, 0),
    (DEGRADED, None, True, 3),
    (DEGRADED | FAIL, None, False, 1),
    (DEGRADED | FAIL, None, True, 3),
    (INVALID, None, False, 3),
    (INVALID | FAIL, None, False, 3),
    (ended("stopped"), None, False, 0),
    (ended("stopped") | FAIL, None, False, 1),
    (ended("stopped") | FAIL | UNANSWERED, None, False, 3),
    (ended("stopped") | FAIL | UNANSWERED, INTERRUPTED, False, 130),
    (FAIL | REFUSED, None, False, 3),
    (FAIL | REFUSED, INTERRUPTED, False, 130),
    (FAIL | {"calls__outcomes": {"connect": 9, "ok": 1}}, None, False, 1),
    (ended("abandoned"), None, False, 3),
    (ended("aborted"), None, False, 3),
    (ended("failed"), None, False, 4),
    (ended("log_full"), None, False, 4),
    (unsealed("requested"), None, False, 3),
    (unsealed("gathering"), None, False, 3),
    (unsealed("preparing"), None, False, 3),
    (unsealed("running"), None, False, 3),
    (unsealed("stopping"), None, False, 3),
    (refused(AGENTS), None, False, 4),
    (refused(PLAN), None, False, 2),
    ({}, INTERRUPTED, False, 130),
    ({}, TERMINATED, False, 143),
    (FAIL, INTERRUPTED, False, 130),
    (INVALID, INTERRUPTED, False, 130),
    (ended("stopped"), TERMINATED, True, 143),
    (unsealed("running"), INTERRUPTED, False, 130),
    (ended("failed"), INTERRUPTED, False, 4),
    (refused(PLAN), INTERRUPTED, False, 2),
]


@pytest.mark.parametrize(("changes", "interruption", "strict", "code"), TABLE)
def test_a_run_ends_with_the_code_of_the_table(
    changes: dict[str, Any],
    interruption: ExitCode | None,
    strict: bool,  # noqa: FBT001  (pytest names it)
    code: int,
) -> None:
    """Broken if CI takes a failed or doubtful run for a good one, or the reverse."""
    assert exit_code(parsed(**changes), interruption, strict=strict) == code


def test_without_a_report_nothing_passes() -> None:
    """Broken if a run without a report passes."""
    assert exit_code(None, None, strict=False) == 4
    assert exit_code(None, INTERRUPTED, strict=False) == 130
    assert exit_code(None, INTERRUPTED, strict=False, fault=True) == 4


def test_a_fault_beats_everything_that_the_run_says() -> None:
    """Broken if a dead stack is hidden by a report that was good so far."""
    for changes, interruption, strict, code in TABLE:
        if code == 2:
            continue
        assert exit_code(parsed(**changes), interruption, strict=strict, fault=True) == 4


def test_only_a_sealed_passed_trusted_run_gives_zero() -> None:
    """Broken if an unknown state or ending gives 0."""
    for changes, interruption, strict, code in TABLE:
        report = parsed(**changes)
        good = (
            report["run"]["state"] == "sealed"
            and report["verdict"]["passed"]
            and report["certificate"]["grade"] != "INVALID"
            and interruption is None
        )
        assert good or code != 0
        assert exit_code(report, interruption, strict=strict) != 0 or good
