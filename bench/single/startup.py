"""Start-up: from the start of `loadpilot run` to the first request at the target.

Each repeat has a new folder, so the whole path is in it: Python, compiling, supervisor,
nats-server, creating the log, coordinator, agent, assignment, and the 0.1 s between the decision to
start and the start. The marks on the way are the times that the writers of the events put into the
log; all are ms after the start of the process. Repeat 0 is the first run of a fresh install: Python
compiles all modules and keeps their bytecode. It is shown, and is in no other figure.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from tests.oracle.oracle import Oracle, built_binary

from bench.install.build import BYTECODE
from bench.measure import machine

if TYPE_CHECKING:
    from bench.install.build import Build

SCENARIO = machine.ROOT / "bench" / "scenarios" / "constant_rate.py"
PATIENCE_SECS = 60.0
PROMISE_MS = 1_500
MARKS = (
    ("asked", "requested on"),
    ("created", "run created"),
    ("offered", "offers"),
    ("assigned", "generation 1"),
    ("ready", "ready"),
    ("start decided", "start scheduled"),
)
"""Events of the story of a run that are shown, and the text by which their lines are found."""


def measure(build: Build, repeats: int, patience_secs: float) -> list[str]:
    """Measure and write a table and the spread."""
    names = [*(name for name, _ in MARKS), "start", "first request"]
    lines = [f"| repeat | CPU busy before | {' | '.join(names)} |"]
    lines.append("|---" * (len(names) + 2) + "|")
    all_ms = []
    shutil.rmtree(BYTECODE, ignore_errors=True)
    for number in range(repeats + 1):
        busy = machine.quiet(patience_secs)
        with tempfile.TemporaryDirectory(prefix="loadpilot-bench-") as folder:
            marks = once(build, Path(folder))
        if number > 0:
            all_ms.append(marks)
        lines.append(
            f"| {number} | {busy} | {' | '.join(f'{marks[name]:,.0f}' for name in names)} |"
        )
        print(lines[-1], flush=True)
    for label, choose in (("min", min), ("median", median), ("max", max)):
        chosen = (choose([marks[name] for marks in all_ms]) for name in names)
        lines.append(f"| **{label}** | | {' | '.join(f'{ms:,.0f}' for ms in chosen)} |")
    worst = max(marks["first request"] for marks in all_ms)
    kept = "kept" if worst <= PROMISE_MS else "NOT kept"
    promise = f"The promise of {PROMISE_MS:,} ms: {kept}, the slowest took {worst:,.0f} ms."
    return [*lines, "", promise]


def once(build: Build, folder: Path) -> dict[str, float]:
    """Run once; the marks in ms after the start of the process."""
    results = folder / "results.json"
    with Oracle(built_binary(), folder / "oracle.jsonl") as oracle:
        argv = build.command(
            *("run", str(SCENARIO), "--target", oracle.url, "--agents", "1"),
            *("--rps", "10", "--duration", "1s", "--results-json", str(results)),
        )
        began_us = time.time_ns() // 1_000
        with subprocess.Popen(
            argv, cwd=folder, env=build.environ, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        ) as process:
            _, errors = process.communicate(timeout=PATIENCE_SECS)
        first_us = oracle.first_request_us()
    if first_us is None or not results.is_file():
        raise RuntimeError(f"the run failed with {process.returncode}: {errors.decode()}")
    report = json.loads(results.read_text(encoding="utf-8"))
    marks_us = {
        name: max(line["at"] for line in report["story"] if words in line["text"])
        for name, words in MARKS
    }
    marks_us |= {"start": report["run"]["start_at"], "first request": first_us}
    return {name: (at_us - began_us) / 1_000 for name, at_us in marks_us.items()}
