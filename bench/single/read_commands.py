"""Commands that read past runs: their time, and the memory of their process.

A run of five tasks at 100 arrivals per second is recorded for some seconds; its deltas, restamped,
become a log of 24 hours and a log with a hundred runs of a minute (`synthetic_log.py`). Each
command runs twice in a directory with the log of the day: without its index, and with it. The run
file is an export of that log. `verdict` reads the hundred runs. Time is that of the whole command,
from its start to its end, with its nats-server; memory is the maximum of the command's own process.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tests.e2e.support.rawlog import served

from bench.measure import machine, procfs
from bench.single import synthetic_log
from bench.single.log_reader import DAY_SECS, MINUTE_SECS, RUNS, ask, recorded

if TYPE_CHECKING:
    from bench.install.build import Build

POLL_SECS = 0.02
MIB = 1 << 20
FIRST_SECS, AGAIN_SECS, VERDICT_SECS, MEMORY_MIB = 12.0, 1.0, 5.0, 150.0
FILE = "day.lprun"
GATE = ("--threshold", "p99_ms=60000")
OF_DAY = {
    "report": ("report", "last"),
    "runs": ("runs",),
    "compare": ("compare", "last", "last"),
    "verdict": ("verdict", "last", "--warm-up", "10s", *GATE),
    "verify": ("verify", "last"),
    "report of the run file": ("report", FILE),
    "verify of the run file": ("verify", FILE),
}
COLUMNS = ("round", "command", "CPU busy before", "first, s", "MiB", "again, s", "MiB")


class Cost(NamedTuple):
    """Time and memory of one command."""

    secs: float
    mib: float


def measure(build: Build, repeats: int, patience_secs: float, *, quick: bool) -> list[str]:
    """Measure and write a table and whether the promises were kept."""
    secs = DAY_SECS // 24 if quick else DAY_SECS
    with tempfile.TemporaryDirectory(prefix="loadpilot-bench-") as name:
        folder = Path(name)
        template, run = recorded(build, folder)
        day, minutes = folder / "day", folder / "minutes"
        size = stored(build, day, template, run, {f"{run[:-4]}-day": secs})
        many = RUNS // 10 if quick else RUNS
        stored(
            build, minutes, template, run, {f"{run[:-4]}-{n:03}": MINUTE_SECS for n in range(many)}
        )
        timed(build, day, "export", "last", FILE)
        about = f"A log of {secs / 3600:g} h and 5 tasks: {size / 1e6:,.0f} MB of deltas."
        lines = [about, "", f"| {' | '.join(COLUMNS)} |", "|---" * len(COLUMNS) + "|"]
        kept = {"first": 0.0, "again": 0.0, "MiB": 0.0, f"{many} runs": 0.0}
        for number in range(1, repeats + 1):
            for command, argv in OF_DAY.items():
                busy = machine.quiet(patience_secs)
                first, again = twice(build, day, argv)
                lines.append(row(number, command, busy, first, again))
                kept["first"] = max(kept["first"], first.secs)
                kept["MiB"] = max(kept["MiB"], first.mib, again.mib)
                if not command.startswith("verify"):
                    kept["again"] = max(kept["again"], again.secs)
            busy = machine.quiet(patience_secs)
            first, again = twice(build, minutes, ("verdict", "--all", *GATE))
            lines.append(row(number, f"verdict, {many} runs of a minute", busy, first, again))
            kept[f"{many} runs"] = max(kept[f"{many} runs"], first.secs, again.secs)
        limits = (FIRST_SECS, AGAIN_SECS, MEMORY_MIB, VERDICT_SECS)
        pairs = zip(kept.items(), limits, strict=True)
        said = [f"{what}: worst {worst:.1f}, promised {limit:g}" for (what, worst), limit in pairs]
        return [*lines, "", "; ".join(said)]


def row(number: int, command: str, busy: str, first: Cost, again: Cost) -> str:
    """Write a row of the table."""
    figures = f"{first.secs:.2f} | {first.mib:.0f} | {again.secs:.2f} | {again.mib:.0f}"
    line = f"| {number} | {command} | {busy} | {figures} |"
    print(line, flush=True)
    return line


def stored(
    build: Build,
    user: Path,
    template: list[synthetic_log.Stored],
    run: str,
    lengths: dict[str, int],
) -> int:
    """Write runs into the log of a directory; returns the bytes of their deltas."""
    empty, server = user / "empty", user / "server"
    (empty / "store").mkdir(parents=True)
    size = 0
    with served(empty, server) as url:
        # It creates the streams.
        ask(build, url, user / "none", [])
        others = sum(one.kind != "delta" for one in template)
        for number, (name, secs) in enumerate(lengths.items()):
            long = synthetic_log.stretched(template, secs, number * others)
            size += synthetic_log.write(url, synthetic_log.named(long, run, name))
    recorded_log = user.parent / ".loadpilot" / "log-1"
    shutil.copytree(recorded_log, user / ".loadpilot" / "log-1", ignore=skipped)
    shutil.move(server / "store", user / ".loadpilot" / "log-1" / "store")
    return size


def skipped(_folder: str, names: list[str]) -> list[str]:
    """Leave out the store of the recorded log."""
    return [name for name in names if name == "store"]


def twice(build: Build, folder: Path, argv: tuple[str, ...]) -> tuple[Cost, Cost]:
    """Run a command without and with an index."""
    shutil.rmtree(folder / ".loadpilot" / "cache", ignore_errors=True)
    return timed(build, folder, *argv), timed(build, folder, *argv)


def timed(build: Build, folder: Path, *argv: str) -> Cost:
    """Run a command to its end."""
    begun = time.perf_counter()
    most = 0
    with subprocess.Popen(
        build.command(*argv),
        cwd=folder,
        env=build.environ,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as command:
        while command.poll() is None:
            seen = procfs.look(command.pid)
            most = max(most, seen.rss_max_bytes if seen is not None else 0)
            time.sleep(POLL_SECS)
    return Cost(time.perf_counter() - begun, most / MIB)
