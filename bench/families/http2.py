"""HTTP/2: requests for each second of processor time that the generator spends, beside h2load.

The target is nginx with one worker on a core of its own, HTTP/2 without TLS, keep-alive, GET, 25
bytes of JSON; every generator has the other core, the same number of connections and as many
requests at a time on each of them. LoadPilot is told `--http 2` by its scenario, with `streams_max`
and as many users as streams on all connections; that it really had so many connections is counted
by nginx, as are the requests. Rows and goals are those of *max*: the agent is judged, the whole
command stands beside it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.families.family import COST, PARTS_COST, Column, Result
from bench.families.max import per_cpu_goal
from bench.families.nginx_closed import PER_CPU, play_closed
from bench.servers.nginx import Speaks
from bench.tools.tool import Load, Tool

if TYPE_CHECKING:
    from pathlib import Path

    from bench.measure.rounds import Setting

SHAPES = ((4, 64), (64, 4))
"""Connections, and requests at a time on each: few with many streams, many with few."""
FLOOR = 0.7
COLUMNS = (
    Column(PER_CPU, "requests a CPU-second"),
    Column("to_yardstick", "x h2load"),
    Column("rps", "requests/s"),
    Column("requests", "requests at nginx"),
    Column("connections", "connections at nginx"),
    Column("told_more", "the tool told more, %"),
    *COST,
    *PARTS_COST,
    Column("p50_us", "told p50 µs"),
    Column("p99_us", "told p99 µs"),
    Column("failed", "told failed"),
    Column("target_busy_pct", "nginx busy %"),
)


def measure(nginx: Path, tools: list[Tool], skipped: dict[str, str], setting: Setting) -> Result:
    """Play all rounds, at each shape."""
    tables, goals = [], []
    for connections, streams in SHAPES:
        shape = f"{connections} connections with {streams} streams"
        load = Load("", setting.secs, connections, streams=streams)
        table = play_closed(shape, nginx, Speaks.H2C, tools, load, setting, "h2load")
        tables.append(table)
        goals.append(per_cpu_goal(table, f"{shape}:", "h2load", FLOOR))
    setup = [("target", f"nginx, one worker, {Speaks.H2C.value}, 25 bytes of JSON, stub_status")]
    title = "HTTP/2: requests for a second of processor time"
    return Result("http2", title, __doc__ or "", COLUMNS, tables, goals, skipped, setup)
