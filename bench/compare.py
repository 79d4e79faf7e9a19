"""LoadPilot beside its peers: selects the tools, separates the cores, runs the families.

Never measures a development build of LoadPilot. A missing peer is on the page with its reason.
"""

from __future__ import annotations

import os
import shlex
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from bench.families import (
    closed_loop,
    constant_rate,
    freezing_target,
    generator_cost,
    memory_growth,
    original_benchmark,
    python_tasks,
)
from bench.families.family import OURS, Family, Lab, Result, Server
from bench.install import build, peers
from bench.measure import machine
from bench.measure.rounds import Setting
from bench.pages.family_page import Page
from bench.servers import oracle
from bench.tools.loadpilot import LoadPilot
from bench.tools.peers import peer

if TYPE_CHECKING:
    from pathlib import Path

    from bench.install.build import Build
    from bench.install.peers import Found
    from bench.tools.tool import Tool

RESULTS = machine.ROOT / "bench" / "results"
QUICK_RESULTS = machine.ROOT / "target" / "bench" / "quick"
"""Pages of quick runs, which test the bench and not the speed of a tool. They are not for git."""
MAX, HTTP2, TLS = closed_loop.FAMILIES
FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (
        MAX,
        *constant_rate.FAMILIES,
        freezing_target.FAMILY,
        HTTP2,
        TLS,
        python_tasks.FAMILY,
        generator_cost.FAMILY,
        memory_growth.FAMILY,
        original_benchmark.FAMILY,
    )
}


@dataclass(frozen=True)
class Request:
    """The request of the command line."""

    families: list[str]
    quick: bool
    rounds: int | None
    secs: int | None
    patience_secs: float
    only: list[str] | None
    """Names of tools in lower case; absent: all."""
    wheel: Path | None
    """An unpacked release build to measure; absent: one is built from this tree."""
    profile: bool = False
    """Record one more run of LoadPilot per table with perf."""


def compare(request: Request) -> list[Path]:
    """Install, build, measure; returns the pages that were written."""
    found = {name: peers.install(name) for name in _needed(request)}
    made = build.release() if request.wheel is None else build.unpacked(request.wheel)
    if any(FAMILIES[name].server is Server.ORACLE for name in request.families):
        oracle.build()
    tool_core, target_core = _keep_apart()
    pages = []
    for name in request.families:
        family = FAMILIES[name]
        size = family.quick if request.quick else family.full
        rounds = request.rounds or size.rounds
        setting = Setting(
            rounds,
            request.secs or size.secs,
            request.patience_secs,
            tool_core,
            target_core,
            request.quick,
            request.profile,
        )
        when = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
        facts = [*machine.facts(made.name), *_versions(found, setting)]
        result = measure(family, found, made, request.only, setting)
        command = shlex.join(["./dev", "bench", *sys.argv[1:]])
        page = Page(result, when, command, rounds, facts)
        pages += page.write(QUICK_RESULTS if request.quick else RESULTS)
    return pages


def measure(
    family: Family, found: dict[str, Found], made: Build, only: list[str] | None, setting: Setting
) -> Result:
    """Measure a family with the tools that are installed; a missing one is named with its reason.

    Raises SystemExit if the family needs nginx, and nginx is missing.
    """
    nginx = found["nginx"]
    if family.server is Server.NGINX and nginx.path is None:
        raise SystemExit(f"bench: {family.name} needs nginx, which is {nginx.version}")
    tools: list[Tool] = []
    skipped = {}
    for name in family.tools:
        if only is not None and name.lower() not in only:
            skipped[name] = "not selected"
        elif name == OURS:
            tools.append(LoadPilot(made))
        elif (path := found[peer_of(name)].path) is None:
            skipped[name] = found[peer_of(name)].version
        else:
            tools.append(peer(name, str(path)))
    measured = family.measure(Lab(nginx.path, made, tools, skipped, setting))
    server = [] if family.server is Server.SHOP else [("target", family.server.value)]
    return Result(
        family.name,
        family.title,
        family.about,
        family.columns,
        measured.tables,
        measured.goals,
        {**family.excluded, **skipped},
        [*server, *family.setup, *measured.setup],
    )


def peer_of(tool: str) -> str:
    """Name the package of a tool; the original is published as `loadpilot`."""
    return "loadpilot" if tool == "original" else tool.lower()


def _needed(request: Request) -> list[str]:
    """List the peers that may run, and nginx; no other is installed."""
    names = {
        tool.lower() for name in request.families for tool in FAMILIES[name].tools if tool != OURS
    }
    chosen = names if request.only is None else names & set(request.only)
    wanted = {"nginx", *map(peer_of, chosen)}
    return [peer.name for peer in peers.PEERS if peer.name in wanted]


def _keep_apart() -> tuple[int | None, int | None]:
    """Reserve the last core for the tools; this process and every target stay on the first."""
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        return None, None
    os.sched_setaffinity(0, {cores[0]})
    return cores[-1], cores[0]


def _versions(found: dict[str, Found], setting: Setting) -> list[tuple[str, str]]:
    cores = f"tools on core {setting.tool_core}, target and bench on core {setting.target_core}"
    if setting.tool_core is None:
        cores = "one core for everything: figures are not comparable"
    versions = [
        (name, f"{one.version}, from {one.peer.source.value}") for name, one in found.items()
    ]
    return [("cores", cores), *versions]
