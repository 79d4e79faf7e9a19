"""oha. At a rate it is given `--latency-correction`, which is its answer to a stalled target."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.tools.tool import Load, Task, Told

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class Oha:
    """Its defaults, without the screen."""

    path: str
    name: str = "oha"
    ours: bool = False

    def task(self, load: Load, folder: Path) -> Task:  # noqa: ARG002  (it writes no file)
        """Run for a time."""
        pace = [] if load.rps is None else ["-q", str(load.rps), "--latency-correction"]
        size = ["-z", f"{load.secs}s", "-c", str(load.connections)]
        quiet = ["--no-tui", "--output-format", "json"]
        streams = [] if load.streams is None else ["--http2", "-p", str(load.streams)]
        trust = [] if load.cacert is None else ["--cacert", str(load.cacert)]
        return Task([self.path, *quiet, *size, *pace, *streams, *trust, load.url])

    def told(self, folder: Path, stdout: str) -> Told:  # noqa: ARG002
        """Read its JSON; times are in seconds. What the end of time cut off is no failure."""
        said = json.loads(stdout)
        points = said["latencyPercentiles"]
        statuses = said["statusCodeDistribution"]
        errors = said["errorDistribution"]
        failed = sum(n for why, n in errors.items() if "deadline" not in why)
        failed += sum(n for status, n in statuses.items() if not status.startswith("2"))
        return Told(
            sum(statuses.values()),
            _us(points["p50"]),
            _us(points["p90"]),
            _us(points["p99"]),
            _us(said["summary"]["slowest"]),
            failed,
        )


def _us(secs: float | None) -> float | None:
    return None if secs is None else secs * 1e6
