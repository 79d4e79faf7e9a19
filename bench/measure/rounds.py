"""Rounds: every tool runs once a round, in an order that rotates by one.

A machine changes while it is measured. In a round all tools meet nearly the same machine, so ratios
are taken within a round, and their median is shown. A failed run is shown as failed, never
repeated.
"""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from bench.measure import machine, spread
from bench.measure.perf_profile import Recorder
from bench.measure.process_tree import ToolFault, run
from bench.tools.tool import Tool

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.measure.process_tree import Ran
    from bench.measure.spread import Spread
    from bench.pages.distribution_plot import Chart
    from bench.tools.tool import Load, Report

MIB = 1024 * 1024
AGENT = "agent_"
"""Prefix of the keys of a generator's own process."""
Figures = dict[str, float | None]
"""The figures of one run, by the key of their column; None where a tool does not report one."""


@dataclass(frozen=True)
class Setting:
    """Settings of the runs of a family."""

    rounds: int
    secs: int
    patience_secs: float
    tool_core: int | None
    target_core: int | None
    quick: bool = False
    """A check that the bench works, with development builds of the servers."""
    profile: bool = False
    """Record one more run of LoadPilot with perf, after the rounds and in no figure."""


@dataclass
class Table:
    """The figures of every round, by tool."""

    title: str
    figures: dict[str, list[Figures]] = field(default_factory=lambda: defaultdict(list))
    failures: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    notes: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    commands: dict[str, str] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)
    """Rows without figures and the reason; the table shows them too."""
    charts: dict[Chart, dict[str, list[float]]] = field(default_factory=dict)
    """Of each tool's first round: a whole distribution in µs, sorted, where a family draws one."""
    profile: str = ""
    """The agent's hottest symbols, or why there is no such list; empty without `--profile`."""
    busy: list[str] = field(default_factory=list)
    """CPU load before each round."""

    def add(self, tool: str, figures: Figures) -> None:
        """Add a run; keys with the prefix `agent_` go into a row of their own below the tool's."""
        agent = {key.removeprefix(AGENT): v for key, v in figures.items() if key.startswith(AGENT)}
        self.figures[tool].append({k: v for k, v in figures.items() if not k.startswith(AGENT)})
        if agent:
            self.figures[agent_of(tool)].append(agent | {"round": figures["round"]})

    def draw(self, chart: Chart, tool: str, sorted_us: list[float]) -> None:
        """Keep a distribution; only the first of a tool is drawn."""
        if sorted_us:
            self.charts.setdefault(chart, {}).setdefault(tool, sorted_us)

    def spread(self, tool: str, key: str) -> Spread | None:
        """Compute the middle of a figure; none if no round has it."""
        values = [
            one for figures in self.figures.get(tool, []) if (one := figures.get(key)) is not None
        ]
        return spread.of(values) if values else None

    def ratio(self, tool: str, other: str, key: str) -> Spread | None:
        """Compute the middle of a figure's ratio to another tool's of the same round."""
        pairs = (
            (mine.get(key), theirs.get(key))
            for mine, theirs in zip(self._by_round(tool), self._by_round(other), strict=True)
        )
        ratios = [mine / theirs for mine, theirs in pairs if mine is not None and theirs]
        return spread.of(ratios) if ratios else None

    def _by_round(self, tool: str) -> list[Figures]:
        rounds = len(self.busy)
        by_round = {int(figures["round"] or 0): figures for figures in self.figures.get(tool, [])}
        return [by_round.get(number, {}) for number in range(rounds)]


def agent_of(tool: str) -> str:
    """Name the row of a tool's generating process."""
    return f"{tool}'s agent"


@dataclass(frozen=True)
class Run:
    """One run of one tool, with its files still there."""

    ran: Ran
    report: Report
    folder: Path


Once = Callable[[Tool, Table, Path], Figures]
"""Runs a tool once in a folder of its own; raises ToolFault, ValueError, KeyError or OSError."""


def play(title: str, tools: Sequence[Tool], setting: Setting, once: Once) -> Table:
    """Run every round; an error of a tool ends its run and not the bench."""
    table = Table(title)
    print(title, flush=True)
    for number in range(setting.rounds):
        table.busy.append(machine.quiet(setting.patience_secs))
        first = number % max(1, len(tools))
        for tool in [*tools[first:], *tools[:first]]:
            try:
                with folder() as place:
                    figures = once(tool, table, Path(place))
            except (ToolFault, ValueError, KeyError, OSError) as fault:
                why = f"{type(fault).__name__}: {fault}".replace("\n", " ")[:300]
                table.failures[tool.name].append(why)
                print(f"  round {number + 1}: {tool.name} FAILED: {why}", flush=True)
                continue
            table.add(tool.name, figures | {"round": float(number)})
            shown = " ".join(
                f"{key}={value:,.4g}" for key, value in figures.items() if value is not None
            )
            print(f"  round {number + 1}: {tool.name:10} {shown}", flush=True)
    if setting.profile:
        table.profile = _profile(tools, once)
    return table


def _profile(tools: Sequence[Tool], once: Once) -> str:
    """Run the last row of LoadPilot once more under perf; its figures are discarded."""
    ours = [tool for tool in tools if tool.ours]
    if not ours:
        return "no profile: LoadPilot is not in this table"
    with folder() as place, Recorder(Path(place)) as recorder:
        try:
            once(ours[-1], Table("profiled"), Path(place))
        except (ToolFault, ValueError, KeyError, OSError) as fault:
            return f"no profile: the run failed: {fault}"
    print(recorder.result, flush=True)
    return recorder.result


def shoot(tool: Tool, load: Load, setting: Setting, table: Table, folder: Path) -> Run:
    """Run a tool once, and note its command the first time."""
    command = tool.command(load, folder)
    ran = run(command.argv, setting.tool_core, folder, command.environ, 60 + 5 * load.secs)
    table.commands.setdefault(tool.name, _plain(ran.argv, folder, load.url))
    try:
        report = tool.report(folder, ran.stdout)
    except (ValueError, KeyError, OSError) as fault:
        last = (ran.stderr or ran.stdout)[-200:]
        raise ToolFault(f"exit {ran.exit_code}, no report ({fault}): {last}") from fault
    if report.note:
        table.notes[tool.name].add(report.note)
    return Run(ran, report, folder)


def cost(ran: Ran, requests: int) -> Figures:
    """Compute the figures of cost that every run has."""
    return {
        "cpu_secs": ran.cpu_secs,
        "us_per_request": ran.cpu_secs * 1e6 / requests if requests else None,
        "user_secs": ran.user_secs,
        "sys_secs": ran.sys_secs,
        "rss_mb": ran.rss_max_bytes / MIB,
    }


def folder() -> tempfile.TemporaryDirectory[str]:
    """Make a folder for one run."""
    return tempfile.TemporaryDirectory(prefix="loadpilot-bench-")


def _plain(argv: list[str], folder: Path, url: str) -> str:
    """Write a command with `$TMP` and `$URL` for its folder and address."""
    text = " ".join(argv).replace(str(folder), "$TMP").replace(url.rstrip("/"), "$URL")
    return text.replace(f"{machine.ROOT}/", "")
