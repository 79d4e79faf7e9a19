"""Exit codes of the command line: one closed set, and one pure function that chooses.

A run that is not known to be complete, trusted and within its gates must never exit with 0.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .._generated.report import Report, RunFacts


class ExitCode(IntEnum):
    """The exit codes; when several hold, USAGE beats INFRASTRUCTURE beats an
    interruption beats INCOMPLETE beats GATE_FAILED.
    """  # noqa: D205

    PASSED = 0
    """Complete, trusted, and every gate passed."""
    GATE_FAILED = 1
    """Complete and trusted, and a gate failed."""
    USAGE = 2
    """The flags or the scenario were wrong; nothing was started."""
    INCOMPLETE = 3
    """The run did not end, nothing answered, or its certificate is INVALID; or a setup or the
    preparation of users failed, and the run was not requested."""
    INFRASTRUCTURE = 4
    """The machine, the local stack or the fleet failed."""
    INTERRUPTED = 130
    """Ctrl-C; summary and report were still written where there was a run."""
    TERMINATED = 143
    """SIGTERM; summary and report were still written where there was a run."""


INTERRUPTIONS = (ExitCode.INTERRUPTED, ExitCode.TERMINATED)


def exit_code(
    report: Report | None,
    interruption: ExitCode | None,
    *,
    strict: bool,
    fault: bool = False,
) -> ExitCode:
    """Choose the code of a run whose flags and scenario were valid.

    ``report`` is None when there is none; ``interruption`` is one of INTERRUPTIONS or None;
    ``fault`` says that the local stack, the log or a file of the results failed.
    """
    code = ending_code(report, interruption, fault=fault)
    if report is None or code is not ExitCode.PASSED:
        return code
    if not is_trusted(report, strict=strict):
        return ExitCode.INCOMPLETE
    return ExitCode.PASSED if report["verdict"]["passed"] is True else ExitCode.GATE_FAILED


def ending_code(  # noqa: PLR0911  (one line per rule, in the order of precedence)
    report: Report | None, interruption: ExitCode | None, *, fault: bool
) -> ExitCode:
    """Choose the code by how the run ended alone; PASSED for a run that ended well."""
    if fault or (report is None and interruption is None):
        return ExitCode.INFRASTRUCTURE
    if report is None:
        return interruption or ExitCode.INFRASTRUCTURE
    run = report["run"]
    if run["state"] == "refused":
        return ExitCode.USAGE if _is_users_fault(run) else ExitCode.INFRASTRUCTURE
    ending, failure = run.get("ending"), run.get("failure")
    if failure is not None and failure["cause"] == "scenario" and ending == "failed":
        return ExitCode.INCOMPLETE
    if ending in {"failed", "log_full"}:
        return ExitCode.INFRASTRUCTURE
    if interruption is not None:
        return interruption
    if is_unanswered(report):
        return ExitCode.INCOMPLETE
    if run["state"] != "sealed" or ending not in {"completed", "stopped"}:
        return ExitCode.INCOMPLETE
    return ExitCode.PASSED


def is_unanswered(report: Report) -> bool:
    """Whether no call reached a server; a run of less than 5 s is not ended early for it."""
    outcomes = {name for name, count in report["calls"]["outcomes"].items() if count}
    return report["run"].get("unanswered") is not None or outcomes == {"connect"}


def is_trusted(report: Report, *, strict: bool) -> bool:
    """Whether the certificate allows an exit code of 0 or 1."""
    grade = report["certificate"]["grade"]
    return grade == "VALID" or (grade != "INVALID" and not strict)


def _is_users_fault(run: RunFacts) -> bool:
    """Whether a refusal names the request; too few agents are a fault of the machine."""
    fields = [problem["field"] for problem in run["refused"]]
    return bool(fields) and not any(field.startswith("agents") for field in fields)
