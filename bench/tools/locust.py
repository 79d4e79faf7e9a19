"""Locust with FastHttpUser, its faster client, in one process.

A rate is spread over users, each of which keeps `constant_throughput`. Its times are whole ms, and
tens of ms above 100 ms.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.measure.machine import ROOT
from bench.measure.spread import quantile
from bench.tools.tool import Load, Task, Told

if TYPE_CHECKING:
    from pathlib import Path

SCENARIO = ROOT / "bench" / "scenarios" / "locust_scenario.py"


@dataclass(frozen=True)
class Locust:
    """Headless."""

    path: str
    name: str = "Locust"
    ours: bool = False

    def task(self, load: Load, folder: Path) -> Task:  # noqa: ARG002  (it writes no file)
        """Start all users at once; at a rate each sends its share of it."""
        environ = dict(os.environ) | {
            "BENCH_SHOP": "1" if load.shop else "",
            "BENCH_CHECKED": "1" if load.checked else "",
        }
        if load.rps is not None:
            environ["BENCH_RPS_PER_USER"] = str(load.rps / load.connections)
        users = str(load.connections)
        size = ["--users", users, "--spawn-rate", users, "--run-time", f"{load.secs}s"]
        quiet = ["--headless", "--skip-log", "--json", "--host", load.url.rstrip("/")]
        return Task([self.path, "-f", str(SCENARIO), *quiet, *size], environ)

    def told(self, folder: Path, stdout: str) -> Told:  # noqa: ARG002
        """Read its JSON, one part a route; its histograms are by ms."""
        routes = json.loads(stdout)
        times_ms = sorted(
            float(ms)
            for route in routes
            for ms, count in route["response_times"].items()
            for _ in range(count)
        )
        if not times_ms:
            raise ValueError("Locust told of no request")
        p50, p90, p99 = (quantile(times_ms, share) * 1e3 for share in (0.5, 0.9, 0.99))
        most = max(route["max_response_time"] for route in routes) * 1e3
        sent, failed = (sum(one[key] for one in routes) for key in ("num_requests", "num_failures"))
        return Told(sent, p50, p90, p99, most, failed)
