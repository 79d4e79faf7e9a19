"""The live view: its processor time, and whether the run suffers from it.

A round runs five tasks with three gates at a constant rate, with two agents and at a terminal of
100 columns: once with the view, which is drawn four times a second, and once with a plain line a
second (`TERM=dumb`). The CPU is that of the command's process in a steady part of the run, in
percent of a core: it follows the log, judges the gates and draws. The schedule lag is the report's;
the target counts the requests.
"""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tests.e2e.support.terminal import Terminal
from tests.oracle.oracle import Oracle, built_binary

from bench.measure import machine, procfs

if TYPE_CHECKING:
    from bench.install.build import Build

SCENARIO = machine.ROOT / "bench" / "scenarios" / "five_tasks.py"
RPS = 1_000
MEASURED_SECS, QUICK_SECS = 20, 4
MARGIN_SECS = 3
"""Part of a run before and after the measured one."""
GATES = ("p99_ms=60000", "error_rate=1", "home:p95_ms=60000")
PROMISE_PCT = 3.0
COLUMNS = (
    *("repeat", "view", "CPU busy before", "CPU of the command, %", "frames/s", "requests"),
    *("lag p50, µs", "lag p99, µs"),
)
VIEWS = {"live view": "xterm-256color", "plain lines": "dumb"}
"""The terminal's name for each kind of view."""


class Cost(NamedTuple):
    """The cost of one run."""

    cpu_pct: float
    frames_per_sec: float
    requests: int
    lag_p50_us: int
    lag_p99_us: int


def measure(build: Build, repeats: int, patience_secs: float, *, quick: bool) -> list[str]:
    """Measure and write a table and whether the promise was kept."""
    secs = QUICK_SECS if quick else MEASURED_SECS
    about = f"{RPS:,} arrivals/s for {secs + 2 * MARGIN_SECS} s, {secs} s of them measured."
    lines = [about, "", f"| {' | '.join(COLUMNS)} |", "|---" * len(COLUMNS) + "|"]
    worst = 0.0
    for number in range(1, repeats + 1):
        for view, term in VIEWS.items():
            busy = machine.quiet(patience_secs)
            cost = once(build, term, secs)
            if view == "live view":
                worst = max(worst, cost.cpu_pct)
            lines.append(
                f"| {number} | {view} | {busy} | {cost.cpu_pct:.1f} | {cost.frames_per_sec:.1f} "
                f"| {cost.requests:,} | {cost.lag_p50_us:,} | {cost.lag_p99_us:,} |"
            )
            print(lines[-1], flush=True)
    kept = "kept" if worst < PROMISE_PCT else "NOT kept"
    promise = f"The promise of less than {PROMISE_PCT:g} % of a core: {kept}, worst {worst:.1f} %."
    return [*lines, "", promise]


def once(build: Build, term: str, secs: float) -> Cost:
    """Run once at a terminal."""
    with (
        tempfile.TemporaryDirectory(prefix="loadpilot-bench-") as name,
        Oracle(built_binary(), Path(name) / "oracle.jsonl") as oracle,
    ):
        folder = Path(name)
        results = folder / "results.json"
        argv = build.command(
            *("run", str(SCENARIO), "--target", oracle.url, "--agents", "2"),
            *("--rps", str(RPS), "--duration", f"{secs + 2 * MARGIN_SECS}s"),
            *(word for gate in GATES for word in ("--threshold", gate)),
            *("--results-json", str(results)),
        )
        with Terminal(argv, folder, env=build.environ | {"TERM": term}) as terminal:
            if not oracle.wait_count(RPS * MARGIN_SECS, 60.0):
                raise RuntimeError(f"the run did not start: {terminal.all}")
            before, drawn = procfs.cpu_secs(terminal.pid), len(terminal.frames)
            began = time.monotonic()
            time.sleep(secs)
            took = time.monotonic() - began
            spent = procfs.cpu_secs(terminal.pid) - before
            frames = len(terminal.frames) - drawn
            terminal.end()
        lag = json.loads(results.read_text(encoding="utf-8"))["generator"]["schedule_lag"]
        return Cost(
            100 * spent / took,
            frames / took,
            oracle.counts().received,
            lag["p50_us"],
            lag["p99_us"],
        )
