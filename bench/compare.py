"""LoadPilot beside its peers: chooses the tools, keeps the cores apart, runs the families.

Must never measure a development build of LoadPilot, and must never leave a peer out in silence.
"""

from __future__ import annotations

import os
import shlex
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING

from bench.families import (
    arrivals,
    honesty,
    http2,
    max,  # noqa: A004  (it is named so)
    precision,
    python,
    scaling,
    seeds,
    soak,
    tls,
)
from bench.install import build, peers
from bench.measure import machine
from bench.measure.rounds import Setting
from bench.pages.family_page import Page
from bench.servers import oracle
from bench.tools.h2load import H2load
from bench.tools.hey import Hey
from bench.tools.k6 import K6
from bench.tools.loadpilot import LoadPilot
from bench.tools.locust import Locust
from bench.tools.oha import Oha
from bench.tools.original import Original
from bench.tools.vegeta import Vegeta
from bench.tools.wrk import Wrk

if TYPE_CHECKING:
    from pathlib import Path

    from bench.families.family import Result
    from bench.install.build import Build
    from bench.install.peers import Found
    from bench.tools.tool import Tool

RESULTS = machine.ROOT / "bench" / "results"
QUICK_RESULTS = machine.ROOT / "target" / "bench" / "quick"
"""Quick runs say whether the bench works, not how fast anything is: they are not for git."""


class Family(StrEnum):
    """What can be compared."""

    MAX = "max"
    PRECISION = "precision"
    ARRIVALS = "arrivals"
    HONESTY = "honesty"
    HTTP2 = "http2"
    TLS = "tls"
    PYTHON = "python"
    SCALING = "scaling"
    SOAK = "soak"
    SEEDS = "seeds"


@dataclass(frozen=True)
class Size:
    """How long a family is measured."""

    rounds: int
    secs: int


FULL = {
    Family.MAX: Size(9, 5),
    Family.PRECISION: Size(7, 10),
    Family.ARRIVALS: Size(7, 10),
    Family.HONESTY: Size(5, 20),
    Family.HTTP2: Size(9, 5),
    Family.TLS: Size(9, 5),
    Family.PYTHON: Size(5, 5),
    Family.SCALING: Size(3, 10),
    Family.SOAK: Size(1, 600),
    Family.SEEDS: Size(3, 30),
}
QUICK = {
    Family.MAX: Size(3, 2),
    Family.PRECISION: Size(3, 3),
    Family.ARRIVALS: Size(3, 3),
    Family.HONESTY: Size(2, 5),
    Family.HTTP2: Size(3, 2),
    Family.TLS: Size(3, 2),
    Family.PYTHON: Size(2, 2),
    Family.SCALING: Size(1, 2),
    Family.SOAK: Size(1, 10),
    Family.SEEDS: Size(1, 5),
}
MEMBERS = {
    Family.MAX: ("LoadPilot", "wrk", "h2load", "oha", "vegeta", "hey", "k6", "Locust"),
    Family.PRECISION: ("LoadPilot", "wrk", "oha", "vegeta", "k6", "Locust"),
    Family.ARRIVALS: ("LoadPilot", "oha", "vegeta", "k6", "Locust"),
    Family.HONESTY: ("LoadPilot", "oha", "vegeta", "hey", "k6", "Locust"),
    Family.HTTP2: ("LoadPilot", "h2load", "oha"),
    Family.TLS: ("LoadPilot", "wrk", "h2load", "oha", "vegeta", "hey", "k6", "Locust"),
    Family.PYTHON: ("LoadPilot", "wrk", "k6", "Locust", "original"),
    Family.SCALING: ("LoadPilot",),
    Family.SOAK: ("LoadPilot",),
    Family.SEEDS: ("LoadPilot", "k6", "Locust", "original"),
}
"""The tools of each family, in the order of its table."""
PACES_WORKERS = "each of its workers paces itself, so its requests come in bursts by design"
NO_MEMBER = {
    Family.PRECISION: {"hey": PACES_WORKERS, "h2load": "its rate is one of connections"},
    Family.ARRIVALS: {
        "hey": PACES_WORKERS,
        "h2load": "its rate is one of connections",
        "wrk": "it knows no rate",
    },
    Family.HTTP2: {
        "wrk": "it knows HTTP/1.1 only",
        "vegeta": "over HTTP/2 it cannot be told how many streams",
        "hey": "over HTTP/2 it cannot be told how many streams",
        "k6": "HTTP/2 over TLS only",
        "Locust": "it knows HTTP/1.1 only",
    },
}
LOG_TARGET = {Family.PRECISION, Family.ARRIVALS, Family.HONESTY, Family.SCALING}
"""Families whose target is the oracle."""


@dataclass(frozen=True)
class Wish:
    """What was asked for on the command line."""

    families: list[Family]
    quick: bool
    rounds: int | None
    secs: int | None
    patience_secs: float
    only: list[str] | None
    """Names of tools, in small letters; none: all."""
    wheel: Path | None
    """An unpacked release build to measure instead of one of this tree."""
    profile: bool = False
    """Record one more run of LoadPilot a table with perf."""


@dataclass(frozen=True)
class Lab:
    """All that a family may need."""

    family: Family
    nginx: Found
    made: Build
    tools: list[Tool]
    skipped: dict[str, str]
    setting: Setting


def compare(wish: Wish) -> list[Path]:
    """Install, build, measure; returns the pages that were written."""
    found = {name: peers.install(name) for name in _needed(wish)}
    made = build.release() if wish.wheel is None else build.unpacked(wish.wheel)
    if LOG_TARGET & set(wish.families):
        oracle.build()
    tool_core, target_core = _keep_apart()
    pages = []
    for family in wish.families:
        size = (QUICK if wish.quick else FULL)[family]
        secs, rounds = wish.secs or size.secs, wish.rounds or size.rounds
        quick, profiled = wish.quick, wish.profile
        setting = Setting(rounds, secs, wish.patience_secs, tool_core, target_core, quick, profiled)
        tools, skipped = _members(family, found, made, wish.only)
        when = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
        facts = [*machine.facts(made.name), *_versions(found, setting)]
        result = _measure(Lab(family, found["nginx"], made, tools, skipped, setting))
        command = shlex.join(["./dev", "bench", *sys.argv[1:]])
        page = Page(result, when, command, rounds, facts)
        pages += page.write(QUICK_RESULTS if wish.quick else RESULTS)
    return pages


def _measure(lab: Lab) -> Result:
    """Play the rounds of a family."""
    tools, skipped, setting = lab.tools, lab.skipped, lab.setting
    at_nginx = {
        Family.MAX: max,
        Family.HTTP2: http2,
        Family.TLS: tls,
        Family.PYTHON: python,
        Family.SOAK: soak,
    }
    if lab.family is Family.PYTHON:
        tools = [*python.ways(lab.made), *(tool for tool in tools if not tool.ours)]
    if lab.family is Family.SOAK and tools:
        tools = [*tools, *soak.scripted(lab.made)]
    if lab.family in at_nginx:
        if lab.nginx.path is None:
            raise SystemExit(f"bench: {lab.family} needs nginx, which is {lab.nginx.version}")
        result: Result = at_nginx[lab.family].measure(lab.nginx.path, tools, skipped, setting)
        return result
    match lab.family:
        case Family.PRECISION:
            return precision.measure(lab.nginx.path, tools, skipped, setting)
        case Family.ARRIVALS:
            return arrivals.measure(tools, skipped, setting)
        case Family.HONESTY:
            return honesty.measure(tools, skipped, setting)
        case Family.SCALING:
            return scaling.measure(lab.made, setting)
        case _:
            return seeds.measure(lab.made, tools, skipped, setting)


def _members(
    family: Family, found: dict[str, Found], made: Build, only: list[str] | None
) -> tuple[list[Tool], dict[str, str]]:
    """Choose the tools of a family; what is missing is named with its reason."""
    tools: list[Tool] = []
    skipped = dict(NO_MEMBER.get(family, {}))
    for name in MEMBERS[family]:
        if only is not None and name.lower() not in only:
            skipped[name] = "not asked for"
        elif name == "LoadPilot":
            tools.append(LoadPilot(made))
        elif (path := found[peer_of(name)].path) is None:
            skipped[name] = found[peer_of(name)].version
        else:
            tools.append(_tool(name, str(path)))
    return tools, skipped


def peer_of(tool: str) -> str:
    """Name the peer that a tool is; the original has our name there."""
    return "loadpilot" if tool == "original" else tool.lower()


def _tool(name: str, path: str) -> Tool:
    kinds: dict[str, type[Wrk | H2load | Oha | Vegeta | Hey | K6 | Locust | Original]] = {
        "wrk": Wrk,
        "h2load": H2load,
        "oha": Oha,
        "vegeta": Vegeta,
        "hey": Hey,
        "k6": K6,
        "Locust": Locust,
        "original": Original,
    }
    return kinds[name](path)


def _needed(wish: Wish) -> list[str]:
    """List the peers that may be called, nginx among them; no other is installed."""
    wanted = {"nginx"}
    for family in wish.families:
        names = {name.lower() for name in MEMBERS[family] if name != "LoadPilot"}
        chosen = names if wish.only is None else names & set(wish.only)
        wanted |= {peer_of(name) for name in chosen}
    return [peer.name for peer in peers.PEERS if peer.name in wanted]


def _keep_apart() -> tuple[int | None, int | None]:
    """Give the tools the last core; this process and every target stay on the first."""
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
