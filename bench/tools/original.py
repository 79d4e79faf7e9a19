"""The original LoadPilot, which has the name on PyPI, as its documentation says to run it.

It knows rates only. As fast as possible is a rate above what it can do, as in its own benchmark.
Told are its results file's figures: what it times itself, in ms.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

from bench.measure.machine import ROOT
from bench.tools.tool import Load, Task, Told

SCENARIO = ROOT / "bench" / "scenarios" / "original_scenario.py"
RPS_MAX = 50_000
"""A rate that nobody can keep on a core."""


@dataclass(frozen=True)
class Original:
    """One process beside its command, with callbacks into Python wherever a load is checked."""

    path: str
    name: str = "LoadPilot 0.2.0, the original"
    ours: bool = False

    def task(self, load: Load, folder: Path) -> Task:
        """Hand rate and length to the scenario through the environment."""
        kind = "Shop" if load.shop else "Look"
        environ = dict(os.environ) | {
            "BENCH_RPS": str(load.rps or RPS_MAX),
            "BENCH_SECS": str(load.secs),
            "HOME": str(folder),
        }
        # The Python inside its process does not find the environment by itself, and a load with
        # callbacks would be one without; the bench's own is not the original's.
        packages = (Path(self.path).parents[1] / "lib").glob("python3.*/site-packages")
        environ["PYTHONPATH"] = os.pathsep.join(map(str, packages))
        environ.pop("VIRTUAL_ENV", None)
        named = ["--scenario", f"{kind}{'Checked' if load.checked else 'Plain'}"]
        results = ["--results-json", str(folder / "results.json")]
        target = ["--target", load.url.rstrip("/")]
        return Task([self.path, "run", str(SCENARIO), *named, *target, *results], environ)

    def told(self, folder: Path, stdout: str) -> Told:  # noqa: ARG002
        """Read its results file."""
        said = json.loads((folder / "results.json").read_text(encoding="utf-8"))
        p50, p99, most = (said[key] * 1e3 for key in ("p50_ms", "p99_ms", "max_ms"))
        return Told(said["requests_total"], p50, None, p99, most, said["errors_total"])
