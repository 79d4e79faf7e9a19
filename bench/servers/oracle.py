"""A run against the oracle, which logs the arrival of each request.

Every run has a new oracle. Its build is a release one, so that the target's own wake-up is as
short as possible for every tool. An arrival has two times: when the kernel had received it, before
any process of the target woke, and when the oracle's thread had read it. No count is
taken from a tool.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.oracle.oracle import Oracle

from bench.install.build import cargo
from bench.measure.machine import ROOT
from bench.measure.procfs import cpu_secs
from bench.measure.rounds import Run, Setting, Table, shoot
from bench.tools.tool import Load, Tool

if TYPE_CHECKING:
    from pathlib import Path

BINARY = ROOT / "target" / "release" / "loadpilot-oracle"
KERNEL_TIMES = sys.platform == "linux"
"""Other kernels have no receive time of TCP, and the oracle refuses the option."""


@dataclass(frozen=True)
class Logged:
    """One run, with the oracle's log."""

    run: Run
    read_us: list[int]
    """When the oracle read each request, in order."""
    kernel_us: list[int]
    """When the kernel had received each, in order, where its time is known."""
    connections: int
    target_cpu_secs: float

    @property
    def kernel_knows(self) -> bool:
        """Whether the kernel's times are complete: an incomplete list is not used."""
        return len(self.kernel_us) == len(self.read_us)

    @property
    def arrivals_us(self) -> list[int]:
        """Choose the kernel's times if they are complete, else the oracle's."""
        return self.kernel_us if self.kernel_knows else self.read_us


def build() -> None:
    """Build the oracle; it has no dependency but libc."""
    cargo("-p", "loadpilot-oracle", release=True)


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
    log = folder / "oracle.jsonl"
    with Oracle(BINARY, log, behaviours=behaviours, kernel_times=KERNEL_TIMES) as oracle:
        load = Load(f"{oracle.url}/", setting.secs, connections, rps)
        run = shoot(tool, load, setting, table, folder)
        target_cpu_secs = cpu_secs(oracle.pid)
        requests = oracle.requests()
    return Logged(
        run,
        sorted(request.arrival_us for request in requests),
        sorted(one.kernel_us for one in requests if one.kernel_us is not None),
        len({request.connection for request in requests}),
        target_cpu_secs,
    )
