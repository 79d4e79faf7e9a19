"""*python*: the cost of a check of each response, in each way to write a task."""

from __future__ import annotations

from dataclasses import replace

from bench.families.closed_loop import PER_CPU, play_closed
from bench.families.closed_loop import columns as closed_loop_columns
from bench.families.family import Family, Lab, Measured, Server, Size
from bench.measure.rounds import Table, agent_of
from bench.pages.goals import Goal, at_least, at_most
from bench.tools.loadpilot import LoadPilot
from bench.tools.peers import ORIGINAL
from bench.tools.tool import Load

ABOUT = """
A task makes one GET with a header, checks the status and parses the JSON; 64 users against nginx
with one worker on a core of its own, the generator on the other. *LoadPilot, async* and
*LoadPilot, sync* are the same task as a coroutine and as a plain function, both in Python;
*LoadPilot, compiled* is that plain function as code, which the engine plays without Python;
*LoadPilot, batch* makes five requests at a time, without JSON, as code, and *LoadPilot, batch in
Python* in Python; *LoadPilot, constant* sends the same request and checks nothing.
k6, Locust and the original LoadPilot run the same check; wrk sends the bare request. The second
table offers 500 requests a second: the cost of Python in a run below its limit. The third has
10,000 users; each makes the request, checks the answer and pauses for five seconds: the cost of a
user. Ratios are for the agent process, as in *max*; memory is the agent's maximum.
"""
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
"""Ways to write a task, and the class of `checked_request.py` for each."""
OF_WRK = {"compiled": 1.0, "async": 0.9, "sync": 0.8}
"""Minimum requests per CPU-second, as a multiple of wrk's."""
OF_PEERS = {"k6": 8.0, "Locust": 10.0, ORIGINAL: 3.0}
"""The same of async, as a multiple of peers with a check."""
BATCH_OF_CONSTANT = 0.97
CALM_OF_CONSTANT = 1.3
"""Maximum CPU at 500 requests a second, as a multiple of constant."""
MANY = 10_000
RESTING = {"async": "RestingAwaited", "sync": "RestingPlain"}
MANY_RSS_MAX_MIB = 500.0
"""Maximum memory of the agent with `MANY` users."""
MANY_SECS_MIN = 10
"""Twice the pause of a user, so that every user has made a request."""


def measure(lab: Lab) -> Measured:
    """Play all rounds: as fast as possible, at a rate, with many users."""
    ours = {way: LoadPilot(lab.build, name=name(way), user=user) for way, user in WAYS.items()}
    tools = [*ours.values(), *(tool for tool in lab.tools if not tool.ours)]
    load = Load("", lab.setting.secs, USERS, checked=True)
    pushed = play_closed(f"Pushed, {USERS} users", lab, tools, load, "wrk")
    title, load = f"Calm, {RPS} requests/s", replace(load, rps=RPS)
    calm = play_closed(title, lab, list(ours.values())[:4], load, name("constant"))
    resting = [replace(ours[way], user=user) for way, user in RESTING.items()]
    longer = replace(lab.setting, secs=max(lab.setting.secs, MANY_SECS_MIN))
    title, load = f"{MANY:,} users that rest", Load("", longer.secs, MANY)
    many = play_closed(title, lab, resting, load, name("async"), setting=longer)
    return Measured([pushed, calm, many], [*_pushed(pushed), *_calm(calm), *_many(many)])


def name(way: str) -> str:
    """Name a row."""
    return f"LoadPilot, {way}"


def _pushed(table: Table) -> list[Goal]:
    constant = agent_of(name("constant"))
    wanted = (
        *((way, "wrk", "to wrk", floor) for way, floor in OF_WRK.items()),
        *(("async", peer, f"to {peer} with a check", floor) for peer, floor in OF_PEERS.items()),
        *(
            (way, constant, "to constant", BATCH_OF_CONSTANT)
            for way in ("batch", "batch in Python")
        ),
    )
    return [
        at_least(
            f"{way}{' of five' if other == constant else ''}: requests a CPU-second, {words}",
            table.ratio(agent_of(name(way)), other, PER_CPU),
            floor,
        )
        for way, other, words, floor in wanted
    ]


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


FAMILY = Family(
    "python",
    "Python: what a check of each answer costs",
    ABOUT,
    closed_loop_columns("wrk", connections=False),
    measure,
    Size(5, 5),
    Size(2, 2),
    ("LoadPilot", "wrk", "k6", "Locust", "original"),
    Server.NGINX,
)
