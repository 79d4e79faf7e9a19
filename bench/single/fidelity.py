"""Schedule fidelity: the distance of each arrival at the target from its due time.

The oracle logs when the kernel had received a request (SO_TIMESTAMPING) and when it read it itself.
The request's id has the number of the arrival, the report has the start of the run, and at a
constant rate arrival n is due n / rate later. All times are of this machine's clock of the day. The
distance from due to the receipt by the target's kernel includes the pacer, the engine and the
kernel, and is an upper bound for the pacer. The distance from due to the target's read is shown
beside it; it also includes the wake-up of the oracle's thread. Where the kernel's times are
incomplete, the second is used for both, and the row says so.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from tests.oracle.oracle import Oracle, built_binary

from bench.measure import machine
from bench.measure.spread import quantile
from bench.pages.distribution_plot import Chart, svg
from bench.servers.oracle import KERNEL_TIMES

if TYPE_CHECKING:
    from bench.install.build import Build

SCENARIO = machine.ROOT / "bench" / "scenarios" / "constant_rate.py"
ID_HEADER = "x-request-id"
COLUMNS = (
    "run",
    "CPU busy before",
    "requests at the oracle, planned",
    "rps at the oracle, planned",
    "clock",
    "distance p50 µs",
    "p99 µs",
    "max µs",
    "early",
    "by the oracle's read p50, p99 µs",
    "own schedule lag p50, p99 µs",
    "certificate",
)
CHART = Chart(
    "distance",
    "Share of requests (up) whose distance from due was at most x µs (right), by the clock named.",
)


class Clock(StrEnum):
    """The clock that times the arrivals."""

    KERNEL = "the kernel's"
    ORACLE = "the oracle's"


@dataclass(frozen=True)
class Repeat:
    """One run: the arrivals in the oracle's log, and the figures of the report."""

    requests: int
    planned: int
    achieved_rps: float
    planned_rps: float
    distances_us: list[int]
    """Arrival minus due, sorted; by the kernel's times if they are complete."""
    read_us: list[int]
    """The same by the oracle's read."""
    clock: Clock
    own_lag_us: tuple[int, int]
    """The generator's own schedule lag, p50 and p99."""
    grade: str

    def points_us(self) -> tuple[int, int, int]:
        """Compute p50, p99 and max of the distance, whatever its sign."""
        return points(self.distances_us)

    def row(self, number: int, busy: str) -> str:
        """Write it as a row of the table."""
        early = sum(distance < 0 for distance in self.distances_us)
        far = " | ".join(f"{us:,}" for us in self.points_us())
        read = ", ".join(f"{us:,}" for us in points(self.read_us)[:2])
        own = ", ".join(f"{us:,}" for us in self.own_lag_us)
        return (
            f"| {number} | {busy} | {self.requests:,}, {self.planned:,} "
            f"| {self.achieved_rps:,.2f}, {self.planned_rps:,.0f} "
            f"| {self.clock} | {far} | {early} | {read} | {own} | {self.grade} |"
        )


def measure(
    build: Build, rps: int, secs: int, repeats: int, patience_secs: float
) -> tuple[list[str], str]:
    """Measure; returns a table with the spread, and the drawing of all distances."""
    lines = [f"| {' | '.join(COLUMNS)} |", "|---" * len(COLUMNS) + "|"]
    of_repeats, drawn = [], {}
    for number in range(1, repeats + 1):
        busy = machine.quiet(patience_secs)
        with tempfile.TemporaryDirectory(prefix="loadpilot-bench-") as folder:
            repeat = once(build, rps, secs, Path(folder))
        of_repeats.append(repeat.points_us())
        drawn[f"run {number}, {repeat.clock}"] = sorted(map(abs, map(float, repeat.distances_us)))
        lines.append(repeat.row(number, busy))
        print(lines[-1], flush=True)
    spread = (
        f"{name} {min(of_all):,} to {max(of_all):,} µs"
        for name, of_all in zip(("p50", "p99", "max"), zip(*of_repeats, strict=True), strict=True)
    )
    return [*lines, "", f"Spread over the repeats: {', '.join(spread)}."], svg(CHART, drawn)


def once(build: Build, rps: int, secs: int, folder: Path) -> Repeat:
    """Run once; every run has a folder, a log and an oracle of its own."""
    results = folder / "results.json"
    log = folder / "oracle.jsonl"
    with Oracle(built_binary(), log, id_header=ID_HEADER, kernel_times=KERNEL_TIMES) as oracle:
        argv = build.command(
            *("run", str(SCENARIO), "--target", oracle.url, "--agents", "1"),
            *("--rps", str(rps), "--duration", f"{secs}s", "--seed", "1"),
            *("--id-header", ID_HEADER, "--results-json", str(results)),
        )
        done = subprocess.run(
            argv, cwd=folder, env=build.environ, capture_output=True, text=True, check=False
        )
        if not results.is_file():
            raise RuntimeError(f"the run failed with {done.returncode}: {done.stderr}")
        requests = oracle.requests()
    report = json.loads(results.read_text(encoding="utf-8"))
    start_us = report["run"]["start_at"]
    dues_us = [start_us + due_us(arrival(request.id), rps) for request in requests]
    kernel_us = [request.kernel_us for request in requests if request.kernel_us is not None]
    read_us = [one.arrival_us - due for one, due in zip(requests, dues_us, strict=True)]
    clock = Clock.KERNEL if len(kernel_us) == len(requests) else Clock.ORACLE
    if clock is Clock.KERNEL:
        distances_us = [at - due for at, due in zip(kernel_us, dues_us, strict=True)]
    else:
        distances_us = read_us
    arrivals = sorted(request.arrival_us for request in requests)
    span_secs = (arrivals[-1] - arrivals[0]) / 1e6
    lag = report["generator"]["schedule_lag"]
    return Repeat(
        len(requests),
        report["arrivals"]["planned"],
        (len(arrivals) - 1) / span_secs,
        report["rates"]["planned_rps"],
        sorted(distances_us),
        sorted(read_us),
        clock,
        (lag["p50_us"], lag["p99_us"]),
        report["certificate"]["grade"],
    )


def points(distances_us: list[int]) -> tuple[int, int, int]:
    """Compute p50, p99 and max of distances, whatever their sign."""
    far = sorted(abs(distance) for distance in distances_us)
    return quantile(far, 0.5), quantile(far, 0.99), far[-1]


def arrival(request_id: str | None) -> int:
    """Read the arrival's number from `run/arrival/step`."""
    if request_id is None:
        raise ValueError("a request came without an id")
    return int(request_id.split("/")[1])


def due_us(n: int, rps: int) -> int:
    """Compute when arrival n is due after the start, at a constant rate."""
    return n * 1_000_000 // rps
