"""LoadPilot as a user runs it: one command that starts nats-server, coordinator and agent.

Nothing is switched off for the bench. Its latency is the one it judges by: from the due time, or in
a closed loop from the start of the request.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bench.tools.tool import Load, Task, Told

if TYPE_CHECKING:
    from bench.build import Build
    from bench.measured import Process, Ran
    from bench.rounds import Figures

SCENARIO = Path(__file__).parents[1] / "steady.py"
PARTS = {
    "agent": "import agent;",
    "nats": "nats-server",
    "coordinator": "import coordinator;",
    "supervisor": "import supervisor;",
}
"""The processes below the command, and what only their command lines have."""
MIB = 1024 * 1024


@dataclass(frozen=True)
class LoadPilot:
    """One agent."""

    build: Build
    name: str = "LoadPilot"

    def task(self, load: Load, folder: Path) -> Task:
        """Run the scenario of the benches; flags set the load."""
        if load.rps is None:
            pace = ["--max", "--users", str(load.connections)]
        else:
            pace = ["--rps", str(load.rps), "--seed", "1"]
        argv = self.build.command(
            *("run", str(SCENARIO), "--target", load.url.rstrip("/"), "--agents", "1"),
            *("--duration", f"{load.secs}s", *pace),
            *("--results-json", str(folder / "results.json")),
        )
        return Task(argv, self.build.environ)

    def told(self, folder: Path, stdout: str) -> Told:  # noqa: ARG002
        """Read the report."""
        report = json.loads((folder / "results.json").read_text(encoding="utf-8"))
        calls = report["calls"]
        ok = calls["outcomes"].get("ok", 0)
        points = report["latency"]["response"]
        if points is None:
            raise ValueError(f"nothing finished: {calls}")
        return Told(
            calls["attempted"],
            points["p50_us"],
            points["p90_us"],
            points["p99_us"],
            points["max_us"],
            calls["attempted"] - ok,
            report["arrivals"]["planned"],
            report["certificate"]["grade"],
        )


def parts(ran: Ran, requests: int) -> Figures:
    """Say who of LoadPilot's processes spent what; nothing of another tool.

    The command is what is left of the whole tree, so that nothing is lost between two looks.
    """
    if not any(_named(ran, "supervisor")):
        return {}
    figures: Figures = {}
    rest_secs = ran.cpu_secs
    for part in PARTS:
        found = _named(ran, part)
        spent_secs = sum(process.cpu_secs for process in found)
        rest_secs -= spent_secs
        figures[f"{part}_cpu_secs"] = spent_secs
        figures[f"{part}_rss_mb"] = sum(process.rss_max_bytes for process in found) / MIB
    agent_secs = figures["agent_cpu_secs"]
    figures["agent_per_cpu_sec"] = requests / agent_secs if agent_secs else None
    return figures | {"command_cpu_secs": rest_secs}


def _named(ran: Ran, part: str) -> list[Process]:
    """Choose the processes of a part; the supervisor's command line names the others too."""
    others = [word for other, word in PARTS.items() if other != part]
    word = PARTS[part]
    return [
        process
        for process in ran.of(word)
        if part == "supervisor" or not any(other in process.name for other in others)
    ]
