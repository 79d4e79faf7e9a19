"""wrk: the fastest of the closed loops, and the yardstick for cost. It knows no rate."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.tools.tool import Load, Task, Told

if TYPE_CHECKING:
    from pathlib import Path

US = {"us": 1.0, "ms": 1e3, "s": 1e6, "m": 60e6}
"""The units that it writes behind a time."""


@dataclass(frozen=True)
class Wrk:
    """One thread."""

    path: str
    name: str = "wrk"
    ours: bool = False

    def task(self, load: Load, folder: Path) -> Task:  # noqa: ARG002  (it writes no file)
        """Ask for the latency distribution too: it is recorded anyway."""
        if load.rps is not None:
            raise ValueError("wrk knows no rate")
        size = ["-t1", f"-c{load.connections}", f"-d{load.secs}s"]
        return Task([self.path, *size, "--latency", load.url])

    def told(self, folder: Path, stdout: str) -> Told:  # noqa: ARG002
        """Read its summary."""
        sent = re.search(r"(\d+) requests in", stdout)
        most = re.search(r"Latency\s+\S+\s+\S+\s+([\d.]+)(us|ms|s|m)\b", stdout)
        points = {
            share: float(value) * US[unit]
            for share, value, unit in re.findall(r"(\d+)%\s+([\d.]+)(us|ms|s|m)\b", stdout)
        }
        if sent is None or most is None:
            raise ValueError("wrk printed no summary")
        bad = re.search(r"Non-2xx or 3xx responses: (\d+)", stdout)
        errors = re.search(r"connect (\d+), read (\d+), write (\d+), timeout (\d+)", stdout)
        failed = int(bad[1]) if bad else 0
        failed += sum(int(one) for one in errors.groups()) if errors else 0
        return Told(
            int(sent[1]),
            points["50"],
            points["90"],
            points["99"],
            float(most[1]) * US[most[2]],
            failed,
        )
