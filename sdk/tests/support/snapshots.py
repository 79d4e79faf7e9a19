"""Snapshots of a run under way, for tests of the live view."""

from __future__ import annotations

from typing import Any

from sdk.tests.support.reports import valid

from loadpilot.cli.output.live import Gate, PlanInfo

SCENE = PlanInfo("Sh\x1bop", target="http://127.0.0.1:8000")
GATED = PlanInfo(
    "Shop",
    target="http://127.0.0.1:8000",
    gates=(Gate("p99_ms", "<=", 200.0), Gate("error_rate", "<=", 1.0), Gate("checks", ">=", 99.0)),
)


def snapshot(**changes: Any) -> dict[str, Any]:
    live = {"p50_ms": 1.0, "p95_ms": 2.0, "p99_ms": 3.0, "max_ms": 4.0}
    so_far = {"p50_ms": 5.0, "p95_ms": 6.0, "p99_ms": 7.0, "max_ms": 8.0}
    service = {"p50_ms": 0.5, "p95_ms": 0.6, "p99_ms": 0.7, "max_ms": 0.8}
    service_so_far = {"p50_ms": 9.1, "p95_ms": 9.2, "p99_ms": 9.3, "max_ms": 9.4}
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
        "service": service,
        "service_cumulative": service_so_far,
        "tasks": [],
    }
    return valid(base | changes, "snapshot")


def gates(**actual: float | None) -> list[dict[str, Any]]:
    """Build the gates with their state; those that are not named pass."""
    measured = {"p99_ms": 31.2, "error_rate": 0.0, "checks": 100.0} | actual
    built = []
    for gate in GATED.gates:
        figure = measured[gate.key]
        at_most = gate.operator == "<="
        passed = figure is not None and (figure <= gate.limit) is at_most
        built.append(
            {
                "key": gate.key,
                "metric": gate.key,
                "operator": gate.operator,
                "limit": gate.limit,
                "actual": figure,
                "passed": passed or figure == gate.limit,
            }
        )
    return built


def tasks(number: int, **errors: int) -> list[dict[str, Any]]:
    """Build this number of tasks; the names are task_0 and so on."""
    latency = {"p50_ms": 1.0, "p95_ms": 2.0, "p99_ms": 3.0, "max_ms": 4.0}
    names = [f"task_{place}" for place in range(number)]
    return [
        {"name": name, "requests": 1_000, "errors": errors.get(name, 0), "latency": latency}
        for name in names
    ]
