"""A constant rate against the oracle: what *precision* and *arrivals* measure of every tool."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from bench.families.family import COST, PARTS_COST, Column
from bench.measure import rounds, schedule_fit
from bench.measure.rounds import Figures, Setting, Table, cost
from bench.pages.distribution_plot import Chart
from bench.servers.oracle import shoot_at_oracle
from bench.tools.loadpilot import parts

if TYPE_CHECKING:
    from bench.tools.tool import Tool

CLOCK = (
    "clock of arrivals",
    (
        "the kernel's receive time (SO_TIMESTAMPING) in each run where it told of all requests, "
        "else the oracle's read; the column of the kernel's share says which"
    ),
)
DISTANCE = Chart(
    "distance",
    "Share of requests (up) whose distance from due was at most x µs (right), first round.",
)
GAPS = Chart(
    "gaps",
    "Share of requests (up) that came at most x µs (right) after the one before, first round. "
    "The dashed line is the rate's own gap: a generator that keeps it rises there at once.",
)
CONNECTIONS = 64
"""For tools that must be told how many connections or users they may have."""
COLUMNS = (
    Column("achieved_pct", "requests at the target, % of planned"),
    Column("kept_rps", "rate at the target, rps"),
    Column("far_p50_us", "distance from due p50 µs"),
    Column("far_p99_us", "p99 µs"),
    Column("far_max_us", "max µs"),
    Column("own_p50_us", "distance from the rate it kept p50 µs"),
    Column("own_p99_us", "p99 µs"),
    Column("kernel_pct", "arrivals with the kernel's time, %"),
    Column("read_p50_us", "distance from due as the oracle read them p50 µs"),
    Column("read_p99_us", "p99 µs"),
    Column("p50_us", "told latency p50 µs"),
    Column("p99_us", "p99 µs"),
    Column("max_us", "max µs"),
    Column("failed", "told failed"),
    Column("connections", "connections"),
    *COST,
    *PARTS_COST,
)


def shoot_paced(tool: Tool, table: Table, rps: int, setting: Setting) -> Figures:
    """Run a tool once at a rate, and compare its arrivals with the grid of that rate."""
    with rounds.folder() as folder:
        logged = shoot_at_oracle(tool, (rps, CONNECTIONS), setting, table, Path(folder))
    ran, told, requests = logged.run.ran, logged.run.told, len(logged.read_us)
    asked = rps * setting.secs
    known = len(logged.kernel_us)
    figures: Figures = {
        "kernel_pct": 100 * known / requests if requests else None,
        "achieved_pct": 100 * requests / asked,
        "missed_pct": 100 * abs(requests - asked) / asked,
        "planned": None if told.planned is None else float(told.planned),
        "p50_us": told.p50_us,
        "p99_us": told.p99_us,
        "max_us": told.max_us,
        "failed": None if told.failed is None else float(told.failed),
        "connections": float(logged.connections),
        "target_cpu_secs": logged.target_cpu_secs,
        **cost(ran, requests),
        **parts(ran, requests),
    }
    found, read = schedule_fit.fit(logged.arrivals_us, rps), schedule_fit.fit(logged.read_us, rps)
    if found is None or read is None:
        return figures
    table.draw(DISTANCE, tool.name, found.planned.sorted_us)
    gaps = replace(GAPS, ideal_us=1e6 / rps)
    table.draw(gaps, tool.name, schedule_fit.gaps_us(logged.arrivals_us))
    return figures | {
        "read_p50_us": read.planned.p50_us,
        "read_p99_us": read.planned.p99_us,
        "kept_rps": found.kept_rps,
        "rate_off_pct": 100 * abs(found.kept_rps - rps) / rps,
        "far_p50_us": found.planned.p50_us,
        "far_p99_us": found.planned.p99_us,
        "far_max_us": found.planned.max_us,
        "own_p50_us": found.own.p50_us,
        "own_p99_us": found.own.p99_us,
    }
