"""What is shown as the verdict of a run: derived from its report, which keeps its values.

Must never show a run as passed that proves nothing or was cut short.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .._generated.report import Report

VOID = "VOID: the gates hold, but an INVALID run proves nothing"
STOPPED = "STOPPED, passing so far"


def judged(report: Report) -> str:
    """Write the verdict: ``PASS``, ``FAIL``, or why a pass is none."""
    if not report.verdict.passed:
        return "FAIL"
    if report.certificate.grade.value == "INVALID":
        return VOID
    ending = report.run.ending
    return STOPPED if ending is not None and ending.value == "stopped" else "PASS"
