"""*scaling*: LoadPilot's own cost of a request, while one quantity at a time grows."""

from __future__ import annotations

import resource
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tests.oracle.oracle import Oracle

from bench.families.family import Column, Family, Lab, Measured, Server, Size
from bench.measure import procfs
from bench.measure.process_tree import Running, ToolFault
from bench.measure.rounds import MIB, play
from bench.pages.goals import below
from bench.servers.oracle import BINARY
from bench.tools.loadpilot import FIRING, LoadPilot, agent_pids
from bench.tools.tool import Command, Load, Report, Tool

if TYPE_CHECKING:
    from pathlib import Path

    from bench.install.build import Build
    from bench.measure.rounds import Figures, Setting, Table

ABOUT = """
LoadPilot alone, against the oracle, which counts and has a core of its own. Each row is a run. When
the connections are open and the load is steady, the processor time of every thread is read (to the
ns, /proc/*/schedstat), and again some seconds later. The difference is divided by the requests that
the oracle received meanwhile, so that neither start nor end is in it. *Agent* is the process that
generates the load; *tree* is the whole command with nats-server, coordinator, supervisor and the
command line that draws the live line.

Connections are held by a slow target: at rate R each answer comes N / R after its request, so N are
in flight at any time, each on a connection of its own; the column shows how many the oracle really
had open. Tasks are as many routes of equal weight. Bodies are answers of that size.

*Control* is every thread of the agent that does not fire: its fold of the log, the encoding and
sending of deltas, heartbeats, gauges. It is an upper bound of the cost of deltas, except for the
hand-over of the histograms inside the firing thread, once a tick, which has no account of its own.
Its goal is in percent of one core, at each rate of the table *rate*.
"""
RPS = 2_000
BODY_RPS = 200
"""A rate at which bodies of 1 MB do not saturate the target's core."""
RATES = (500, 2_000, 20_000)
CONNECTIONS = (1, 10, 100, 1_000, 10_000)
TASKS = (1, 10, 50, 200)
BODY_BYTES = (100, 1_000, 10_000, 100_000, 1_000_000)
WARM_SECS = 2
"""Time between the first answers and the first reading."""
TAIL_SECS = 2
"""Duration of the load after the second reading."""
SPARE_FILES = 200
"""Number of files that agent and oracle need beside their connections."""
PATIENCE_SECS = 60.0
LOOK_SECS = 0.5
"""Interval of the check that the run still goes on."""
CONTROL_MAX_PCT = 1.0
COLUMNS = (
    Column("rps", "requests/s at the oracle"),
    Column("open", "connections open"),
    Column("gen_us", "agent: CPU µs a request"),
    Column("gen_ratio", "x the first row"),
    Column("tree_us", "tree: CPU µs a request"),
    Column("tree_ratio", "x the first row"),
    Column("gen_pct", "agent: % of a core"),
    Column("control_pct", "control: % of a core"),
    Column("control_share_pct", "control: % of the agent"),
    Column("rss_mb", "agent: RSS MiB"),
)


@dataclass(frozen=True)
class Step:
    """A row: LoadPilot with one value of the quantity that grows."""

    name: str
    build: Build
    rps: int = RPS
    tasks: int = 1
    delay_secs: float = 0.0
    body_bytes: int | None = None
    connections: int = 1
    """Expected number of open connections."""
    ours: bool = True

    @property
    def behaviours(self) -> tuple[str, ...]:
        """Instructions to the oracle."""
        size = () if self.body_bytes is None else (f"size {self.body_bytes}",)
        return (*size, *((f"delay {self.delay_secs * 1e3:.3f}",) if self.delay_secs else ()))

    def command(self, load: Load, folder: Path) -> Command:
        """Write a scenario with this number of tasks, and build its command."""
        made = LoadPilot(self.build).command(load, folder)
        scenario = folder / "scenario.py"
        scenario.write_text(scenario_of(self.tasks), encoding="utf-8")
        argv = [str(scenario) if word.endswith("constant_rate.py") else word for word in made.argv]
        return replace(made, argv=argv)

    def report(self, folder: Path, stdout: str) -> Report:
        """Not used: the oracle counts."""
        raise NotImplementedError


@dataclass(frozen=True)
class Reading:
    """All counters and costs at one moment."""

    at_secs: float
    requests: int
    connections: int
    fire_secs: float
    control_secs: float
    tree_secs: float
    agent_rss_bytes: int


def measure(lab: Lab) -> Measured:
    """Play all rounds, one table for each quantity that grows."""

    def once(step: Tool, table: Table, folder: Path) -> Figures:
        if not isinstance(step, Step):
            raise TypeError("only steps are played here")
        return _once(step, table, lab.setting, folder)

    tables = []
    for title, steps in axes(lab.build).items():
        table = play(title, steps, lab.setting, once)
        add_ratios(table, steps[0].name)
        tables.append(table)
    words = "control threads of the agent, of a core"
    rows = [f"{rps:,} rps" for rps in RATES]
    return Measured(
        tables,
        [
            below(f"{row}: {words}", tables[-1].spread(row, "control_pct"), CONTROL_MAX_PCT, "%")
            for row in rows
        ],
    )


def axes(build: Build) -> dict[str, list[Step]]:
    """List the tables and their rows; the last is the one of rates."""
    return {
        f"Connections, at {RPS:,} rps": [
            Step(f"{n:,}", build, delay_secs=held_secs(n), connections=n) for n in CONNECTIONS
        ],
        f"Tasks, at {RPS:,} rps": [Step(f"{n:,}", build, tasks=n) for n in TASKS],
        f"Bodies of answers in bytes, at {BODY_RPS:,} rps": [
            Step(f"{n:,}", build, rps=BODY_RPS, body_bytes=n) for n in BODY_BYTES
        ],
        "Rate, and with it the share of the deltas": [
            Step(f"{rps:,} rps", build, rps=rps) for rps in RATES
        ],
    }


def held_secs(connections: int) -> float:
    """Compute the delay of an answer that keeps this number of requests in flight, and never more.

    Below 100 connections the number is exact. From 100 on the delay is 1 % shorter, which leaves
    room for answers that come a little late.
    """
    return (connections - 0.5 if connections < 100 else 0.99 * connections) / RPS


def scenario_of(tasks: int) -> str:
    """Write a scenario with a number of tasks of equal weight."""
    head = (
        "from loadpilot import LoadClient, VUser, scenario, task\n\n\n"
        '@scenario(rps=1, duration="1s", mode="constant")\n'
        "class Scaling(VUser):\n"
    )
    task = (
        "    @task\n    def t{n}(self, client: LoadClient) -> None:\n        client.get('/t{n}')\n"
    )
    return head + "\n".join(task.format(n=n) for n in range(tasks))


def _once(step: Step, table: Table, setting: Setting, folder: Path) -> Figures:
    _check_files(step.connections)
    warm = round((step.delay_secs + WARM_SECS) * step.rps)
    counted = setting.secs * step.rps
    secs = round(2 * step.delay_secs) + WARM_SECS + setting.secs + TAIL_SECS
    with Oracle(BINARY, folder / "oracle.jsonl", behaviours=step.behaviours) as oracle:
        command = step.command(Load(oracle.url, secs, 1, step.rps), folder)
        patience_secs = PATIENCE_SECS + 3 * secs
        run = Running(command.argv, setting.tool_core, folder, command.environ, 2 * patience_secs)
        table.commands.setdefault(step.name, " ".join(command.argv).replace(str(folder), "$TMP"))
        try:
            before = _reading(run.pid, oracle, warm, patience_secs)
            after = _reading(run.pid, oracle, before.requests + counted, patience_secs)
        except BaseException:
            run.end()
            raise
        finally:
            run.wait()
    return between(before, after)


def _check_files(connections: int) -> None:
    """Raise ToolFault for more connections than this machine may hold open."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if most != resource.RLIM_INFINITY and most < connections + SPARE_FILES:
        what = f"{connections:,} connections need {connections + SPARE_FILES:,} open files"
        raise ToolFault(f"{what}, and the limit (ulimit -Hn) is {most:,}")


def _reading(root: int, oracle: Oracle, requests: int, patience_secs: float) -> Reading:
    """Read all counters once the oracle has received `requests`; raises ToolFault."""
    give_up = time.monotonic() + patience_secs
    while not oracle.wait_count(requests, LOOK_SECS):
        if procfs.look(root) is None or time.monotonic() > give_up:
            received = oracle.counts().received
            raise ToolFault(f"the run ended with {received:,} requests where {requests:,} were due")
    looks = {pid: look for pid in procfs.tree(root) if (look := procfs.look(pid)) is not None}
    agents = agent_pids(looks)
    spent = {pid: procfs.threads(pid) for pid in looks}
    firing = [
        secs for pid in agents for name, secs in spent[pid].values() if name.startswith(FIRING)
    ]
    if not firing:
        raise ToolFault("no firing thread was seen: does the agent name them otherwise now?")
    agent_secs = sum(secs for pid in agents for _, secs in spent[pid].values())
    counts = oracle.counts()
    return Reading(
        time.monotonic(),
        counts.received,
        counts.connections_open,
        sum(firing),
        agent_secs - sum(firing),
        sum(secs for threads in spent.values() for _, secs in threads.values()),
        sum(looks[pid].rss_bytes for pid in agents),
    )


def between(before: Reading, after: Reading) -> Figures:
    """Compute the cost of a request between two readings."""
    requests, secs = after.requests - before.requests, after.at_secs - before.at_secs
    control_secs = after.control_secs - before.control_secs
    agent_secs = after.fire_secs - before.fire_secs + control_secs
    return {
        "rps": requests / secs,
        "open": float(after.connections),
        "gen_us": 1e6 * agent_secs / requests,
        "tree_us": 1e6 * (after.tree_secs - before.tree_secs) / requests,
        "gen_pct": 100 * agent_secs / secs,
        "control_pct": 100 * control_secs / secs,
        "control_share_pct": 100 * control_secs / agent_secs,
        "rss_mb": after.agent_rss_bytes / MIB,
    }


def add_ratios(table: Table, first: str) -> None:
    """Put each row's ratio to the first row of the same round into its figures."""
    of_rounds = {one["round"]: one for one in table.figures.get(first, [])}
    for of_row in table.figures.values():
        for figures in of_row:
            yardstick = of_rounds.get(figures["round"], {})
            for key in ("gen", "tree"):
                mine, theirs = figures[f"{key}_us"], yardstick.get(f"{key}_us")
                figures[f"{key}_ratio"] = mine / theirs if mine and theirs else None


FAMILY = Family(
    "scaling",
    "Scaling: the generator's own cost of a request",
    ABOUT,
    COLUMNS,
    measure,
    Size(3, 10),
    Size(1, 2),
    ("LoadPilot",),
    Server.ORACLE,
)
