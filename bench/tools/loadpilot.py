"""LoadPilot as a user runs it: one command that starts nats-server, coordinator and agent.

Nothing is switched off for the bench. The latency is the one that LoadPilot judges by: from the due
time, or in a closed loop from the start of the request.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.measure.machine import SCENARIOS
from bench.tools.tool import Command, Load, Report

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from bench.install.build import Build
    from bench.measure.process_tree import Ran
    from bench.measure.procfs import Look
    from bench.measure.rounds import Figures

PARTS = {
    "agent": "import agent;",
    "nats": "nats-server",
    "coordinator": "import coordinator;",
    "supervisor": "import supervisor;",
}
"""The processes below the command, and the word by which their command lines differ."""
FIRING = "fire-"
"""Prefix of the names of an agent's firing threads."""
MIB = 1024 * 1024


@dataclass(frozen=True)
class LoadPilot:
    """One agent."""

    build: Build
    name: str = "LoadPilot"
    ours: bool = True
    user: str = ""
    """The class of a scenario file to run: of `shop_callbacks.py` for the shop, otherwise of
    `checked_request.py`. Empty: the load decides."""

    def command(self, load: Load, folder: Path) -> Command:
        """Run a scenario of the bench; flags set the load."""
        environ = dict(self.build.environ)
        scenario = "shop_routes" if load.shop else "constant_rate"
        if load.streams is not None:
            scenario, environ["BENCH_STREAMS"] = "http2_streams", str(load.streams)
        if self.user:
            scenario = "shop_callbacks" if load.shop else "checked_request"
        if load.rps is None:
            pace = ["--max", "--users", str(load.connections * (load.streams or 1))]
        else:
            pace = ["--rps", str(load.rps), "--seed", "1"]
        trust = [] if load.cacert is None else ["--cacert", str(load.cacert)]
        chosen = ["--scenario", self.user] if self.user else []
        argv = self.build.command(
            *("run", str(SCENARIOS / f"{scenario}.py"), "--target", load.url.rstrip("/")),
            *("--agents", "1", "--duration", f"{load.secs}s", *pace, *trust, *chosen),
            *("--results-json", str(folder / "results.json")),
        )
        return Command(argv, environ)

    def report(self, folder: Path, stdout: str) -> Report:  # noqa: ARG002
        """Read the report."""
        report = json.loads((folder / "results.json").read_text(encoding="utf-8"))
        calls, points = report["calls"], report["latency"]["response"]
        if points is None:
            raise ValueError(f"no call finished: {calls}")
        return Report(
            calls["attempted"],
            points["p50_us"],
            points["p90_us"],
            points["p99_us"],
            points["max_us"],
            calls["attempted"] - calls["outcomes"].get("ok", 0),
            report["arrivals"]["planned"],
            report["certificate"]["grade"],
        )


def parts(ran: Ran, requests: int) -> Figures:
    """Split the cost between LoadPilot's processes; empty for another tool.

    Keys with the prefix `agent_` make a row of their own in the table. The command's figure is the
    rest of the whole tree, so that nothing is lost between two samples of /proc. Processor time in
    no sample is a figure of its own.
    """
    if not any(_named(ran.processes.values(), "supervisor")):
        return {}
    figures: Figures = {}
    rest_secs = ran.cpu_secs
    for part in PARTS:
        found = _named(ran.processes.values(), part)
        spent_secs = sum(process.cpu_secs for process in found)
        rest_secs -= spent_secs
        figures[f"{part}_cpu_secs"] = spent_secs
        figures[f"{part}_rss_mb"] = sum(process.rss_max_bytes for process in found) / MIB
    agents = _named(ran.processes.values(), "agent")
    spent_secs = sum(process.cpu_secs for process in agents)
    return figures | {
        "agent_user_secs": sum(process.user_secs for process in agents),
        "agent_sys_secs": sum(process.sys_secs for process in agents),
        "agent_us_per_request": spent_secs * 1e6 / requests if requests else None,
        "agent_per_cpu_sec": requests / spent_secs if spent_secs else None,
        "command_cpu_secs": rest_secs,
        "unseen_cpu_secs": ran.unseen_secs,
    }


def agent_pids(looks: dict[int, Look]) -> list[int]:
    """Find the agents of a tree."""
    agents = _named(looks.values(), "agent")
    return [pid for pid, look in looks.items() if look in agents]


def _named(looks: Iterable[Look], part: str) -> list[Look]:
    """Select the processes of a part; the supervisor's command line names the others too."""
    others = [word for other, word in PARTS.items() if other != part]
    return [
        look
        for look in looks
        if PARTS[part] in look.name
        and (part == "supervisor" or not any(other in look.name for other in others))
    ]
