"""Schedule fidelity: how far from its due time each request reaches the target.

The oracle notes when it read the first bytes of a request; the request's id says which arrival it
is; the report says when the run started; at a constant rate, arrival n is due n / rate later. Both
clocks are this machine's. What is measured so is due → read by the target: it holds the pacer, the
engine, the kernel and the waking of the oracle's thread, and is an upper bound for the pacer.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tests.oracle.oracle import Oracle, built_binary

from bench import machine

if TYPE_CHECKING:
    from bench.build import Build

SCENARIO = Path(__file__).with_name("steady.py")
ID_HEADER = "x-request-id"
COLUMNS = (
    "run",
    "CPU busy before",
    "requests at the oracle, planned",
    "rps at the oracle, planned",
    "distance p50 µs",
    "p99 µs",
    "max µs",
    "early",
    "own schedule lag p50, p99 µs",
    "certificate",
)


@dataclass(frozen=True)
class Repeat:
    """One run, as the oracle saw it and as the report tells it."""

    requests: int
    planned: int
    achieved_rps: float
    planned_rps: float
    distances_us: list[int]
    """Arrival at the oracle minus due, sorted."""
    own_lag_us: tuple[int, int]
    """The generator's own schedule lag, p50 and p99."""
    grade: str

    def points_us(self) -> tuple[int, int, int]:
        """Compute p50, p99 and max of the distance, whatever its sign."""
        far = sorted(abs(distance) for distance in self.distances_us)
        return quantile(far, 0.5), quantile(far, 0.99), far[-1]

    def row(self, number: int, busy: str) -> str:
        """Write it as a row of the table."""
        early = sum(distance < 0 for distance in self.distances_us)
        points = " | ".join(f"{us:,}" for us in self.points_us())
        own = ", ".join(f"{us:,}" for us in self.own_lag_us)
        return (
            f"| {number} | {busy} | {self.requests:,}, {self.planned:,} "
            f"| {self.achieved_rps:,.2f}, {self.planned_rps:,.0f} "
            f"| {points} | {early} | {own} | {self.grade} |"
        )


def measure(build: Build, rps: int, secs: int, repeats: int, patience_secs: float) -> list[str]:
    """Measure and write a table and the spread."""
    lines = [f"| {' | '.join(COLUMNS)} |", "|---" * len(COLUMNS) + "|"]
    points = []
    for number in range(1, repeats + 1):
        busy = machine.quiet(patience_secs)
        with tempfile.TemporaryDirectory(prefix="loadpilot-bench-") as folder:
            repeat = once(build, rps, secs, Path(folder))
        points.append(repeat.points_us())
        lines.append(repeat.row(number, busy))
        print(lines[-1], flush=True)
    spread = (
        f"{name} {min(of_all):,} to {max(of_all):,} µs"
        for name, of_all in zip(("p50", "p99", "max"), zip(*points, strict=True), strict=True)
    )
    return [*lines, "", f"Spread over the repeats: {', '.join(spread)}."]


def once(build: Build, rps: int, secs: int, folder: Path) -> Repeat:
    """Run once; every run has a folder, a log and an oracle of its own."""
    results = folder / "results.json"
    with Oracle(built_binary(), folder / "oracle.jsonl", id_header=ID_HEADER) as oracle:
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
    distances = sorted(
        request.arrival_us - start_us - due_us(arrival(request.id), rps) for request in requests
    )
    arrivals = sorted(request.arrival_us for request in requests)
    span_secs = (arrivals[-1] - arrivals[0]) / 1e6
    lag = report["generator"]["schedule_lag"]
    return Repeat(
        len(requests),
        report["arrivals"]["planned"],
        (len(arrivals) - 1) / span_secs,
        report["rates"]["planned_rps"],
        distances,
        (lag["p50_us"], lag["p99_us"]),
        report["certificate"]["grade"],
    )


def arrival(request_id: str | None) -> int:
    """Read the arrival's number from `run/arrival/step`."""
    if request_id is None:
        raise ValueError("a request came without an id")
    return int(request_id.split("/")[1])


def due_us(n: int, rps: int) -> int:
    """Say when arrival n is due after the start, at a constant rate."""
    return n * 1_000_000 // rps


def quantile(ordered: list[int], share: float) -> int:
    """Take the smallest value that at least `share` of all values do not exceed."""
    rank = max(1, -(-int(share * 1000) * len(ordered) // 1000))
    return ordered[rank - 1]
