"""k6: users in a closed loop, or `constant-arrival-rate`.

Its time of a request begins when it is sent, without the wait for a user or a connection.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.measure.machine import ROOT
from bench.tools.tool import Load, Task, Told

if TYPE_CHECKING:
    from pathlib import Path

SCRIPT = ROOT / "bench" / "scenarios" / "k6_script.js"


@dataclass(frozen=True)
class K6:
    """Its defaults, with answers thrown away as its documentation advises for high rates."""

    path: str
    name: str = "k6"
    ours: bool = False

    def task(self, load: Load, folder: Path) -> Task:
        """Hand the load to the script through the environment."""
        given = {
            "BENCH_URL": load.url,
            "BENCH_SECS": str(load.secs),
            "BENCH_USERS": str(load.connections),
            "BENCH_RPS": str(load.rps or 0),
            "BENCH_SUMMARY": str(folder / "summary.json"),
            "BENCH_SHOP": "1" if load.shop else "",
            "BENCH_CHECKED": "1" if load.checked else "",
        }
        flags = [flag for name, value in given.items() for flag in ("-e", f"{name}={value}")]
        environ = dict(os.environ) | {"K6_NO_USAGE_REPORT": "true", "HOME": str(folder)}
        if load.cacert is not None:  # Go takes it instead of the system's
            environ["SSL_CERT_FILE"] = str(load.cacert)
        return Task([self.path, "run", "--quiet", "--no-color", *flags, str(SCRIPT)], environ)

    def told(self, folder: Path, stdout: str) -> Told:  # noqa: ARG002
        """Read the summary that the script leaves; times are in ms."""
        said = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
        times = said["http_req_duration"]["values"]
        sent = said["http_reqs"]["values"]["count"]
        dropped = said.get("dropped_iterations", {"values": {"count": 0}})["values"]["count"]
        failed = said["http_req_failed"]["values"]["passes"]
        p50, p90, p99, most = (times[key] * 1e3 for key in ("med", "p(90)", "p(99)", "max"))
        note = f"{dropped:,} dropped" if dropped else ""
        return Told(sent, p50, p90, p99, most, failed, sent + dropped, note)
