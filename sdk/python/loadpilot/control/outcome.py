"""Verdict and key figures of a run, derived from its report.

A run that proves nothing or was cut short must never look passed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from .._generated.report import Certificate, Ladder, Latency, Report, TaskReport

Verdict = Literal["PASS", "FAIL", "VOID", "STOPPED"]
Quality = Literal["VALID", "DEGRADED", "INVALID"]

FINAL_STATES = frozenset({"sealed", "refused"})
"""States that a run never leaves."""

VERDICT_TEXTS = {
    "VOID": "VOID: the gates hold, but an INVALID run proves nothing",
    "STOPPED": "STOPPED, passing so far",
}


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """Outcome of a run in a list of runs; all figures are of the measured time."""

    verdict: Verdict
    p99_us: int | None
    """Corrected; None where no call reached a server."""
    requests_per_sec: float | None
    """Requests that ended; None where no time was measured."""
    errors_total: int
    error_rate_pct: float | None
    quality: Quality
    """Grade of the certificate."""
    quality_reason: str | None
    """Evidence of the findings with that grade; None when it is VALID."""


def verdict(report: Report) -> Verdict:
    """Choose the verdict."""
    if not report["verdict"]["passed"]:
        return "FAIL"
    if report["certificate"]["grade"] == "INVALID":
        return "VOID"
    return "STOPPED" if report["run"].get("ending") == "stopped" else "PASS"


def verdict_text(report: Report) -> str:
    """Write the verdict: ``PASS``, ``FAIL``, or why a pass does not count."""
    word = verdict(report)
    return VERDICT_TEXTS.get(word, word)


def outcome(report: Report) -> RunOutcome:
    """Read the outcome of a run from its report."""
    response = measured(report["latency"])
    return RunOutcome(
        verdict=verdict(report),
        p99_us=None if response is None else response["p99_us"],
        requests_per_sec=requests_per_sec(report),
        errors_total=report["errors_total"],
        error_rate_pct=report.get("error_rate_pct"),
        quality=report["certificate"]["grade"],
        quality_reason=quality_reason(report["certificate"]),
    )


def measured(latency: Latency | TaskReport) -> Ladder | None:
    """Response times; None where no call reached a server, whose times are those of failures."""
    response = latency.get("response")
    if response is None or latency.get("unconnected", 0) >= response["count"]:
        return None
    return response


def quality_reason(certificate: Certificate) -> str | None:
    """Join the evidence of the findings that gave the certificate its grade."""
    worst = [one for one in certificate["findings"] if one["grade"] == certificate["grade"]]
    return "; ".join(one["evidence"] for one in worst) or None


def requests_per_sec(report: Report) -> float | None:
    """Finished requests per second of the measured time; None when no time was measured."""
    secs = report["rates"]["measured_us"] / 1_000_000
    return report["requests_total"] / secs if secs else None
