"""LoadPilot as a user runs it: one command that starts nats-server, coordinator and agent.

Nothing is switched off for the bench. Its latency is the one it judges by: from the due time, or in
a closed loop from the start of the request.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.measure.machine import ROOT
from bench.tools.tool import Load, Task, Told

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from bench.install.build import Build
    from bench.measure.process_tree import Ran
    from bench.measure.procfs import Look
    from bench.measure.rounds import Figures

SCENARIOS = ROOT / "bench" / "scenarios"
STEADY, STREAMS, SHOP, CHECKED, CALLBACKS = (
    SCENARIOS / f"{name}.py"
    for name in (
        *("constant_rate", "http2_streams", "shop_routes", "checked_request", "shop_callbacks"),
    )
)
PARTS = {
    "agent": "import agent;",
    "nats": "nats-server",
    "coordinator": "import coordinator;",
    "supervisor": "import supervisor;",
}
"""The processes below the command, and what only their command lines have."""
FIRING = "fire-"
"""How the names of an agent's firing threads begin."""
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

    def task(self, load: Load, folder: Path) -> Task:
        """Run the scenario of the benches; flags set the load."""
        scenario, environ = STEADY, dict(self.build.environ)
        if load.shop:
            scenario = SHOP
        if load.streams is not None:
            scenario, environ["BENCH_STREAMS"] = STREAMS, str(load.streams)
        chosen: list[str] = []
        if self.user:
            scenario = CALLBACKS if load.shop else CHECKED
            chosen = ["--scenario", self.user]
        if load.rps is None:
            users = load.connections * (load.streams or 1)
            pace = ["--max", "--users", str(users)]
        else:
            pace = ["--rps", str(load.rps), "--seed", "1"]
        trust = [] if load.cacert is None else ["--cacert", str(load.cacert)]
        argv = self.build.command(
            *("run", str(scenario), "--target", load.url.rstrip("/"), "--agents", "1"),
            *("--duration", f"{load.secs}s", *pace, *trust, *chosen),
            *("--results-json", str(folder / "results.json")),
        )
        return Task(argv, environ)

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

    What begins with `agent_` is a row of its own in the table. The command is what is left of the
    whole tree, so that nothing is lost between two looks; what no look saw is shown beside it.
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
    """Choose the processes of a part; the supervisor's command line names the others too."""
    others = [word for other, word in PARTS.items() if other != part]
    return [
        look
        for look in looks
        if PARTS[part] in look.name
        and (part == "supervisor" or not any(other in look.name for other in others))
    ]
