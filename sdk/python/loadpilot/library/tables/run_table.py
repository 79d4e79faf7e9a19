"""Runs, their tasks and their gates as Arrow tables: a row for each, of all runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...control.outcome import measured, outcome
from .extras import extra

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from ..._generated.report import Report

LATENCIES = ("p50_us", "p75_us", "p90_us", "p95_us", "p99_us", "p99_9_us", "p99_99_us", "max_us")
"""Corrected latencies of a report; their names in the tables are the same."""
Row = dict[str, Any]


def run_row(facts: dict[str, Any], report: Report) -> Row:
    """Make the row of one run; latencies are corrected, and null where no call reached a server."""
    ended = outcome(report)
    return {
        "run": facts["run"],
        "created": facts["created_at"],
        "scenario": facts["scenario"],
        "target": facts["target"],
        "state": facts["state"],
        "ending": facts["ending"],
        "verdict": ended.verdict if facts["state"] == "sealed" else None,
        "certificate": ended.quality if facts["state"] == "sealed" else None,
        "requests": report["requests_total"],
        "requests_per_sec": ended.requests_per_sec,
        "errors": report["errors_total"],
        "error_rate_pct": report.get("error_rate_pct"),
        "planned": report["arrivals"]["planned"],
        "started": report["arrivals"]["started"],
        "dropped": sum(report["arrivals"]["dropped"].values()),
        **_latencies(measured(report["latency"])),
        "seed": report["run"]["seed"],
        "plan_hash": report["run"]["plan_hash"],
        "tags": list(facts["tags"].items()),
    }


def task_rows(facts: dict[str, Any], report: Report) -> list[Row]:
    """Make the rows of the tasks of one run."""
    return [
        {
            "run": facts["run"],
            "task": task["name"],
            "weight": task["weight"],
            "planned": task["arrivals"]["planned"],
            "started": task["arrivals"]["started"],
            "finished": task["finished"],
            "errors": task["errors"],
            **_latencies(measured(task)),
        }
        for task in report["tasks"]
    ]


def threshold_rows(facts: dict[str, Any], report: Report) -> list[Row]:
    """Make the rows of the gates of one run."""
    return [
        {
            "run": facts["run"],
            "threshold": one["key"],
            "task": one["task"],
            "operator": one["operator"],
            "limit": one["limit"],
            "actual": one["actual"],
            "passed": one["passed"],
        }
        for one in report["verdict"]["thresholds"]
    ]


def _latencies(ladder: Mapping[str, Any] | None) -> Row:
    return {name: None if ladder is None else ladder[name] for name in LATENCIES}


def runs_schema() -> pa.Schema:
    """Return the columns of runs; raises MissingPackage."""
    pa = extra("pyarrow", "a table of runs")
    text, count, number = pa.string(), pa.int64(), pa.float64()
    words = ("scenario", "target", "state", "ending", "verdict", "certificate")
    counts = ("planned", "started", "dropped", *LATENCIES, "seed")
    return pa.schema(
        [
            ("run", text),
            ("created", pa.timestamp("us", tz="UTC")),
            *((name, text) for name in words),
            ("requests", count),
            ("requests_per_sec", number),
            ("errors", count),
            ("error_rate_pct", number),
            *((name, count) for name in counts),
            ("plan_hash", text),
            ("tags", pa.map_(text, text)),
        ]
    )


def tasks_schema() -> pa.Schema:
    """Return the columns of tasks; raises MissingPackage."""
    pa = extra("pyarrow", "a table of tasks")
    counts = ("weight", "planned", "started", "finished", "errors", *LATENCIES)
    names = [(name, pa.string()) for name in ("run", "task")]
    return pa.schema([*names, *((name, pa.int64()) for name in counts)])


def thresholds_schema() -> pa.Schema:
    """Return the columns of thresholds; raises MissingPackage."""
    pa = extra("pyarrow", "a table of thresholds")
    names = [(name, pa.string()) for name in ("run", "threshold", "task", "operator")]
    figures = [(name, pa.float64()) for name in ("limit", "actual")]
    return pa.schema([*names, *figures, ("passed", pa.bool_())])
