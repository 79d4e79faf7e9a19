"""How a run ended, as test cases for other programs: the run itself, its certificate, its gates.

A run exits with 0 exactly when none of its cases is a failure or an error.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Self

from ...control.exit_code import ExitCode, ending_code, exit_code, is_trusted, is_unanswered
from ...control.terminal import safe, safe_lines
from .verdict import ending_lines, findings, gate_figures

if TYPE_CHECKING:
    from ..._generated.report import Report, ThresholdResult

ENDED = "Run"
CERTIFICATE = "Measurement quality"
EXPECTED = "Load and answers"
FILES = "Result files"
INTERRUPTED_BY = {
    ExitCode.INTERRUPTED: "interrupted by Ctrl-C",
    ExitCode.TERMINATED: "interrupted by SIGTERM",
}


class Kind(StrEnum):
    """Result of a case."""

    PASSED = "passed"
    DOUBTFUL = "doubtful"
    """Passed, with a warning."""
    FAILURE = "failure"
    """The target missed a gate."""
    ERROR = "error"
    """The run or its measurement failed: it says nothing about the target."""


@dataclass(frozen=True, slots=True)
class Case:
    """One reason to pass or to fail."""

    name: str
    kind: Kind
    text: str
    """The findings, as lines; text of users and targets is escaped."""


@dataclass(frozen=True, slots=True)
class RunEnd:
    """The end of a run."""

    scenario: str
    report: Report | None
    """None where the run was not requested, or its log cannot be read."""
    code: ExitCode
    whole: tuple[Case, ...]
    """Cases of the run as a whole."""
    gates: tuple[Case, ...] = ()

    @classmethod
    def of(cls, report: Report, interruption: ExitCode | None, *, strict: bool) -> Self:
        """Read the end of a run from its report."""
        code = exit_code(report, interruption, strict=strict)
        whole = (
            _ended(report, interruption),
            _certificate(report, strict=strict),
            _expected(report),
        )
        gates = tuple(map(_gate, report["verdict"]["thresholds"]))
        return cls(report["scenario"], report, code, whole, gates)

    @property
    def cases(self) -> tuple[Case, ...]:
        """All cases; their names differ."""
        return self.whole + self.gates

    @classmethod
    def without_report(cls, scenario: str, code: ExitCode, why: str) -> Self:
        """Describe a run without a report; ``code`` is not PASSED."""
        return cls(scenario, None, code, (Case(ENDED, Kind.ERROR, safe_lines(why)),))

    def lacking(self, flag: str) -> Self:
        """Add that the file of a flag could not be written: a fault of the machine."""
        missing = Case(FILES, Kind.ERROR, f"the file of {flag} could not be written")
        return replace(self, code=ExitCode.INFRASTRUCTURE, whole=(*self.whole, missing))


def _ended(report: Report, interruption: ExitCode | None) -> Case:
    code = ending_code(report, interruption, fault=False)
    lines = [f"{label} {text}".strip() for label, text in ending_lines(report)]
    if is_unanswered(report):
        lines.insert(0, "no server answered")
    if interruption is not None:
        lines.insert(0, INTERRUPTED_BY[interruption])
    kind = Kind.PASSED if code is ExitCode.PASSED else Kind.ERROR
    return Case(ENDED, kind, "\n".join(lines) or "completed")


def _certificate(report: Report, *, strict: bool) -> Case:
    grade = report["certificate"]["grade"]
    kind = Kind.PASSED if grade == "VALID" else Kind.DOUBTFUL
    if not is_trusted(report, strict=strict):
        kind = Kind.ERROR
    return Case(CERTIFICATE, kind, "\n".join([f"the certificate is {grade}", *findings(report)]))


def _expected(report: Report) -> Case:
    """Judge the conditions of every run, with gates or without."""
    verdict = report["verdict"]
    lines = [safe(reason) for reason in verdict["reasons"]]
    if not verdict["passed"] and not lines and all(one["passed"] for one in verdict["thresholds"]):
        lines.append("the verdict is FAIL")
    if lines:
        return Case(EXPECTED, Kind.FAILURE, "\n".join(lines))
    return Case(EXPECTED, Kind.PASSED, "passed")


def _gate(result: ThresholdResult) -> Case:
    actual, limit = gate_figures(result)
    lines = [f"{safe(result['key'])}: {actual}, must be {limit}"]
    reason = result.get("reason")
    if reason is not None:
        lines.append(safe(reason))
    kind = Kind.PASSED if result["passed"] else Kind.FAILURE
    return Case(safe(result["key"]), kind, "\n".join(lines))
