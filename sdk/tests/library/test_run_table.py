"""Rows of runs and tasks for SQL."""

from __future__ import annotations

from sdk.tests.support.reports import changed

from loadpilot.library.tables.run_table import LATENCIES, run_row, task_rows

FACTS = {
    "run": "01aaa",
    "created_at": 1,
    "scenario": "Shop",
    "target": "http://h:1",
    "state": "sealed",
    "ending": "completed",
    "tags": {},
}


def test_latency_without_a_connection_is_null() -> None:
    """Broken if a query takes the time until a connection was refused for a fast response."""
    report = changed()
    assert run_row(FACTS, report)["p99_us"] == report["latency"]["response"]["p99_us"]
    report["latency"]["unconnected"] = report["latency"]["response"]["count"]
    first, *others = report["tasks"]
    first["unconnected"] = first["response"]["count"]
    row, (of_first, *of_others) = run_row(FACTS, report), task_rows(FACTS, report)
    assert {row[name] for name in LATENCIES} == {of_first[name] for name in LATENCIES} == {None}
    assert [one["p50_us"] for one in of_others] == [one["response"]["p50_us"] for one in others]
