"""hey. Its rate is one of each worker, and its times have four decimals of a second."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.tools.tool import Load, Task, Told

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class Hey:
    """Its defaults."""

    path: str
    name: str = "hey"
    ours: bool = False

    def task(self, load: Load, folder: Path) -> Task:  # noqa: ARG002  (it writes no file)
        """Run for a time."""
        pace = [] if load.rps is None else ["-q", f"{load.rps / load.connections:g}"]
        size = ["-z", f"{load.secs}s", "-c", str(load.connections)]
        return Task([self.path, *size, *pace, load.url])

    def told(self, folder: Path, stdout: str) -> Told:  # noqa: ARG002
        """Read its summary."""
        statuses = {
            code: int(n) for code, n in re.findall(r"\[(\d{3})\]\s+(\d+) responses", stdout)
        }
        points = dict(re.findall(r"(\d+)%+ in ([\d.]+) secs", stdout))
        most = re.search(r"Slowest:\s+([\d.]+) secs", stdout)
        if not statuses or most is None:
            raise ValueError("hey printed no summary")
        failed = sum(n for code, n in statuses.items() if not code.startswith("2"))
        p50, p90, p99 = (float(points[share]) * 1e6 for share in ("50", "90", "99"))
        return Told(sum(statuses.values()), p50, p90, p99, float(most[1]) * 1e6, failed)
