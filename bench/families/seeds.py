"""The original's own benchmark, as far as its families exist here today.

*Precision*: 500 rps for 30 s. *Max*: as fast as 64 users can, for 30 s; the original offers a rate
above what it thinks it can do, which caps whoever can do more, so nobody has a rate here. The
target is `bench/target` on a core of its own, with its routes GET /health, GET /api/user and POST
/auth/login in turn; it counts the requests. Every tool has the other core. CPU is in % of one core:
the average is the kernel's account of the whole tree of processes over its life, start and end
included; the peak is the busiest second of those that were sampled each second, as is the peak of
memory, the sum of all processes at that moment. *LoadPilot* is its whole command, as the original
counted itself; *LoadPilot's agent* is the generator alone. The goals are what the original says of
itself beside k6 and Locust, judged for the whole command.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from bench import rounds, series, shop_target
from bench.families.family import COST, PARTS_COST, Column, Result
from bench.families.max import OURS
from bench.goals import Goal, at_least, at_most
from bench.rounds import MIB, Figures, Setting, Table, cost, play, shoot
from bench.shop_target import ShopTarget
from bench.tools.loadpilot import agent_pids, parts
from bench.tools.tool import SHOP, Load, Tool

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.measured import Ran
    from bench.peers import Found
    from bench.proc import Look

RPS = 500
USERS = 64
CALLBACKS = "comes with Python tasks"
ORIGINAL = "LoadPilot 0.2.0, the original"
FASTER = (("k6", 1.2), ("Locust", 3.3))
"""Requests/s at most, as a multiple of each peer's."""
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


def measure(
    original: Found, tools: list[Tool], skipped: dict[str, str], setting: Setting
) -> Result:
    """Play all rounds of both families; those of the callbacks are named."""
    binary = shop_target.build(release=not setting.quick)
    tables = []
    for name, rps in (("Precision", RPS), ("Max", None)):
        what = f"{rps} rps" if rps else f"{USERS} users"
        table = Table(f"{name}: {what}, {setting.secs} s a run")
        print(table.title, flush=True)

        def once(tool: Tool, table: Table, rps: int | None = rps) -> Figures:
            load = Load("", setting.secs, USERS, rps, shop=True)
            with rounds.folder() as folder:
                return _once(binary, tool, load, table, setting, Path(folder))

        play(table, tools, setting, once)
        table.absent["LoadPilot with callbacks"] = CALLBACKS
        table.absent[ORIGINAL] = _why(original)
        tables.append(table)
    target = f"{'development' if setting.quick else 'release'} build of bench/target"
    setup = [("target", target), ("routes", ", ".join(SHOP))]
    title = "Seeds: the original's benchmark"
    return Result("seeds", title, __doc__ or "", COLUMNS, tables, _goals(*tables), skipped, setup)


def _why(original: Found) -> str:
    if original.path is None:
        return original.version
    return f"{original.version} is installed, but was never tried by this bench"


def _once(
    binary: Path, tool: Tool, load: Load, table: Table, setting: Setting, folder: Path
) -> Figures:
    """Run a tool against a target of its own."""
    with ShopTarget(binary) as target:
        aimed = Load(target.url, load.secs, load.connections, load.rps, shop=True)
        shot = shoot(tool, aimed, setting, table, folder)
    ran, told, requests = shot.ran, shot.told, target.answered
    planned = load.rps and load.rps * load.secs
    figures: Figures = {
        "rps": requests / load.secs,
        "achieved_pct": 100 * requests / planned if planned else None,
        "p50_ms": told.p50_us and told.p50_us / 1e3,
        "p99_ms": told.p99_us and told.p99_us / 1e3,
        "failed": None if told.failed is None else float(told.failed),
        "refused": float(target.refused),
        "cpu_avg_pct": 100 * ran.cpu_secs / ran.wall_secs,
        **_peaks(ran, series.everything),
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
        "cpu_peak_pct": max(series.core_pct(ran.samples, choose), default=None),
        "memory_peak_mb": max(series.rss_bytes(ran.samples, choose), default=0) / MIB,
    }


def _goals(precision: Table, fastest: Table) -> list[Goal]:
    peer, share = CHEAPER
    found = precision.ratio(OURS, peer, "cpu_secs")
    return [
        at_least("precision: requests sent", precision.spread(OURS, "achieved_pct"), 99.9, "%"),
        at_most(f"precision: CPU, to {peer}", found, share),
        *(
            at_least(f"max: requests/s, to {peer}", fastest.ratio(OURS, peer, "rps"), floor)
            for peer, floor in FASTER
        ),
    ]
