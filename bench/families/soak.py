"""A long run at a high rate: whether the agent's memory stays where it is.

20,000 rps for ten minutes against nginx, which counts; LoadPilot alone. Then the same time each for
64 users in Python, as coroutines and as plain functions, at 2,000 rps: a request with a header, a
check of the answer. A quarter through each run nginx stands still for 100 ms: what such a burst
takes, 2,000 calls in flight without Python, has to go again. The resident memory of the agent is
read every second. The first tenth of the run is warm-up. The rule: the median of the last tenth is
at most 2 MiB above the median of the tenth that follows the warm-up (so the last minute against the
second). The slope is the straight line through all seconds after the warm-up. A leak of one byte a
request would be 11 MiB in ten minutes; of ten bytes a request in Python as much.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from statistics import StatisticsError, linear_regression, median
from threading import Timer
from typing import TYPE_CHECKING

from bench.families.family import COST, PARTS_COST, Column, Result
from bench.measure import rounds, usage_series
from bench.measure.rounds import MIB, Figures, Setting, Table, cost, play, shoot
from bench.pages.goals import Goal, at_least, at_most
from bench.servers.nginx import Nginx
from bench.tools.loadpilot import LoadPilot, agent_pids, parts
from bench.tools.tool import Load, Tool

if TYPE_CHECKING:
    from bench.install.build import Build
    from bench.measure.process_tree import Ran

RPS, SCRIPTED_RPS = 20_000, 2_000
STALL_SECS = 0.1
"""How long the target stands still, once."""
SCRIPTED = {"LoadPilot, async": "Awaited", "LoadPilot, sync": "Plain"}
"""Users in Python, and the class of `bench/scenarios/checked_request.py` that they are of."""
SCRIPTED_USERS = 64
"""How many that class has; each makes one request before the run."""
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
    Column("failed", "told failed"),
    *COST,
    *PARTS_COST,
)


@dataclass(frozen=True)
class Course:
    """How memory went over a run, in MiB."""

    tenths: list[float | None]
    """The median of each tenth of the run; none where no second was seen."""
    slope_per_sec: float | None
    """Of the line through all seconds after the first tenth."""


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


def scripted(made: Build) -> list[Tool]:
    """List LoadPilot with users in Python."""
    return [LoadPilot(made, name=name, user=user) for name, user in SCRIPTED.items()]


def measure(nginx: Path, tools: list[Tool], skipped: dict[str, str], setting: Setting) -> Result:
    """Play all rounds, without Python and with it."""
    tables, goals = [], []
    for rps, words in ((RPS, ""), (SCRIPTED_RPS, ", users in Python")):
        table = Table(f"{rps:,} rps{words}, {setting.secs} s a run")
        print(table.title, flush=True)

        def once(tool: Tool, table: Table, rps: int = rps) -> Figures:
            with rounds.folder() as folder:
                return _once(nginx, tool, table, setting, (rps, Path(folder)))

        played = [tool for tool in tools if (tool.name in SCRIPTED) == bool(words)]
        play(table, played, setting, once)
        tables.append(table)
        goals += [goal for tool in played for goal in _goals(table, tool.name)]
    setup = [("target", "nginx, one worker, `return 200` with 25 bytes of JSON, stub_status")]
    title = "Soak: memory over a long run"
    return Result("soak", title, __doc__ or "", COLUMNS, tables, goals, skipped, setup)


def _goals(table: Table, name: str) -> list[Goal]:
    sent, growth = (table.spread(name, key) for key in ("achieved_pct", "growth_mb"))
    return [
        at_least(f"{name}: requests sent", sent, SENT_MIN_PCT, "%"),
        at_most(f"{name}: growth of the agent", growth, GROWTH_MAX_MIB, "MiB"),
    ]


def _once(nginx: Path, tool: Tool, table: Table, setting: Setting, at: tuple[int, Path]) -> Figures:
    """Run it at a rate, in a folder."""
    rps, folder = at
    with Nginx(nginx, folder) as target:
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
        "failed": None if shot.told.failed is None else float(shot.told.failed),
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
