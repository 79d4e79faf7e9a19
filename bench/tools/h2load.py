"""h2load, with HTTP/2 or HTTP/1.1. It knows mean and extremes of latency, and no percentile."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.tools.tool import Load, Task, Told
from bench.tools.wrk import US

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class H2load:
    """One thread."""

    path: str
    name: str = "h2load"
    ours: bool = False

    def task(self, load: Load, folder: Path) -> Task:  # noqa: ARG002  (it writes no file)
        """Run for a time; it verifies no certificate."""
        if load.rps is not None:
            raise ValueError("h2load's rate is one of connections")
        version = ["--h1"] if load.streams is None else [f"-m{load.streams}"]
        size = ["-t1", f"-c{load.connections}", f"-D{load.secs}"]
        return Task([self.path, *version, *size, load.url])

    def told(self, folder: Path, stdout: str) -> Told:  # noqa: ARG002
        """Read its summary."""
        counts = re.search(r"requests: .* (\d+) done, (\d+) succeeded", stdout)
        times = re.search(r"time for request:\s+\S+\s+([\d.]+)(us|ms|s)", stdout)
        if counts is None or times is None:
            raise ValueError("h2load printed no summary")
        done, good = int(counts[1]), int(counts[2])
        return Told(done, max_us=float(times[1]) * US[times[2]], failed=done - good)
