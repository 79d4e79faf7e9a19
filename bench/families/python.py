"""Tasks in Python: what a look at each answer costs.

A task makes one GET with a header, checks the status and parses the JSON; 64 users against nginx
with one worker on a core of its own, the generator on the other. *LoadPilot, async* and
*LoadPilot, sync* are the same task as a coroutine and as a plain function, both in Python;
*LoadPilot, compiled* is that plain function as code, which the engine plays without Python;
*LoadPilot, batch* makes five requests at a time, without JSON, as code, and *LoadPilot, batch in
Python* in Python; *LoadPilot, constant* sends the same request and looks at nothing.
k6, Locust and the original LoadPilot run the same check; wrk sends the bare request. The second
table offers 500 requests a second to see what Python costs a run that is not pushed. The third has
10,000 users, each of which makes the request, looks at the answer and rests for five seconds: what
a user costs. Ratios are for the agent process, as in *max*; memory is the agent's at most.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bench.families.family import Result
from bench.families.max import COLUMNS
from bench.families.nginx_closed import PER_CPU, play_closed
from bench.measure.rounds import Setting, Table, agent_of
from bench.pages.goals import Goal, at_least, at_most
from bench.servers.nginx import Speaks
from bench.tools.loadpilot import LoadPilot
from bench.tools.original import Original
from bench.tools.tool import Load, Tool

if TYPE_CHECKING:
    from pathlib import Path

    from bench.install.build import Build

USERS = 64
RPS = 500
WAYS = {
    "constant": "Constant",
    "compiled": "Compiled",
    "async": "Awaited",
    "sync": "Plain",
    "batch": "Batched",
    "batch in Python": "BatchedInPython",
}
"""How a task can be written, and the class of `bench/scenarios/checked_request.py` that is."""
OF_WRK = {"compiled": 1.0, "async": 0.9, "sync": 0.8}
"""Requests a CPU-second, as a multiple of wrk's."""
OF_PEERS = {"k6": 8.0, "Locust": 10.0, Original.name: 3.0}
"""The same of async, as a multiple of peers with a check."""
BATCH_OF_CONSTANT = 0.97
CALM_OF_CONSTANT = 1.3
"""CPU at 500 requests a second, as a multiple of constant."""
MANY = 10_000
RESTING = {"async": "RestingAwaited", "sync": "RestingPlain"}
MANY_RSS_MAX_MIB = 500.0
"""Of the agent with so many users."""
MANY_SECS_MIN = 10
"""Twice what each rests, so that all of them have been at it."""


def ways(made: Build) -> list[Tool]:
    """List LoadPilot in each way to write the task."""
    return [LoadPilot(made, name=name(way), user=user) for way, user in WAYS.items()]


def measure(nginx: Path, tools: list[Tool], skipped: dict[str, str], setting: Setting) -> Result:
    """Play all rounds, pushed and calm."""
    ours = [tool for tool in tools if isinstance(tool, LoadPilot)]
    load = Load("", setting.secs, USERS, checked=True)
    http1 = Speaks.HTTP1
    title = f"Pushed, {USERS} users"
    pushed = play_closed(title, nginx, http1, tools, load, setting, "wrk")
    title, load = f"Calm, {RPS} requests/s", replace(load, rps=RPS)
    calm = play_closed(title, nginx, http1, ours[:4], load, setting, name("constant"))
    resting = [replace(one, user=RESTING[way]) for way in RESTING for one in _named(ours, way)]
    longer = replace(setting, secs=max(setting.secs, MANY_SECS_MIN))
    title, load = f"{MANY:,} users that rest", Load("", longer.secs, MANY)
    many = play_closed(title, nginx, http1, resting, load, longer, name("async"))
    setup = [("target", "nginx, one worker, `return 200` with 25 bytes of JSON, stub_status")]
    title = "Python: what a look at each answer costs"
    goals = [*_pushed(pushed), *_calm(calm), *_many(many)]
    tables = [pushed, calm, many]
    return Result("python", title, __doc__ or "", COLUMNS, tables, goals, skipped, setup)


def _named(ours: list[LoadPilot], way: str) -> list[LoadPilot]:
    return [tool for tool in ours if tool.name == name(way)]


def name(way: str) -> str:
    """Name a row."""
    return f"LoadPilot, {way}"


def _pushed(table: Table) -> list[Goal]:
    goals = []
    for way, floor in OF_WRK.items():
        ratio = table.ratio(agent_of(name(way)), "wrk", PER_CPU)
        goals.append(at_least(f"{way}: requests a CPU-second, to wrk", ratio, floor))
    for peer, floor in OF_PEERS.items():
        ratio = table.ratio(agent_of(name("async")), peer, PER_CPU)
        words = f"async: requests a CPU-second, to {peer} with a check"
        goals.append(at_least(words, ratio, floor))
    for way in ("batch", "batch in Python"):
        ratio = table.ratio(agent_of(name(way)), agent_of(name("constant")), PER_CPU)
        words = f"{way} of five: requests a CPU-second, to constant"
        goals.append(at_least(words, ratio, BATCH_OF_CONSTANT))
    return goals


def _calm(table: Table) -> list[Goal]:
    constant = agent_of(name("constant"))
    return [
        at_most(
            f"{way} at {RPS} requests/s: CPU of the agent, to constant",
            table.ratio(agent_of(name(way)), constant, "cpu_secs"),
            CALM_OF_CONSTANT,
            "x",
        )
        for way in ("compiled", "async", "sync")
    ]


def _many(table: Table) -> list[Goal]:
    return [
        at_most(
            f"{way}: peak RSS of the agent with {MANY:,} users",
            table.spread(agent_of(name(way)), "rss_mb"),
            MANY_RSS_MAX_MIB,
            "MiB",
        )
        for way in RESTING
    ]
