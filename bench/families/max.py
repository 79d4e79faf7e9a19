"""As fast as possible: requests for each second of processor time that the generator spends.

The target is nginx with one worker on a core of its own; every generator has the other core, with
the same number of connections, keep-alive, GET, 25 bytes of JSON. Requests are counted by nginx,
not by the tool. CPU is what the kernel charged to the tool and all that it started, from its start
to its end: of LoadPilot that is the Python command, nats-server, coordinator and agent, with all
histograms, deltas and the log. vegeta's report is made after its run and is not in its cost.
"""

from __future__ import annotations

from pathlib import Path

from bench import rounds
from bench.families.family import COST, PARTS_COST, Column, Result
from bench.goals import Goal, at_least, at_most
from bench.nginx import Nginx
from bench.rounds import Figures, Setting, Table, cost, play, shoot
from bench.tools.loadpilot import parts
from bench.tools.tool import Load, Tool

CONNECTIONS = (64, 256)
PER_CPU = "per_cpu_sec"
COLUMNS = (
    Column(PER_CPU, "requests a CPU-second"),
    Column("to_wrk", "x wrk"),
    Column("rps", "requests/s"),
    Column("requests", "requests at nginx"),
    Column("told_more", "the tool told more, %"),
    *COST,
    Column("agent_per_cpu_sec", "LoadPilot's agent alone: requests a CPU-second"),
    *PARTS_COST,
    Column("p50_us", "told p50 µs"),
    Column("p99_us", "told p99 µs"),
    Column("failed", "told failed"),
    Column("target_busy_pct", "nginx busy %"),
)
FLOORS = (("wrk", 1.0), ("oha", 1.2), ("vegeta", 3.0), ("hey", 3.0), ("k6", 5.0), ("Locust", 15.0))
"""Requests a CPU-second of LoadPilot, as a multiple of each peer's."""
RSS_MAX_MIB = 40.0
OURS = "LoadPilot"


def measure(nginx: Path, tools: list[Tool], skipped: dict[str, str], setting: Setting) -> Result:
    """Play all rounds, at each number of connections."""
    tables = []
    for connections in CONNECTIONS:
        table = Table(f"{connections} connections, {setting.secs} s a run")
        print(table.title, flush=True)

        def once(tool: Tool, table: Table, connections: int = connections) -> Figures:
            with rounds.folder() as folder:
                return _once(nginx, tool, table, connections, setting, Path(folder))

        play(table, tools, setting, once)
        _add_ratios(table)
        tables.append(table)
    goals = [goal for table in tables for goal in _goals(table)]
    setup = [("target", "nginx, one worker, `return 200` with 25 bytes of JSON, stub_status")]
    title = "Max: requests for a second of processor time"
    return Result("max", title, __doc__ or "", COLUMNS, tables, goals, skipped, setup)


def _once(
    path: Path, tool: Tool, table: Table, connections: int, setting: Setting, folder: Path
) -> Figures:
    """Run a tool against an nginx of its own."""
    with Nginx(path, folder) as nginx:
        before, cpu_before = nginx.requests(), nginx.cpu_secs()
        shot = shoot(tool, Load(nginx.url, setting.secs, connections), setting, table, folder)
        requests, target_cpu_secs = nginx.requests() - before, nginx.cpu_secs() - cpu_before
    ran, told = shot.ran, shot.told
    more = None if told.requests is None else 100 * (told.requests - requests) / max(1, requests)
    return {
        PER_CPU: requests / ran.cpu_secs,
        "rps": requests / setting.secs,
        "requests": float(requests),
        "told_more": more,
        **cost(ran, requests),
        **parts(ran, requests),
        "p50_us": told.p50_us,
        "p99_us": told.p99_us,
        "failed": None if told.failed is None else float(told.failed),
        "target_busy_pct": 100 * target_cpu_secs / setting.secs,
    }


def _add_ratios(table: Table) -> None:
    """Put each tool's ratio to wrk of the same round into its figures."""
    wrk = {figures["round"]: figures[PER_CPU] for figures in table.figures.get("wrk", [])}
    for of_tool in table.figures.values():
        for figures in of_tool:
            yardstick, mine = wrk.get(figures["round"]), figures[PER_CPU]
            figures["to_wrk"] = mine / yardstick if mine and yardstick else None


def _goals(table: Table) -> list[Goal]:
    where = f"{table.title.partition(',')[0]}:"
    goals = [
        at_least(
            f"{where} requests a CPU-second, to {peer}", table.ratio(OURS, peer, PER_CPU), floor
        )
        for peer, floor in FLOORS
    ]
    whole, agent = table.spread(OURS, "rss_mb"), table.spread(OURS, "agent_rss_mb")
    goals.append(at_most(f"{where} peak RSS, all processes", whole, RSS_MAX_MIB, "MiB"))
    goals.append(at_most(f"{where} peak RSS, the agent", agent, RSS_MAX_MIB, "MiB"))
    return goals
