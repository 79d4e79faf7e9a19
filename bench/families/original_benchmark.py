"""*seeds*: the original's own benchmark, with the original among the tools."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bench.families.family import COST, OURS, Column, Family, Lab, Measured, Server, Size, reported
from bench.measure import usage_series
from bench.measure.rounds import MIB, cost, play, shoot
from bench.pages.goals import Goal, at_least, at_most
from bench.servers import shop
from bench.tools.loadpilot import LoadPilot, agent_pids, parts
from bench.tools.peers import ORIGINAL
from bench.tools.tool import SHOP_ROUTES, Load

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from bench.measure.process_tree import Ran
    from bench.measure.procfs import Look
    from bench.measure.rounds import Figures, Run, Table
    from bench.tools.tool import Tool

ABOUT = """
*Precision*: 500 rps for 30 s. *Max*: as fast as 64 users can, for 30 s; the original knows rates
only, and gets one above what a core can do. *Callbacks*: the same two with a login for each user
and a check of each answer, in every tool; LoadPilot twice, compiled and in Python. The target is
`bench/target` on a core of its own, with its routes GET /health, GET /api/user and POST /auth/login
in turn; it counts the requests. Every tool has the other core. CPU is in % of one core. The average
is the kernel's account of the whole tree of processes over its life, start and end included. The
peak is the busiest second of those that were sampled each second; the peak of memory is the sum of
all processes at such a moment. *LoadPilot* is its whole command, as the original counted itself;
*LoadPilot's agent* is the generator alone. The goals are what the original says of itself beside k6
and Locust, judged for the whole command.
"""
RPS = 500
USERS = 64
CALLBACKS = {"LoadPilot, compiled": "Compiled", "LoadPilot, Python": "Python"}
"""Rows with callbacks, and the class of `shop_callbacks.py` of each."""
FASTER = (("k6", 1.2), ("Locust", 3.3))
"""Minimum requests/s as fast as possible, as a multiple of each peer's."""
FASTER_THAN_ITSELF = (ORIGINAL, 3.0)
"""The same with callbacks in Python, of the original's."""
CHEAPER = ("k6", 1 / 9)
"""Maximum CPU at 500 rps, as a share of a peer's."""
COLUMNS = (
    Column("rps", "requests/s at the target"),
    Column("achieved_pct", "% of planned"),
    Column("p50_ms", "reported p50 ms"),
    Column("p99_ms", "p99 ms"),
    Column("cpu_avg_pct", "CPU average, % of a core"),
    Column("cpu_peak_pct", "peak, %"),
    Column("memory_peak_mb", "peak memory MiB"),
    Column("failed", "reported failures"),
    Column("refused", "refused by the target"),
    *COST,
)


def measure(lab: Lab) -> Measured:
    """Play all rounds of the four tables."""
    setting, binary = lab.setting, shop.build(release=not lab.setting.quick)
    peers = [tool for tool in lab.tools if not tool.ours]
    named = CALLBACKS.items() if len(peers) < len(lab.tools) else ()
    scripted = [LoadPilot(lab.build, name=name, user=user) for name, user in named]
    tables = []
    for checked, played in ((False, lab.tools), (True, [*scripted, *peers])):
        for name, rps in (("Precision", RPS), ("Max", None)):
            load = Load("", setting.secs, USERS, rps, shop=True, checked=checked)

            def once(tool: Tool, table: Table, folder: Path, load: Load = load) -> Figures:
                with shop.ShopTarget(binary) as target:
                    aimed = replace(load, url=target.url)
                    shot = shoot(tool, aimed, setting, table, folder)
                return _figures(tool, load, shot, target)

            what = f"{rps} rps" if rps else f"{USERS} users"
            callbacks = ", callbacks" if checked else ""
            title = f"{name}{callbacks}: {what}, {setting.secs} s a run"
            tables.append(play(title, played, setting, once))
            if "original" in lab.skipped:
                tables[-1].absent[ORIGINAL] = lab.skipped["original"]
    build = f"{'development' if setting.quick else 'release'} build of bench/target"
    goals = _goals(OURS, *tables[:2])
    for name in CALLBACKS:
        goals += _goals(name, *tables[2:])
    peer, floor = FASTER_THAN_ITSELF
    python = tables[3].ratio("LoadPilot, Python", peer, "rps")
    goals.append(at_least(f"max with callbacks in Python: requests/s, to {peer}", python, floor))
    return Measured(tables, goals, [("target", build), ("routes", ", ".join(SHOP_ROUTES))])


def _figures(tool: Tool, load: Load, shot: Run, target: shop.ShopTarget) -> Figures:
    ran, report, requests = shot.ran, shot.report, target.answered
    planned = load.rps and load.rps * load.secs
    # The number of LoadPilot's logins is known: one per user. Those of other tools count as
    # requests.
    logins = USERS if tool.ours and load.checked else 0
    figures: Figures = {
        "rps": requests / load.secs,
        "achieved_pct": 100 * (requests - logins) / planned if planned else None,
        "p50_ms": report.p50_us and report.p50_us / 1e3,
        "p99_ms": report.p99_us and report.p99_us / 1e3,
        **reported(report, "failed"),
        "refused": float(target.refused),
        "cpu_avg_pct": 100 * ran.cpu_secs / ran.wall_secs,
        **_peaks(ran, usage_series.everything),
        **cost(ran, requests),
        **parts(ran, requests),
    }
    spent_secs = figures.get("agent_cpu_secs")
    if spent_secs is not None:
        figures["agent_cpu_avg_pct"] = 100 * spent_secs / ran.wall_secs
        figures |= {f"agent_{key}": v for key, v in _peaks(ran, agent_pids).items()}
    return figures


def _peaks(ran: Ran, choose: Callable[[dict[int, Look]], list[int]]) -> Figures:
    """Find the busiest second and the one with most memory."""
    return {
        "cpu_peak_pct": max(usage_series.core_pct(ran.samples, choose), default=None),
        "memory_peak_mb": max(usage_series.rss_bytes(ran.samples, choose), default=0) / MIB,
    }


def _goals(ours: str, precision: Table, fastest: Table) -> list[Goal]:
    peer, share = CHEAPER
    of = f"{ours}, " if ours in CALLBACKS else ""
    found = precision.ratio(ours, peer, "cpu_secs")
    return [
        at_least(
            f"{of}precision: requests sent", precision.spread(ours, "achieved_pct"), 99.9, "%"
        ),
        at_most(f"{of}precision: CPU, to {peer}", found, share),
        *(
            at_least(f"{of}max: requests/s, to {peer}", fastest.ratio(ours, peer, "rps"), floor)
            for peer, floor in FASTER
        ),
    ]


FAMILY = Family(
    "seeds",
    "Seeds: the original's benchmark",
    ABOUT,
    COLUMNS,
    measure,
    Size(3, 30),
    Size(1, 5),
    ("LoadPilot", "k6", "Locust", "original"),
    Server.SHOP,
)
