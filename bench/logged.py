"""A run against the oracle, which logs when each request arrived; and what it counted.

Every tool meets a new oracle. Its build is a release one, so that the target's own waking is as
short as it can be for everybody. The arrival is when the oracle's thread read the first bytes,
which is later than when the kernel had them. Must never take a count from a tool.
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.oracle.oracle import Oracle

from bench.machine import ROOT
from bench.measured import cpu_secs
from bench.rounds import Run, Setting, Table, shoot
from bench.tools.tool import Load, Tool

if TYPE_CHECKING:
    from pathlib import Path

BINARY = ROOT / "target" / "release" / "loadpilot-oracle"
NICE = ("nice", "-n", "10")


@dataclass(frozen=True)
class Logged:
    """What came of one run."""

    run: Run
    arrivals_us: list[int]
    """When each request was read, in order."""
    connections: int
    target_cpu_secs: float


def build() -> None:
    """Build the oracle; it has no dependency but libc."""
    argv = [*NICE, "cargo", "build", "--release", "--quiet", "-p", "loadpilot-oracle"]
    subprocess.run(argv, cwd=ROOT, check=True)


def shoot_at_oracle(
    tool: Tool,
    load_of: tuple[int, int],
    setting: Setting,
    table: Table,
    folder: Path,
    behaviours: tuple[str, ...] = (),
) -> Logged:
    """Run a tool at `(rps, connections)` for the setting's time against an oracle of its own."""
    rps, connections = load_of
    with Oracle(BINARY, folder / "oracle.jsonl", behaviours=behaviours) as oracle:
        load = Load(f"{oracle.url}/", setting.secs, connections, rps)
        run = shoot(tool, load, setting, table, folder)
        target_cpu_secs = cpu_secs(oracle.pid)
        requests = oracle.requests()
    arrivals_us = sorted(request.arrival_us for request in requests)
    return Logged(
        run, arrivals_us, len({request.connection for request in requests}), target_cpu_secs
    )
