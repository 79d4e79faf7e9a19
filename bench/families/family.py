"""A family of measurements as data: its tools, sizes, columns, and the function that measures."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from bench.install.build import Build
    from bench.measure.rounds import Figures, Setting, Table
    from bench.pages.goals import Goal
    from bench.tools.tool import Report, Tool

OURS = "LoadPilot"


@dataclass(frozen=True)
class Column:
    """A figure that is shown of every tool."""

    key: str
    title: str


COST = (
    Column("cpu_secs", "CPU s"),
    Column("us_per_request", "CPU µs a request"),
    Column("user_secs", "user s"),
    Column("sys_secs", "system s"),
    Column("rss_mb", "peak RSS MiB"),
    Column("nats_cpu_secs", "LoadPilot's nats-server: CPU s"),
    Column("nats_rss_mb", "peak RSS MiB"),
    Column("coordinator_cpu_secs", "coordinator: CPU s"),
    Column("supervisor_cpu_secs", "supervisor: CPU s"),
    Column("command_cpu_secs", "the command and the rest: CPU s"),
    Column("unseen_cpu_secs", "of the rest, in no sample of /proc: CPU s"),
)
"""The cost of a tool; of LoadPilot all its processes together, and in the row below the agent's
alone. The columns after the first five split LoadPilot's cost by process, from the last sample of
each in /proc. The last one is wait4's total less all samples: it bounds the processor time that the
agent's row can miss."""


class Server(Enum):
    """The server under load."""

    NGINX = "nginx, one worker, `return 200` with 25 bytes of JSON, stub_status"
    ORACLE = "the oracle (release build), a thread a connection"
    SHOP = "bench/target"


@dataclass(frozen=True)
class Size:
    """Number of rounds, and seconds of each run."""

    rounds: int
    secs: int


@dataclass(frozen=True)
class Lab:
    """Programs and settings for the measurements of a family."""

    nginx: Path | None
    build: Build
    tools: list[Tool]
    skipped: dict[str, str]
    setting: Setting


@dataclass(frozen=True)
class Measured:
    """The tables and goals of a family."""

    tables: list[Table]
    goals: list[Goal]
    setup: list[tuple[str, str]] = field(default_factory=list)
    """Further facts that the figures depend on, known after the build of the server."""


@dataclass(frozen=True)
class Family:
    """A family of measurements."""

    name: str
    title: str
    about: str
    """How it measures, as Markdown."""
    columns: tuple[Column, ...]
    measure: Callable[[Lab], Measured]
    full: Size
    quick: Size
    tools: tuple[str, ...]
    """The tools in the order of the tables; LoadPilot is the first."""
    server: Server
    setup: tuple[tuple[str, str], ...] = ()
    """Facts that the figures depend on."""
    excluded: dict[str, str] = field(default_factory=dict)
    """Tools that are not in the tables, and why."""


@dataclass(frozen=True)
class Result:
    """The result of a family, as a page shows it."""

    name: str
    title: str
    about: str
    columns: tuple[Column, ...]
    tables: list[Table]
    goals: list[Goal]
    skipped: dict[str, str]
    setup: list[tuple[str, str]]


def reported(report: Report, *keys: str) -> Figures:
    """Take figures of a tool's own report; absent where it reports none."""
    found = ((key, getattr(report, key)) for key in keys)
    return {key: None if value is None else float(value) for key, value in found}
