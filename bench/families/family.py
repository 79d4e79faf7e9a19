"""What a family of measurements is: its tools, its loads, its columns, its goals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bench.measure.rounds import Table
    from bench.pages.goals import Goal


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
)
"""What every family shows of a tool's cost; of LoadPilot all its processes together, and in the row
below the agent's alone: the process that generates the load and sends its deltas."""
PARTS_COST = (
    Column("nats_cpu_secs", "LoadPilot's nats-server: CPU s"),
    Column("nats_rss_mb", "peak RSS MiB"),
    Column("coordinator_cpu_secs", "coordinator: CPU s"),
    Column("supervisor_cpu_secs", "supervisor: CPU s"),
    Column("command_cpu_secs", "the command and the rest: CPU s"),
    Column("unseen_cpu_secs", "of the rest, seen in no look at /proc: CPU s"),
)
"""Who else of LoadPilot's processes spent it, by the last look at each in /proc. The last figure is
wait4's total less all looks: it bounds what the agent's row can miss."""


@dataclass(frozen=True)
class Result:
    """What a family found."""

    name: str
    title: str
    about: str
    """How it was measured, as Markdown."""
    columns: tuple[Column, ...]
    tables: list[Table]
    goals: list[Goal]
    skipped: dict[str, str]
    """Tools that are not in the tables, and why."""
    setup: list[tuple[str, str]]
    """What else the figures depend on."""
