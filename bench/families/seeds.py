"""The original's own benchmark: its four families, with the original among the tools.

*Precision*: 500 rps for 30 s. *Max*: as fast as 64 users can, for 30 s; the original knows rates
only, and gets one that nobody can keep. *Callbacks*: the same two with a login for each user and a
look at each answer, in every tool; LoadPilot twice, compiled and in Python. The target is
`bench/target` on a core of its own, with its routes GET /health, GET /api/user and POST /auth/login
in turn; it counts the requests. Every tool has the other core. CPU is in % of one core: the average
is the kernel's account of the whole tree of processes over its life, start and end included; the
peak is the busiest second of those that were sampled each second, as is the peak of memory, the sum
of all processes at that moment. *LoadPilot* is its whole command, as the original counted itself;
*LoadPilot's agent* is the generator alone. The goals are what the original says of itself beside k6
and Locust, judged for the whole command.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from bench.families.family import COST, PARTS_COST, Column, Result
from bench.families.max import OURS
from bench.measure import rounds, usage_series
from bench.measure.rounds import MIB, Figures, Setting, Table, cost, play, shoot
from bench.pages.goals import Goal, at_least, at_most
from bench.servers import shop
from bench.servers.shop import ShopTarget
from bench.tools.loadpilot import LoadPilot, agent_pids, parts
from bench.tools.original import Original
from bench.tools.tool import SHOP, Load, Tool

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.install.build import Build
    from bench.measure.process_tree import Ran
    from bench.measure.procfs import Look

RPS = 500
USERS = 64
CALLBACKS = {"LoadPilot, compiled": "Compiled", "LoadPilot, Python": "Python"}
"""The rows with callbacks, and the class of `bench/scenarios/shop_callbacks.py` that each is."""
FASTER = (("k6", 1.2), ("Locust", 3.3))
"""Requests/s at most, as a multiple of each peer's."""
FASTER_THAN_ITSELF = (Original.name, 3.0)
"""The same with callbacks in Python, of the original's."""
CHEAPER = ("k6", 1 / 9)
"""CPU at 500 rps, as a share of a peer's."""
COLUMNS = (
    Column("rps", "requests/s at the target"),
    Column("achieved_pct", "% of planned"),
    Column("p50_ms", "told p50 ms"),
    Column("p99_ms", "p99 ms"),
    Column("cpu_avg_pct", "CPU average, % of a core"),
    Column("cpu_peak_pct", "peak, %"),
    Column("memory_peak_mb", "peak memory MiB"),
    Column("failed", "told failed"),
    Column("refused", "refused by the target"),
    *COST,
    *PARTS_COST,
)


def measure(made: Build, tools: list[Tool], skipped: dict[str, str], setting: Setting) -> Result:
    """Play all rounds of the four families."""
    binary = shop.build(release=not setting.quick)
    peers = [tool for tool in tools if not tool.ours]
    is_asked = len(peers) < len(tools)
    named = CALLBACKS.items() if is_asked else ()
    scripted = [LoadPilot(made, name=name, user=user) for name, user in named]
    tables = []
    for checked, played in ((False, tools), (True, [*scripted, *peers])):
        for name, rps in (("Precision", RPS), ("Max", None)):
            what = f"{rps} rps" if rps else f"{USERS} users"
            callbacks = ", callbacks" if checked else ""
            table = Table(f"{name}{callbacks}: {what}, {setting.secs} s a run")
            print(table.title, flush=True)
            load = Load("", setting.secs, USERS, rps, shop=True, checked=checked)

            def once(tool: Tool, table: Table, load: Load = load) -> Figures:
                with rounds.folder() as folder:
                    return _once(binary, tool, load, table, setting, Path(folder))

            play(table, played, setting, once)
            if "original" in skipped:
                table.absent[Original.name] = skipped["original"]
            tables.append(table)
    target = f"{'development' if setting.quick else 'release'} build of bench/target"
    setup = [("target", target), ("routes", ", ".join(SHOP))]
    title = "Seeds: the original's benchmark"
    goals = [*_goals(OURS, *tables[:2])]
    for name in CALLBACKS:
        goals += _goals(name, *tables[2:])
    peer, floor = FASTER_THAN_ITSELF
    python = tables[3].ratio("LoadPilot, Python", peer, "rps")
    goals.append(at_least(f"max with callbacks in Python: requests/s, to {peer}", python, floor))
    return Result("seeds", title, __doc__ or "", COLUMNS, tables, goals, skipped, setup)


def _once(
    binary: Path, tool: Tool, load: Load, table: Table, setting: Setting, folder: Path
) -> Figures:
    """Run a tool against a target of its own."""
    with ShopTarget(binary) as target:
        aimed = replace(load, url=target.url)
        shot = shoot(tool, aimed, setting, table, folder)
    ran, told, requests = shot.ran, shot.told, target.answered
    planned = load.rps and load.rps * load.secs
    # Ours are known to the last one: each user logs in once. Of other tools they are all counted.
    logins = USERS if tool.ours and load.checked else 0
    figures: Figures = {
        "rps": requests / load.secs,
        "achieved_pct": 100 * (requests - logins) / planned if planned else None,
        "p50_ms": told.p50_us and told.p50_us / 1e3,
        "p99_ms": told.p99_us and told.p99_us / 1e3,
        "failed": None if told.failed is None else float(told.failed),
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
