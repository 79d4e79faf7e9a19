"""Reports as the native module writes them, for tests of Python code that reads them."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

SCHEMAS = Path(__file__).resolve().parents[3] / "proto/schema"
HOLDERS = [
    {
        "holder": {"agent": f"agent-{k}", "boot_id": f"01boot{k}"},
        "shards": 128,
        "started": 475,
        "calls": 522,
        "deltas": 11,
        "finished": True,
        "lost": None,
        "clock_bound_us": 40,
    }
    for k in (1, 2)
]


def valid(value: dict[str, Any], schema: str = "report") -> dict[str, Any]:
    """Check a value by its schema."""
    described = json.loads((SCHEMAS / f"{schema}.json").read_text(encoding="utf-8"))
    Draft202012Validator(described).validate(value)
    return value


def ladder(base_us: int, count: int = 1045) -> dict[str, Any]:
    """Build plausible percentiles above a base."""
    points = {"p50": 1, "p75": 1.5, "p90": 2, "p95": 3, "p99": 9, "p99_9": 30, "p99_99": 90}
    rungs = {f"{name}_us": int(base_us * factor) for name, factor in points.items()}
    return {
        "count": count,
        "min_us": base_us // 2,
        "mean_us": base_us * 1.25,
        **rungs,
        "max_us": base_us * 100,
    }


def counts(planned: int) -> dict[str, Any]:
    """Build the counts of arrivals that were all started."""
    return {
        "planned": planned,
        "started": planned,
        "dropped": {},
        "lost": 0,
        "waiting": 0,
        "task_errors": 0,
    }


def call(name: str, count: int, base_us: int) -> dict[str, Any]:
    """Build one call's report."""
    return {
        "name": name,
        "counts": {"attempted": count, "outcomes": {"ok": count}, "in_flight": 0},
        "response": ladder(base_us, count),
        "service": ladder(base_us, count),
        "status": {"200": count},
        "anatomy": {},
    }


def task(name: str, weight: int, planned: int, calls: list[dict[str, Any]]) -> dict[str, Any]:
    """Build one task's report."""
    finished = planned * len(calls)
    return {
        "name": name,
        "weight": weight,
        "arrivals": counts(planned),
        "errors": 0,
        "finished": finished,
        "response": ladder(1_200, finished),
        "service": ladder(1_100, finished),
        "calls": calls,
    }


GOOD: dict[str, Any] = {
    "schema": "loadpilot.report/1",
    "scenario": "Shop",
    "target_url": "http://127.0.0.1:8000",
    "rps_target": 100.0,
    "rps_actual": 95.0,
    "requests_total": 1045,
    "errors_total": 0,
    "error_rate_pct": 0.0,
    "p50_ms": 1.2,
    "p95_ms": 3.6,
    "p99_ms": 10.8,
    "max_ms": 120.0,
    "duration_secs": 10.0,
    "run": {
        "id": "01k9zzzzzzzzzzzzzzzzzzzzzz",
        "state": "sealed",
        "ending": "completed",
        "refused": [],
        "plan_hash": "ab" * 32,
        "seed": 42,
        "shape": "ramp",
        "profile_us": 10_000_000,
        "tick_us": 1_000_000,
        "created_at": 1_790_000_000_000_000,
        "start_at": 1_790_000_001_500_000,
        "stopped_at_us": None,
        "unanswered": None,
        "holders": HOLDERS,
        "generation": 1,
    },
    "verdict": {
        "passed": True,
        "thresholds": [
            {
                "key": "p99_ms",
                "metric": "p99_ms",
                "task": None,
                "operator": "<=",
                "limit": 250.0,
                "actual": 10.8,
                "passed": True,
            }
        ],
        "reasons": [],
    },
    "certificate": {"grade": "VALID", "findings": []},
    "arrivals": counts(950),
    "calls": {"attempted": 1045, "outcomes": {"ok": 1045}, "causes": {}, "in_flight": 0},
    "rates": {
        "planned": 950,
        "started": 950,
        "measured_us": 10_000_000,
        "planned_rps": 95.0,
        "achieved_rps": 95.0,
        "shortfall_pct": 0.0,
    },
    "latency": {
        "response": ladder(1_200),
        "service": ladder(1_100),
        "co_factor": 1.09,
        "omission": None,
        "unconnected": 0,
        "response_ok": ladder(1_200),
        "response_failed": None,
        "response_histogram": "",
        "service_histogram": "",
    },
    "status": {"200": 950, "201": 95},
    "bytes": {
        "sent": 123_456,
        "received": 9_876_543,
        "received_per_sec": 987_654.3,
        "sent_per_sec": 12_345.6,
    },
    "warm_up": {"warm_up_us": 0, "arrivals": 0, "calls": 0},
    "tasks": [
        task("browse", 6, 570, [call("GET /api/products", 570, 1_200)]),
        task("profile", 3, 285, [call("GET /api/user", 285, 900)]),
        task(
            "buy",
            1,
            95,
            [call("POST /auth/login", 95, 2_000), call("POST /api/orders", 95, 3_000)],
        ),
    ],
    "series": [],
    "generator": {
        "schedule_lag": ladder(15),
        "queue": ladder(2),
        "connections_opened": 12,
        "connections_reused": 1033,
        "busiest_core_permille": 123,
        "busy_deltas_pct": 0.0,
        "stall_us_max": 850,
    },
    "gaps": {
        "lost": [],
        "excess_arrivals": 0,
        "excess_calls": 0,
        "quarantined": [],
        "late_deltas": 0,
    },
    "story": [],
    "digest": "cd" * 32,
}
"""A complete, trusted run that passed."""


def changed(**changes: Any) -> dict[str, Any]:
    """Copy the good report with changes at dotted places: ``run__state="running"``."""
    report = copy.deepcopy(GOOD)
    for place, value in changes.items():
        *path, last = place.split("__")
        node = report
        for name in path:
            node = node[name]
        assert last in node, place
        node[last] = value
    return report


def parsed(**changes: Any) -> dict[str, Any]:
    """Change the report; raises if the native module would not write it."""
    return valid(changed(**changes))


def troubled() -> dict[str, Any]:
    """Build the report of a run with many failures, with hostile names in it."""
    evil = "ev\x1b[31mil\u202e"
    report = changed(
        scenario=evil,
        errors_total=45,
        error_rate_pct=4.3,
        run__ending="stopped",
        run__stopped_at_us=7_250_000,
        verdict__passed=False,
        certificate={
            "grade": "DEGRADED",
            "findings": [
                {"kind": "lost_interval", "grade": "DEGRADED", "evidence": f"12 of {evil}"},
                {"kind": "agent_cpu", "grade": "DEGRADED", "evidence": "95 % of a core"},
            ],
        },
        arrivals__started=880,
        arrivals__dropped={"late": 8, "no_slot": 50},
        arrivals__lost=12,
        arrivals__task_errors=45,
        rates__achieved_rps=88.0,
        rates__started=880,
        rates__shortfall_pct=7.37,
        calls__attempted=968,
        calls__outcomes={"ok": 900, "http_5xx": 40, "timeout": 5, "cancelled": 23},
        calls__causes={"timeout": {"while_connecting": 2, "before_first_byte": 3}},
        status={"200": 900, "503": 40},
        latency__co_factor=118.25,
        latency__response_failed=ladder(9_000, 45),
        warm_up={"warm_up_us": 2_000_000, "arrivals": 100, "calls": 110},
        gaps={
            "lost": [
                {"holder": HOLDERS[0]["holder"], "from_tick": 3, "to_tick": 4, "arrivals": 12}
            ],
            "excess_arrivals": 3,
            "excess_calls": 4,
            "quarantined": [{"subject": "s", "seq": 5, "reason": "r"}],
            "late_deltas": 2,
        },
    )
    report["verdict"]["thresholds"] += [
        {
            "key": "error_rate",
            "metric": "error_rate",
            "task": None,
            "operator": "<=",
            "limit": 1.0,
            "actual": 4.3,
            "passed": False,
        },
        {
            "key": "buy:achieved_rps",
            "metric": "achieved_rps",
            "task": "buy",
            "operator": ">=",
            "limit": 9.5,
            "actual": None,
            "passed": False,
        },
    ]
    report["tasks"][0]["name"] = evil
    return report


def measured() -> dict[str, Any]:
    """Build the report of a scenario with checks and metrics, and of gates on both."""
    report = changed()
    cart = {"min": -2.5, "p50": 19.99, "p90": 88.0, "p95": 99.5, "p99": 250.0, "max": 1234.0}
    report["checks"] = {"passed": 1_199_999, "failed": 1}
    report["tasks"][1]["checks"] = {"passed": 600_000, "failed": 0}
    report["tasks"][2]["checks"] = {"passed": 599_999, "failed": 1}
    report["metrics"] = {
        "counters": {
            "orders": {"count": 1200, "rate": 120.0},
            "revenue": {"count": 23_988.000_5, "rate": 2398.800_05},
        },
        "trends": {"cart_value": {"count": 1200, "mean": 24.375, **cart}},
        "rates": {"cache_hit": {"count": 1200, "trues": 1, "rate": 1 / 12}},
    }
    gates: list[dict[str, Any]] = [
        {"key": "cart_value.p95", "operator": "<", "limit": 250.0, "actual": 99.5},
        {"key": "buy:refunds.count", "task": "buy", "operator": "<=", "limit": 0.0},
    ]
    gates[1]["reason"] = "nothing was added to refunds outside the warm-up, only to cart_value"
    for gate in gates:
        passed = "actual" in gate
        common = {"metric": "own", "task": None, "actual": None, "passed": passed}
        report["verdict"]["thresholds"].append(common | gate)
    report["verdict"]["passed"] = False
    return report


def closed() -> dict[str, Any]:
    """Build the report of a closed loop with a gap in its data."""
    report = changed(
        rps_target=0.0,
        run__shape="closed",
        rates__shortfall_pct=0.0,
        latency__co_factor=None,
        certificate={
            "grade": "DEGRADED",
            "findings": [
                {"kind": "lost_interval", "grade": "DEGRADED", "evidence": "0.78 % of the time"}
            ],
        },
        gaps__lost=[{"holder": HOLDERS[0]["holder"], "from_tick": 3, "to_tick": 3, "arrivals": 0}],
    )
    report["run"]["users"] = 64
    report["gaps"]["lost_time_pct"] = 0.78
    return report


def empty() -> dict[str, Any]:
    """Build the report of a run without a finished call."""
    report = changed(
        error_rate_pct=None,
        requests_total=0,
        run__state="running",
        run__ending=None,
        verdict={
            "passed": False,
            "thresholds": [],
            "reasons": ["no request was finished outside the warm-up"],
        },
        arrivals__started=0,
        arrivals__waiting=950,
        calls={"attempted": 0, "outcomes": {}, "in_flight": 7},
        latency__response=None,
        latency__service=None,
        latency__co_factor=None,
        latency__response_ok=None,
        status={},
        generator__schedule_lag=None,
        generator__queue=None,
    )
    for one in report["tasks"]:
        one["response"] = None
    return report
