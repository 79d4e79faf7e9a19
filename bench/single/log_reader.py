"""Reading: the time to index a log, to query it, and to open it again.

A run of five tasks at 100 arrivals per second is recorded for some seconds; its deltas, restamped,
become a log of 24 hours and a hundred logs of a minute (`synthetic_log.py`). Each repeat opens
them in two new processes: the first has no cache, the second uses the cache of the first.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from tests.e2e.support.rawlog import served
from tests.oracle.oracle import Oracle, built_binary

from bench.measure import machine
from bench.single import synthetic_log

if TYPE_CHECKING:
    from bench.install.build import Build

SCENARIO = machine.ROOT / "bench" / "scenarios" / "five_tasks.py"
INNER = Path(__file__).with_name("timed_reads.py")
DAY_SECS = 86_400
MINUTE_SECS = 60
RUNS = 100
RECORDED_SECS = 20
SERIES_MS, OPEN_MS = 200, 300
PATIENCE_SECS = 1_200.0
COLUMNS = (
    *("repeat", "CPU busy before", "index, s", "series, ms", "report, ms"),
    *("other warm-up, ms", "memory, MiB", "open again, ms"),
    *("the slowest of the short ones, ms", "again, ms"),
)


def measure(build: Build, repeats: int, patience_secs: float, *, quick: bool) -> list[str]:
    """Measure and write a table and whether the promises were kept."""
    secs = DAY_SECS // 24 if quick else DAY_SECS
    count = RUNS // 10 if quick else RUNS
    with tempfile.TemporaryDirectory(prefix="loadpilot-bench-") as name:
        folder = Path(name)
        template, run = recorded(build, folder)
        (folder / "empty" / "store").mkdir(parents=True)
        with served(folder / "empty", folder / "served") as url:
            ask(build, url, folder / "none", [])
            day = f"{run[:-4]}-day"
            long = synthetic_log.named(synthetic_log.stretched(template, secs), run, day)
            size = synthetic_log.write(url, long)
            minutes = [f"{run[:-4]}-{number:03}" for number in range(count)]
            others = sum(one.kind != "delta" for one in template)
            for number, minute in enumerate(minutes, 1):
                short = synthetic_log.stretched(template, MINUTE_SECS, number * others)
                synthetic_log.write(url, synthetic_log.named(short, run, minute))
            return table(build, url, folder, (day, secs, size), minutes, repeats, patience_secs)


def recorded(build: Build, folder: Path) -> tuple[list[synthetic_log.Stored], str]:
    """Run once for real; returns the messages of its log, and its id."""
    results = folder / "results.json"
    with Oracle(built_binary(), folder / "oracle.jsonl") as oracle:
        argv = build.command(
            *("run", str(SCENARIO), "--target", oracle.url, "--agents", "1"),
            *("--duration", f"{RECORDED_SECS}s", "--results-json", str(results)),
        )
        subprocess.run(argv, cwd=folder, env=build.environ, capture_output=True, check=False)
    run: str = json.loads(results.read_text(encoding="utf-8"))["run"]["id"]
    (log,) = (folder / ".loadpilot").glob("log-*")
    with served(log, folder / "recorded") as url:
        return synthetic_log.read(url), run


def ask(build: Build, url: str, cache: Path, runs: list[str]) -> dict[str, list[float]]:
    """Open runs in a process of its own."""
    argv = [sys.executable, str(INNER), url, str(cache), *runs]
    done = subprocess.run(
        argv, env=build.environ, stdout=subprocess.PIPE, check=True, timeout=PATIENCE_SECS
    )
    times: dict[str, list[float]] = json.loads(done.stdout)
    return times


def table(
    build: Build,
    url: str,
    folder: Path,
    day: tuple[str, int, int],
    minutes: list[str],
    repeats: int,
    patience_secs: float,
) -> list[str]:
    """Repeat the queries; returns the table."""
    run, secs, size = day
    about = f"A log of {secs / 3600:g} h and 5 tasks: {size / 1e6:,.0f} MB of deltas."
    lines = [about, "", f"| {' | '.join(COLUMNS)} |", "|---" * len(COLUMNS) + "|"]
    series, opened = [], []
    for number in range(1, repeats + 1):
        busy = machine.quiet(patience_secs)
        cache = folder / f"cache-{number}"
        first, again = (ask(build, url, cache, [run]) for _ in range(2))
        short, short_again = (ask(build, url, cache, minutes) for _ in range(2))
        series += [*first["series"], *again["series"]]
        opened += [*again["open"], *short["open"], *short_again["open"]]
        figures = (
            *(first["open"][0] / 1e3, first["series"][0], first["report"][0]),
            *(first["verdict"][0], first["most_mib"][0], again["open"][0]),
            *(max(short["open"]), max(short_again["open"])),
        )
        lines.append(f"| {number} | {busy} | {' | '.join(f'{one:,.1f}' for one in figures)} |")
        print(lines[-1], flush=True)
    return [*lines, "", promise("a series", series, SERIES_MS), promise("opening", opened, OPEN_MS)]


def promise(what: str, times_ms: list[float], limit_ms: int) -> str:
    """Write whether a promise was kept."""
    kept = "kept" if max(times_ms) <= limit_ms else "NOT kept"
    middle, worst = median(times_ms), max(times_ms)
    return (
        f"The promise of {limit_ms} ms for {what}: {kept}; "
        f"median {middle:,.1f} ms, worst {worst:,.1f} ms.\n"
    )
