"""Snapshots of a run under way, for tests of the live view."""

from __future__ import annotations

from typing import Any

from sdk.tests.support.reports import valid

from loadpilot.cli.output.live import PlanInfo

SCENE = PlanInfo("Sh\x1bop")


def snapshot(**changes: Any) -> dict[str, Any]:
    live = {"p50_ms": 1.0, "p95_ms": 2.0, "p99_ms": 3.0, "max_ms": 4.0}
    so_far = {"p50_ms": 5.0, "p95_ms": 6.0, "p99_ms": 7.0, "max_ms": 8.0}
    base: dict[str, Any] = {
        "timestamp_secs": 1.0,
        "elapsed_secs": 65.0,
        "duration_secs": 260.0,
        "state": "running",
        "phase": "ramp_up",
        "current_rps": 108.04,
        "arrivals_per_sec": 96.04,
        "planned_per_sec": 100.0,
        "target_rps": 100.0,
        "arrivals_started": 450,
        "arrivals_dropped": 3,
        "requests_total": 1440,
        "errors_total": 36,
        "in_flight": 12,
        "waiting": 5,
        "oldest_ms": 31.4,
        "opened_per_sec": 2.5,
        "reused_pct": 97.5,
        "active_workers": 2,
        "latency": live,
        "latency_cumulative": so_far,
        "tasks": [],
    }
    return valid(base | changes, "snapshot")
