"""One run of a tool as fast as it can against an nginx of its own: *max*, *http2* and *tls*."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from bench.measure import rounds
from bench.measure.rounds import Figures, Setting, Table, cost, play, shoot
from bench.servers.nginx import Nginx, Speaks
from bench.tools.loadpilot import parts

if TYPE_CHECKING:
    from bench.tools.tool import Load, Tool

PER_CPU = "per_cpu_sec"


def shoot_closed(
    path: Path,
    speaks: Speaks,
    tool: Tool,
    load: Load,
    table: Table,
    setting: Setting,
    folder: Path,
) -> Figures:
    """Run it; requests and connections are nginx's count. The load's address is filled in."""
    with Nginx(path, folder, speaks) as nginx:
        (connections, before), cpu_before = nginx.counted(), nginx.cpu_secs()
        aimed = replace(load, url=nginx.url, cacert=nginx.cacert)
        shot = shoot(tool, aimed, setting, table, folder)
        connected, requests = nginx.counted()
        target_cpu_secs = nginx.cpu_secs() - cpu_before
    ran, told, requests = shot.ran, shot.told, requests - before
    more = None if told.requests is None else 100 * (told.requests - requests) / max(1, requests)
    return {
        PER_CPU: requests / ran.cpu_secs,
        "rps": requests / setting.secs,
        "requests": float(requests),
        "connections": float(connected - connections),
        "told_more": more,
        **cost(ran, requests),
        **parts(ran, requests),
        "p50_us": told.p50_us,
        "p99_us": told.p99_us,
        "failed": None if told.failed is None else float(told.failed),
        "target_busy_pct": 100 * target_cpu_secs / setting.secs,
    }


def play_closed(
    title: str,
    path: Path,
    speaks: Speaks,
    tools: list[Tool],
    load: Load,
    setting: Setting,
    yardstick: str,
) -> Table:
    """Play all rounds of one table, and put each row's ratio to the yardstick into it."""
    table = Table(f"{title}, {setting.secs} s a run")
    print(table.title, flush=True)

    def once(tool: Tool, table: Table) -> Figures:
        with rounds.folder() as folder:
            return shoot_closed(path, speaks, tool, load, table, setting, Path(folder))

    play(table, tools, setting, once)
    add_ratios(table, yardstick)
    return table


def add_ratios(table: Table, yardstick: str) -> None:
    """Put each row's ratio to the yardstick of the same round into its figures."""
    of_rounds = {one["round"]: one[PER_CPU] for one in table.figures.get(yardstick, [])}
    for of_row in table.figures.values():
        for figures in of_row:
            theirs, mine = of_rounds.get(figures["round"]), figures[PER_CPU]
            figures["to_yardstick"] = mine / theirs if mine and theirs else None
