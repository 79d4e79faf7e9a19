"""*soak*: a long run at a high rate, and whether the agent's memory stays constant."""

from __future__ import annotations

import json
from dataclasses import dataclass
from statistics import StatisticsError, linear_regression, median
from threading import Timer
from typing import TYPE_CHECKING

from bench.families.family import COST, Column, Family, Lab, Measured, Server, Size, reported
from bench.measure import usage_series
from bench.measure.rounds import MIB, cost, play, shoot
from bench.pages.goals import Goal, at_least, at_most
from bench.servers.nginx import Nginx
from bench.tools.loadpilot import LoadPilot, agent_pids, parts
from bench.tools.tool import Load

if TYPE_CHECKING:
    from pathlib import Path

    from bench.measure.process_tree import Ran
    from bench.measure.rounds import Figures, Table
    from bench.tools.tool import Tool

ABOUT = """
20,000 rps for ten minutes against nginx, which counts; LoadPilot alone. Then the same time each for
64 users in Python, as coroutines and as plain functions, at 2,000 rps: a request with a header, a
check of the answer. A quarter through each run nginx stops for 100 ms. The memory of such a burst,
2,000 calls in flight without Python, has to be released again. The resident memory of the agent is
sampled every second. The first tenth of the run is warm-up. The rule: the median of the last tenth
is at most 2 MiB above the median of the tenth after the warm-up (the last minute against the
second). The slope is the straight line through all seconds after the warm-up. A leak of one byte a
request would be 11 MiB in ten minutes; of ten bytes a request in Python as much.
"""
RPS, SCRIPTED_RPS = 20_000, 2_000
STALL_SECS = 0.1
"""Duration of the one stop of the target."""
SCRIPTED = {"LoadPilot, async": "Awaited", "LoadPilot, sync": "Plain"}
"""Rows with users in Python, and the class of `checked_request.py` of each."""
SCRIPTED_USERS = 64
"""Number of users of that class; each makes one request before the run."""
TENTHS = 10
GROWTH_MAX_MIB = 2.0
SENT_MIN_PCT = 99.9
COLUMNS = (
    Column("achieved_pct", "requests at nginx, % of planned"),
    Column("first_mb", "agent's RSS after the warm-up, MiB"),
    Column("last_mb", "at the end, MiB"),
    Column("growth_mb", "growth, MiB"),
    Column("slope_mb_per_hour", "slope, MiB an hour"),
    *(Column(f"tenth_{n}_mb", f"tenth {n}, MiB") for n in range(1, TENTHS + 1)),
    Column("failed", "reported failures"),
    *COST,
)


@dataclass(frozen=True)
class Course:
    """The memory of an agent over a run, in MiB."""

    tenths: list[float | None]
    """The median of each tenth of the run; absent where it has no sample."""
    slope_per_sec: float | None
    """Slope of the line through all seconds after the first tenth."""


def course(seen: list[tuple[float, float]], secs: float) -> Course:
    """Divide `(seconds after the start, MiB)` into tenths."""
    tenths: list[float | None] = []
    for n in range(TENTHS):
        part = [mib for at, mib in seen if n * secs / TENTHS <= at < (n + 1) * secs / TENTHS]
        tenths.append(median(part) if part else None)
    warm = [(at, mib) for at, mib in seen if secs / TENTHS <= at < secs]
    try:
        slope = linear_regression(*zip(*warm, strict=True)).slope if warm else None
    except StatisticsError:  # a single second has no slope
        slope = None
    return Course(tenths, slope)


def measure(lab: Lab) -> Measured:
    """Play all rounds, without Python and with it."""
    tables, goals = [], []
    scripted: list[Tool] = [
        LoadPilot(lab.build, name=name, user=user) for name, user in SCRIPTED.items()
    ]
    for rps, words, tools in (
        (RPS, "", lab.tools),
        (SCRIPTED_RPS, ", users in Python", scripted if lab.tools else []),
    ):

        def once(tool: Tool, table: Table, folder: Path, rps: int = rps) -> Figures:
            return _once(lab, tool, table, folder, rps)

        title = f"{rps:,} rps{words}, {lab.setting.secs} s a run"
        table = play(title, tools, lab.setting, once)
        tables.append(table)
        goals += [goal for tool in tools for goal in _goals(table, tool.name)]
    return Measured(tables, goals)


def _goals(table: Table, name: str) -> list[Goal]:
    sent, growth = (table.spread(name, key) for key in ("achieved_pct", "growth_mb"))
    return [
        at_least(f"{name}: requests sent", sent, SENT_MIN_PCT, "%"),
        at_most(f"{name}: growth of the agent", growth, GROWTH_MAX_MIB, "MiB"),
    ]


def _once(lab: Lab, tool: Tool, table: Table, folder: Path, rps: int) -> Figures:
    if lab.nginx is None:
        raise ValueError("nginx is missing")
    setting = lab.setting
    with Nginx(lab.nginx, folder) as target:
        before = target.requests()
        load = Load(target.url, setting.secs, 1, rps)
        stall = Timer(setting.secs / 4, target.stall, [STALL_SECS])
        stall.start()
        try:
            shot = shoot(tool, load, setting, table, folder)
        finally:
            stall.cancel()
            stall.join()
        requests = target.requests() - before
    hellos = SCRIPTED_USERS if tool.name in SCRIPTED else 0
    report = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    found = course(_agent_mib(shot.ran, report["run"]["start_at"]), setting.secs)
    first, last = found.tenths[1], found.tenths[-1]
    slope = found.slope_per_sec
    return {
        "achieved_pct": 100 * (requests - hellos) / (rps * setting.secs),
        "first_mb": first,
        "last_mb": last,
        "growth_mb": None if first is None or last is None else last - first,
        "slope_mb_per_hour": None if slope is None else 3_600 * slope,
        **{f"tenth_{n + 1}_mb": mib for n, mib in enumerate(found.tenths)},
        **reported(shot.report, "failed"),
        **cost(shot.ran, requests),
        **parts(shot.ran, requests),
    }


def _agent_mib(ran: Ran, start_us: int) -> list[tuple[float, float]]:
    """List seconds after the start of the load, and the agent's memory then."""
    rss = usage_series.rss_bytes(ran.samples, agent_pids)
    return [
        ((sample.at_us - start_us) / 1e6, one / MIB)
        for sample, one in zip(ran.samples, rss, strict=True)
    ]


FAMILY = Family(
    "soak",
    "Soak: memory over a long run",
    ABOUT,
    COLUMNS,
    measure,
    Size(1, 600),
    Size(1, 10),
    ("LoadPilot",),
    Server.NGINX,
)
