"""A run as Markdown for a pull request or a job: verdict first, then gates, latency, errors, tasks.

Text of users and targets is in code, where a renderer knows no markup, no links and no mentions.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ...control.exit_code import ExitCode
from ...control.figures import closed_loop, count, millis, number, percent, seconds
from ...control.outcome import requests_per_sec, verdict, verdict_text
from ...control.terminal import safe
from .run_end import Kind
from .verdict import gate_figures

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ..._generated.report import Ladder, Report
    from .run_end import RunEnd
    from .summary import Rung

ROWS_MAX = 50
"""Maximum number of rows of a table or list: a step of GitHub shows no more than 1 MiB."""
TEXT_CHARS_MAX = 300
"""Maximum length of a text of users or targets, in characters."""
RAISED_MAX = 3
"""Maximum number of shown errors of a task's Python."""
LATENCIES: tuple[tuple[str, Rung], ...] = (
    ("p50", "p50_us"),
    ("p90", "p90_us"),
    ("p95", "p95_us"),
    ("p99", "p99_us"),
    ("p99.9", "p99_9_us"),
    ("max", "max_us"),
)
TASK_LATENCIES = ("p50", "p95", "p99", "max")
PLAIN = re.compile(r"[^`|\\ ](?:[^`|\\]*[^`|\\ ])?")
"""Text that a code span shows as it is, in a table too."""
NONE = "—"


def markdown(end: RunEnd) -> str:
    """Write the document; ends with a line break."""
    report = end.report
    if report is None:
        return _joined([f"## LoadPilot: ERROR ({code(end.scenario)})"], _wrong(end))
    return _joined(
        _head(end, report),
        _wrong(end),
        _gates(report),
        _latency(report),
        _load(report),
        _errors(report),
        _tasks(report),
    )


def code(text: str) -> str:
    """Write foreign text so that no renderer takes any of it for markup."""
    text = safe(text)
    if len(text) > TEXT_CHARS_MAX:
        text = text[:TEXT_CHARS_MAX] + "…"
    if PLAIN.fullmatch(text):
        return f"`{text}`"
    return f"<code>{''.join(c if c.isalnum() else f'&#{ord(c)};' for c in text)}</code>"


def _joined(*parts: Iterable[str]) -> str:
    blocks = ["\n".join(lines) for part in parts if (lines := list(part))]
    return "\n\n".join(blocks) + "\n"


def _head(end: RunEnd, report: Report) -> Iterator[str]:
    text = verdict_text(report)
    if end.code is not ExitCode.PASSED and verdict(report) in {"PASS", "STOPPED"}:
        failed = [case.name for case in end.whole if case.kind is Kind.FAILURE]
        text = "ERROR: the gates hold, but the run did not end well"
        if end.code is ExitCode.GATE_FAILED and failed:
            text = f"FAIL: {', '.join(failed)}"
    yield f"## LoadPilot: {text} ({code(end.scenario)})"
    yield ""
    run = report["run"]
    at_us = run.get("start_at") or run["created_at"]
    start = datetime.fromtimestamp(at_us // 1_000_000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    grade = report["certificate"]["grade"]
    length = seconds(report["duration_secs"] * 1e6)
    yield f"Certificate **{grade}**, exit code {end.code.value}. Run {code(run['id'])}, {start},"
    yield f"{length} against {code(report['target_url'])}."


def _wrong(end: RunEnd) -> Iterator[str]:
    """List failures beside the gates, and findings that lower the certificate."""
    for case in end.whole:
        if case.kind is Kind.PASSED:
            continue
        first, *more = case.text.split("\n")
        yield f"- **{case.name}**: {code(first)}"
        yield from (f"  - {code(line)}" for line in more[:ROWS_MAX])


def _gates(report: Report) -> Iterator[str]:
    rows = []
    for result in report["verdict"]["thresholds"]:
        actual, limit = gate_figures(result)
        reason = result.get("reason")
        mark = "✓" if result["passed"] else "✗"
        shown = actual if reason is None else f"{actual}: {code(reason)}"
        rows.append((f"{mark} {code(result['key'])}", shown, code(limit)))
    yield from _table("Gates", ("gate", "measured", "limit"), rows)


def _latency(report: Report) -> Iterator[str]:
    response, service = report["latency"].get("response"), report["latency"].get("service")
    unconnected = report["latency"].get("unconnected", 0)
    if response is None or service is None or unconnected >= response["count"]:
        yield "### Latency"
        yield ""
        yield "Not measured: no call reached a server."
        return
    labels = ("closed loop",) if report["run"].get("users") else ("corrected", "uncorrected")
    rows = [
        (label, *(millis(ladder[key]) for _, key in LATENCIES))
        for label, ladder in zip(labels, (response, service), strict=False)
    ]
    yield from _table("Latency, ms", ("", *(name for name, _ in LATENCIES)), rows)


def _load(report: Report) -> Iterator[str]:
    """Write the load that was offered."""
    rates, arrivals, users = report["rates"], report["arrivals"], report["run"].get("users")
    yield "### Load"
    yield ""
    requests = f"{number(requests_per_sec(report) or 0.0)} requests/s"
    achieved = number(rates["achieved_rps"])
    if users is not None:
        yield f"{achieved} arrivals/s, {requests}, {closed_loop(report['run'])}."
        return
    yield (
        f"{achieved} of {number(rates['planned_rps'])} arrivals/s planned, {requests}, "
        f"{count(arrivals['started'])} of {count(arrivals['planned'])} arrivals started, "
        f"shortfall {percent(rates['shortfall_pct'])}."
    )


def _errors(report: Report) -> Iterator[str]:
    """Write errors by outcome, and the exceptions of tasks."""
    calls, rate = report["calls"], report.get("error_rate_pct")
    yield "### Errors"
    yield ""
    share = NONE if rate is None else percent(rate)
    yield f"{count(report['errors_total'])} of what finished, {share}."
    failed = [(code(name), n) for name, n in calls["outcomes"].items() if n and name != "ok"]
    raised = [
        (f"{code(task['name'])}: {code(' '.join(one['text'].split()))}", one["count"])
        for task in report["tasks"]
        for one in task.get("raised", [])[:RAISED_MAX]
    ]
    rows = [(text, count(n)) for text, n in failed + raised]
    # The share above is without the warm-up.
    has_warm_up = report["warm_up"]["warm_up_us"] > 0
    yield from _rows(("error", "number, warm-up included" if has_warm_up else "number"), rows)


def _tasks(report: Report) -> Iterator[str]:
    rows = [
        (
            code(task["name"]),
            count(task["finished"]),
            count(task["errors"]),
            *_rungs(task.get("response")),
        )
        for task in report["tasks"]
    ]
    yield from _table("Tasks, ms", ("task", "requests", "errors", *TASK_LATENCIES), rows)


def _rungs(ladder: Ladder | None) -> Iterator[str]:
    for label, key in LATENCIES:
        if label in TASK_LATENCIES:
            yield NONE if ladder is None else millis(ladder[key])


def _table(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Write a table below its title; nothing without rows."""
    if rows:
        yield f"### {title}"
        yield from _rows(heads, rows)


def _rows(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    if not rows:
        return
    yield ""
    yield f"| {' | '.join(heads)} |"
    yield "| -- |" + " --: |" * (len(heads) - 1)
    yield from (f"| {' | '.join(row)} |" for row in rows[:ROWS_MAX])
    if len(rows) > ROWS_MAX:
        yield ""
        yield f"{count(len(rows) - ROWS_MAX)} more are in the report."
