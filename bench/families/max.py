"""As fast as possible: requests for each second of processor time that the generator spends.

The target is nginx with one worker on a core of its own; every generator has the other core, with
the same number of connections, keep-alive, GET, 25 bytes of JSON. Requests are counted by nginx,
not by the tool. CPU is what the kernel charged to the tool and all that it started, from its start
to its end. LoadPilot has two rows. *LoadPilot's agent* is the generator as the product runs it: one
process with its start in Python, its histograms and the deltas that it sends to nats; wrk and the
other tools are one process too, and the goals compare with this row. *LoadPilot* is the whole
command: the Python command line, supervisor, nats-server with the log, coordinator and the agent;
its figure stands beside each goal. The agent's cost is the last look at it in /proc, ten looks a
second, and it idles before it is ended; what no look at any process saw is a column. vegeta's
report is made after its run and is not in its cost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.families.family import COST, PARTS_COST, Column, Result
from bench.families.nginx_closed import PER_CPU, play_closed
from bench.measure.rounds import Setting, Table, agent_of
from bench.pages.goals import Goal, at_least, at_most
from bench.servers.nginx import Speaks
from bench.tools.tool import Load, Tool

if TYPE_CHECKING:
    from pathlib import Path

CONNECTIONS = (64, 256)
COLUMNS = (
    Column(PER_CPU, "requests a CPU-second"),
    Column("to_yardstick", "x wrk"),
    Column("rps", "requests/s"),
    Column("requests", "requests at nginx"),
    Column("told_more", "the tool told more, %"),
    *COST,
    *PARTS_COST,
    Column("p50_us", "told p50 µs"),
    Column("p99_us", "told p99 µs"),
    Column("failed", "told failed"),
    Column("target_busy_pct", "nginx busy %"),
)
FLOORS = (("wrk", 1.0), ("oha", 1.2), ("vegeta", 3.0), ("hey", 3.0), ("k6", 5.0), ("Locust", 15.0))
"""Requests a CPU-second of LoadPilot's agent, as a multiple of each peer's."""
RSS_MAX_MIB = 40.0
OURS = "LoadPilot"
AGENT = agent_of(OURS)


def measure(nginx: Path, tools: list[Tool], skipped: dict[str, str], setting: Setting) -> Result:
    """Play all rounds, at each number of connections."""
    tables = []
    for connections in CONNECTIONS:
        title = f"{connections} connections"
        load = Load("", setting.secs, connections)
        table = play_closed(title, nginx, Speaks.HTTP1, tools, load, setting, "wrk")
        tables.append(table)
    goals = [goal for table in tables for goal in _goals(table)]
    setup = [("target", "nginx, one worker, `return 200` with 25 bytes of JSON, stub_status")]
    title = "Max: requests for a second of processor time"
    return Result("max", title, __doc__ or "", COLUMNS, tables, goals, skipped, setup)


def _goals(table: Table) -> list[Goal]:
    where = f"{table.title.partition(',')[0]}:"
    goals = [per_cpu_goal(table, where, peer, floor) for peer, floor in FLOORS]
    whole, agent = table.spread(OURS, "rss_mb"), table.spread(AGENT, "rss_mb")
    goals.append(at_most(f"{where} peak RSS of the agent", agent, RSS_MAX_MIB, "MiB", whole))
    return goals


def per_cpu_goal(table: Table, where: str, peer: str, floor: float) -> Goal:
    """Judge the requests a CPU-second of the agent, with the whole command's beside it."""
    agent, whole = table.ratio(AGENT, peer, PER_CPU), table.ratio(OURS, peer, PER_CPU)
    words = f"{where} requests a CPU-second of the agent, to {peer}"
    return at_least(words, agent, floor, beside=whole)
