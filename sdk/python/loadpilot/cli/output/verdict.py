"""What decides about a run, as lines: verdict, certificate, ending and gates.

Pure functions from the report to text; text of users and targets is escaped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...control.figures import against, number, seconds
from ...control.outcome import verdict_text
from ...control.terminal import inert, safe

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..._generated.report import Report, ThresholdResult

LABEL_WIDTH = 13
"""Width of the label of a line, in columns."""
KEY_WIDTH = 22
"""Width of the key of a gate, in columns."""


def head(report: Report) -> str:
    """Write only the verdict and the certificate, each with its reasons."""
    return inert("\n".join(head_lines(report))) + "\n"


def head_lines(report: Report) -> Iterator[str]:
    """Write the verdict and the certificate."""
    verdict = report["verdict"]
    yield labelled("verdict", verdict_text(report))
    yield from (labelled("", safe(reason)) for reason in verdict["reasons"])
    failed = [result["key"] for result in verdict["thresholds"] if not result["passed"]]
    if failed:
        yield labelled("", f"failed: {safe(', '.join(failed))}")
    yield labelled("certificate", report["certificate"]["grade"])
    yield from (labelled("", finding) for finding in findings(report))
    yield from (labelled(label, text) for label, text in ending_lines(report))


def findings(report: Report) -> Iterator[str]:
    """Write what lowers the grade of the certificate, a line each."""
    for finding in report["certificate"]["findings"]:
        kind = finding["kind"].replace("_", " ")
        yield f"{finding['grade']} {kind}: {safe(finding['evidence'])}"


def ending_lines(report: Report) -> Iterator[tuple[str, str]]:
    """Write how a run ended that was not completed: labels, and text beside them."""
    run = report["run"]
    ending, stopped_at_us = run.get("ending"), run.get("stopped_at_us")
    if run["state"] not in {"sealed", "refused"}:
        yield "INCOMPLETE", f"the run is not sealed; its state is {run['state']}"
    elif ending is not None and ending != "completed":
        after = f" after {seconds(stopped_at_us)}" if stopped_at_us is not None else ""
        yield "ended", f"{ending.replace('_', ' ')}{after}"
    failure = run.get("failure")
    if failure is not None:
        first, *more = failure["reason"].split("\n")
        yield "failed", safe(first)
        yield from (("", safe(line)) for line in more)
    for wrong in run["refused"]:
        yield "refused", safe(f"{wrong['field']}: {wrong['rule']} (got {wrong['value']!r})")


def gate_lines(report: Report) -> Iterator[str]:
    """Write a row per gate: mark, name, actual, operator, limit."""
    results = report["verdict"]["thresholds"]
    if not results:
        yield labelled("thresholds", "none were set")
        return
    yield "thresholds"
    for result in results:
        mark = "✓" if result["passed"] else "✗"
        actual, limit = gate_figures(result)
        yield f"  {mark} {safe(result['key']):<{KEY_WIDTH}}{actual:>12} {limit}"
        reason = result.get("reason")
        if reason is not None:
            yield f"      {safe(reason)}"
    failed = sum(not result["passed"] for result in results)
    yield f"  {failed} of {len(results)} failed" if failed else "  all passed"


def gate_figures(result: ThresholdResult) -> tuple[str, str]:
    """Write the measured figure of a gate, and its operator with the limit."""
    value, limit = result.get("actual"), result["limit"]
    actual, limit_text = ("not measured", number(limit)) if value is None else against(value, limit)
    return actual, f"{result['operator']} {limit_text}"


def labelled(label: str, text: str) -> str:
    """Write a line with its label."""
    return f"{label:<{LABEL_WIDTH}}{text}".rstrip()
