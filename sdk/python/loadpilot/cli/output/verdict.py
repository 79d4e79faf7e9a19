"""The judgement of a run as lines: verdict, certificate, ending and gates.

Pure functions from the report to text; text of users and targets is escaped. A judgement is the
same for one of many runs, on one line.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...control.exit_code import ExitCode, exit_code, is_unanswered
from ...control.figures import against, number, plural, seconds
from ...control.outcome import quality_reason, verdict, verdict_text
from ...control.terminal import inert, safe

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Self

    from ..._generated.report import Report, ThresholdResult

LABEL_WIDTH = 13
"""Width of the label of a line, in columns."""
KEY_WIDTH = 22
"""Width of the key of a gate, in columns."""
NOT_JUDGED = "not judged"
UNANSWERED = "no server answered"


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
    used_up = run.get("rows_used_up")
    if used_up is not None:
        at, planned = seconds(used_up["at_us"]), seconds(used_up["profile_us"])
        yield "stopped", f"feed {safe(used_up['feed'])} has no row left at {at} of {planned}"
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


@dataclass(frozen=True, slots=True)
class Judgement:
    """The judgement of one run."""

    run: str
    scenario: str
    reason: str
    """Why it passed, failed or cannot be judged."""
    code: ExitCode = ExitCode.INCOMPLETE
    verdict: str = NOT_JUDGED
    answer: dict[str, Any] | None = None
    """The engine's answer; None for a run that did not end."""

    @classmethod
    def of(cls, facts: dict[str, Any], report: Report, answer: dict[str, Any]) -> Self:
        """Judge a run by an answer to a what-if in place of the verdict of its report."""
        judged: Any = report | {key: answer[key] for key in ("verdict", "certificate")}
        code = exit_code(judged, None, strict=False)
        is_judged = code in {ExitCode.PASSED, ExitCode.GATE_FAILED}
        return cls(
            facts["run"],
            facts["scenario"],
            "; ".join(_reasons(judged, is_judged=is_judged)),
            code if is_judged else ExitCode.INCOMPLETE,
            verdict(judged) if is_judged else NOT_JUDGED,
            answer,
        )

    def as_json(self) -> dict[str, Any]:
        """Write its fields for programs."""
        fields = ("run", "scenario", "verdict", "reason", "answer")
        return {field: getattr(self, field) for field in fields}


def verdict_line(one: Judgement) -> str:
    """Write a judgement as a line."""
    return f"{safe(one.run)}  {safe(one.scenario)}  {one.verdict}: {safe(one.reason)}"


def _reasons(judged: Report, *, is_judged: bool) -> Iterator[str]:
    gates = judged["verdict"]["thresholds"]
    failed = [gate for gate in gates if not gate["passed"]]
    if not is_judged:
        certificate = judged["certificate"]
        if certificate["grade"] == "INVALID":
            yield f"certificate INVALID: {quality_reason(certificate)}"
        yield from (f"{label} {text}" for label, text in ending_lines(judged))
        if is_unanswered(judged):
            yield UNANSWERED
    for gate in failed:
        actual, limit = gate_figures(gate)
        yield f"{gate['key']} {actual}, must be {limit}"
    yield from judged["verdict"]["reasons"]
    if is_judged and judged["verdict"]["passed"]:
        yield f"{plural(len(gates), 'threshold')} held" if gates else "no thresholds"
