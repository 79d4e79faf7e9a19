"""Feeds: files of 1, 10 and 50 million rows of CSV, with unique rows in a shuffled order.

`check` is `loadpilot run --dry-run`: the command reads the whole file once, for its rows, its hash
and an index. `run` is 500 arrivals/s for 10 s with two agents on this machine, each of which checks
the file and then reads a row for each arrival; the seconds are those of the whole command. Memory
is the most that the process ever had (VmHWM), of the larger agent. The oracle counts the requests
and the rows that were taken twice.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from tests.oracle.oracle import Oracle, built_binary

from bench.measure import machine, process_tree
from bench.tools.loadpilot import agent_pids

if TYPE_CHECKING:
    from bench.install.build import Build
    from bench.measure.process_tree import Ran

MILLIONS = (1, 10, 50)
BATCH = 10_000
"""Number of rows that are written at a time."""
MIB = 1 << 20
RPS, SECS = 500, 10
TIMEOUT_SECS = 300.0
SCENE = """
from loadpilot import LoadClient, VUser, feed, scenario, task


@scenario(mode="constant", rps=1, duration="1s", users=100)
class Rows(VUser):
    users = feed("users.csv", unique=True, order="shuffled")

    @task
    def take(self, client: LoadClient) -> None:
        row = next(self.users)
        client.get(f"/take/{row['id']}", name="take")
"""
HEADS = ("million rows", "file, MiB", "CPU busy before", "check, s", "check, MiB", "run, s")
HEADS += ("command, MiB", "agent, MiB", "requests", "rows twice", "lag p50, µs", "lag p99, µs")


def measure(build: Build, rounds: int, patience_secs: float, *, quick: bool) -> list[str]:
    """Measure each size in each round; `quick`: a million rows only."""
    lines = [f"| {' | '.join(HEADS)} |", "|---" * len(HEADS) + "|"]
    missing = 0
    with tempfile.TemporaryDirectory(prefix="loadpilot-bench-") as name:
        folder = Path(name)
        (folder / "rows.py").write_text(SCENE, encoding="utf-8")
        for millions in MILLIONS[: 1 if quick else None]:
            write(folder / "users.csv", millions * 1_000_000)
            for _ in range(rounds):
                busy = machine.quiet(patience_secs)
                cells, dropped = once(build, folder)
                missing += dropped
                lines.append(f"| {millions} | {cells[0]} | {busy} | {' | '.join(cells[1:])} |")
                print(lines[-1], flush=True)
    return [*lines, "", f"Arrivals that were planned and not started: {missing:,}."]


def write(path: Path, rows: int) -> None:
    """Write a file of users, one a row."""
    with path.open("w", encoding="utf-8") as file:
        file.write("id,name,city\n")
        for first in range(0, rows, BATCH):
            lines = (f'{n},user{n},"city, {n % 97}"\n' for n in range(first, first + BATCH))
            file.write("".join(lines))


def once(build: Build, folder: Path) -> tuple[list[str], int]:
    """Measure once; the cells of a line, and the number of arrivals that were not started."""
    environ, results = dict(build.environ), folder / "results.json"
    dry = build.command("run", "rows.py", "--dry-run")
    checked = process_tree.run(dry, None, folder, environ, TIMEOUT_SECS)
    with Oracle(built_binary(), folder / "oracle.jsonl") as oracle:
        argv = build.command(
            *("run", "rows.py", "--target", oracle.url, "--agents", "2"),
            *("--rps", str(RPS), "--duration", f"{SECS}s", "--results-json", str(results)),
        )
        ran = process_tree.run(argv, None, folder, environ, TIMEOUT_SECS)
        taken = Counter(request.route for request in oracle.requests())
    for one in (checked, ran):
        if one.exit_code:
            print(one.stderr, file=sys.stderr)
            raise RuntimeError(f"{one.argv} failed with {one.exit_code}")
    report = json.loads(results.read_text(encoding="utf-8"))
    lag, (task,) = report["generator"]["schedule_lag"], report["tasks"]
    agents = agent_pids(ran.processes)
    cells = [
        f"{(folder / 'users.csv').stat().st_size / MIB:,.0f}",
        *(f"{checked.wall_secs:.2f}", f"{most(checked, command_pids(checked)):,.0f}"),
        *(f"{ran.wall_secs:.1f}", f"{most(ran, command_pids(ran)):,.0f}"),
        *(f"{most(ran, agents):,.0f}", f"{sum(taken.values()):,}"),
        str(sum(count > 1 for count in taken.values())),
        *(f"{lag['p50_us']:,}", f"{lag['p99_us']:,}"),
    ]
    return cells, RPS * SECS - task["arrivals"]["started"]


def command_pids(ran: Ran) -> list[int]:
    """Choose the command itself."""
    return [pid for pid, one in ran.processes.items() if "run rows.py" in one.name]


def most(ran: Ran, pids: list[int]) -> float:
    """The most memory in MiB that one of these processes had."""
    return max(ran.processes[pid].rss_max_bytes for pid in pids) / MIB
