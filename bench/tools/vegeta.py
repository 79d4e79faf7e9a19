"""vegeta. It writes every result to a file; its report, made of that afterwards, is not counted."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.tools.tool import Load, Task, Told

if TYPE_CHECKING:
    from pathlib import Path


CONNECTIONS_MAX = 4_096
"""Most connections that it may open to keep a rate."""


@dataclass(frozen=True)
class Vegeta:
    """Its defaults: at a rate it starts workers as it needs them."""

    path: str
    name: str = "vegeta"
    ours: bool = False

    def task(self, load: Load, folder: Path) -> Task:
        """Attack for a time; without a rate its workers are the connections."""
        targets = folder / "targets"
        targets.write_text(f"GET {load.url}\n", encoding="utf-8")
        if load.rps is None:
            workers = [f"-workers={load.connections}", f"-max-workers={load.connections}"]
            pace = ["-rate=0", *workers]
        else:
            # Behind its schedule it would open connections until the target has no threads left.
            pace = [f"-rate={load.rps}/1s", f"-max-connections={CONNECTIONS_MAX}"]
        files = [f"-targets={targets}", f"-output={folder / 'results.bin'}"]
        # It would choose HTTP/2 by itself over TLS.
        trust = [] if load.cacert is None else [f"-root-certs={load.cacert}", "-http2=false"]
        return Task([self.path, "attack", *files, *trust, f"-duration={load.secs}s", *pace])

    def told(self, folder: Path, stdout: str) -> Told:  # noqa: ARG002
        """Let it make its report; times are in ns."""
        argv = [self.path, "report", "-type=json", str(folder / "results.bin")]
        done = subprocess.run(argv, capture_output=True, text=True, check=True)
        said = json.loads(done.stdout)
        points = said["latencies"]
        p50, p90, p99, most = (points[key] / 1e3 for key in ("50th", "90th", "99th", "max"))
        good = said["status_codes"].get("200", 0)
        return Told(said["requests"], p50, p90, p99, most, said["requests"] - good)
