"""Scale: the cost of a fleet of many agents for the server, the coordinator and a watcher.

A real nats-server with the settings of a local stack, a real coordinator, and a crowd of light
agents in one process (`services/agent/examples/crowd`), each on a connection of its own. They speak
the real protocol: a heartbeat a second with its reply, offer, clock samples, ready, one delta a
second at tick end + hash(agent) mod tick, a last event. Each agent holds its share of 50 arrivals a
second for each of them, in five tasks: their deltas name exactly those, with histograms by the
shipped tally, of simulated calls. A watcher folds the log while it grows, as `loadpilot
watch` does, and folds it once more into the report.

The server syncs deltas before it acknowledges them, so that acknowledgements are as fast as the
disk (*sync*: of 4.5 kB, 100 times before each run, beside whatever else the machine does). A row on
*memory* has the store in a tmpfs, as a disk that needs no time would be: it shows what everything
else costs. An agent has one delta in flight, as real ones do; the next ones wait.

*ack*: from publishing a delta until the server has synced and acknowledged it. *behind*: from
closing it until then. *lost*: arrivals that were not in the log in time. *beat*: from a
heartbeat to its reply. *lag*: from the storing of a delta until the watcher has folded it.
Processor time is that of the load, without its first second. *log*: what the server's store grew in
that time. *assigned* and *start*: from the request to the decision, by the server's clock. *fold*:
of one delta into the report. Server and coordinator run on the first core, crowd and watcher on the
last: on two cores agents and server are not in each other's way, and the watcher shares its core
with all agents.
"""

from __future__ import annotations

import json
import os
import queue
import secrets
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.install.build import cargo
from bench.measure import machine, spread
from bench.measure.procfs import look
from bench.pages.goals import at_most, exactly, figure

if TYPE_CHECKING:
    from bench.measure.procfs import Look
    from bench.measure.spread import Spread
    from bench.pages.goals import Goal

ROOT = Path(__file__).resolve().parents[2]
Crowd = tuple[int, str]
DISK, MEMORY = "disk", "memory"
CROWDS: tuple[Crowd, ...] = ((100, DISK), (300, DISK), (1_000, DISK), (1_000, MEMORY))
CROWDS_QUICK: tuple[Crowd, ...] = ((30, DISK), (100, MEMORY))
SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - only its speed matters
SECS, SECS_QUICK = 10, 5
LAWS = (1_000, 10_000)
ROUNDS, ROUNDS_QUICK = 3, 1
PATIENCE_SECS = 240.0
"""Maximum wait for a line of a process; a hang fails instead of blocking."""
SYNCS, SYNC_BYTES = 100, 4_500
SETTLED_SECS = 1
"""The first second of the load is in no figure of cost."""
MIB = 1 << 20
COLUMNS = (
    ("sync_ms", "sync p50, ms"),
    ("lost_pct", "lost, %"),
    ("ack_p50_ms", "ack p50, ms"),
    ("ack_p99_ms", "ack p99, ms"),
    ("behind_p99_ms", "behind p99, ms"),
    ("beat_p50_ms", "beat p50, ms"),
    ("beat_p99_ms", "beat p99, ms"),
    ("lag_p50_ms", "lag p50, ms"),
    ("lag_p99_ms", "lag p99, ms"),
    ("server_pct", "server: CPU, % of a core"),
    ("server_mb", "peak RSS, MiB"),
    ("coordinator_pct", "coordinator: CPU, % of a core"),
    ("coordinator_mb", "peak RSS, MiB"),
    ("crowd_pct", "crowd: CPU, % of a core"),
    ("delta_bytes", "bytes a delta"),
    ("log_kb_per_sec", "log, kB/s"),
    ("assigned_ms", "assigned, ms"),
    ("start_ms", "start decided, ms"),
    ("map_bytes", "map, bytes"),
    ("seal_bytes", "seal, bytes"),
    ("fold_us", "fold, µs a delta"),
    ("snapshot_ms", "snapshot p50, ms"),
    ("report_ms", "report, ms"),
    ("again", "sent again"),
)
Figures = dict[str, float]


@dataclass(frozen=True)
class Process:
    """A child process and its lines of output; an absent line is its end."""

    popen: subprocess.Popen[str]
    lines: queue.Queue[str | None]


@dataclass(frozen=True)
class Programs:
    """The binaries of the fleet."""

    coordinator: Path
    crowd: Path
    name: str


def build(*, quick: bool) -> Programs:
    """Build coordinator and crowd: for release, with --quick for development."""
    folder = cargo("-p", "loadpilot-coordinator", release=not quick)
    cargo("-p", "loadpilot-agent", "--example", "crowd", release=not quick)
    name = "development" if quick else "release"
    return Programs(folder / "loadpilot-coordinator", folder / "examples" / "crowd", name)


def measure(
    programs: Programs, *, quick: bool, secs: int | None, rounds: int | None, patience_secs: float
) -> list[str]:
    """Measure every crowd in every round, and write goals and a table."""
    crowds = CROWDS_QUICK if quick else CROWDS
    secs = secs or (SECS_QUICK if quick else SECS)
    rounds = rounds or (ROUNDS_QUICK if quick else ROUNDS)
    found: dict[Crowd, list[Figures]] = {crowd: [] for crowd in crowds}
    busy = []
    for _ in range(rounds):
        for agents, store in crowds:
            busy.append(machine.quiet(patience_secs))
            place = SHARED_MEMORY if store == MEMORY else None
            with tempfile.TemporaryDirectory(prefix="loadpilot-bench-", dir=place) as folder:
                figures = {"sync_ms": _sync_ms(Path(folder))}
                figures |= once(programs, Path(folder), agents, secs)
            found[agents, store].append(figures)
            print(f"{agents} agents, {store}: {_line(figures)}", flush=True)
    head = ["agents", "store", *(title for _, title in COLUMNS)]
    table = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for (agents, store), rows in found.items():
        cells = [_cell(spread.of([one[key] for one in rows])) for key, _ in COLUMNS]
        table.append(f"| {agents:,} | {store} | {' | '.join(cells)} |")
    goals = [f"| {goal.words} | {goal.found} | {goal.judged.value} |" for goal in _goals(found)]
    return [
        f"Load of {secs} s, {rounds} rounds, medians with their range over the rounds.",
        "",
        "| goal | found | |",
        "|---|---|---|",
        *goals,
        "",
        *table,
        "",
        f"- CPU busy before each run: {', '.join(busy)}",
        "",
        *_follows(found),
        "",
        *_laws(programs, rounds),
    ]


def once(programs: Programs, folder: Path, agents: int, secs: int) -> Figures:
    """Play one run of a fresh fleet."""
    token = secrets.token_hex(16)
    store = folder / "store"
    config = folder / "server.conf"
    config.write_text(
        f'listen: "127.0.0.1:-1"\nports_file_dir: "{folder}"\n'
        f'authorization {{ token: "{token}" }}\n'
        f'jetstream {{ store_dir: "{store}", max_mem: 16M, max_file: 8G, sync_interval: always }}\n'
    )
    started: list[Process] = []
    try:
        server = _start(started, 0, [ROOT / ".venv/bin/nats-server", "-c", config], {})
        environ = {"NATS_URL": _url(folder, server), "NATS_TOKEN": token}
        coordinator = _start(started, 0, [programs.coordinator], environ)
        crowd = _start(started, -1, [programs.crowd, "agents", str(agents)], environ)
        _await_line(crowd, "connected")
        watcher = _start(started, -1, [programs.crowd, "run", str(agents), str(secs)], environ)
        start_at = _await_line(watcher, "start_at")["start_at"] / 1e6
        parts = {"server": server, "coordinator": coordinator, "crowd": crowd}
        _until(start_at + SETTLED_SECS)
        before, log_before, began = _look(parts), _size(store), time.monotonic()
        _until(start_at + secs)
        after, log_after, took = _look(parts), _size(store), time.monotonic() - began
        watched, played = _await_line(watcher, "lags"), _await_line(crowd, "acks")
    finally:
        for process in reversed(started):
            process.popen.kill()
            process.popen.wait()
    used = {
        f"{name}_pct": 100 * (after[name].cpu_secs - before[name].cpu_secs) / took for name in parts
    }
    rss = {f"{name}_mb": after[name].rss_max_bytes / MIB for name in parts}
    log = {"log_kb_per_sec": (log_after - log_before) / took / 1e3}
    return _figures(watched, played) | used | rss | log


def _figures(watched: dict[str, Any], played: dict[str, Any]) -> Figures:
    decisions, arrivals = watched["decisions"], watched["arrivals"]
    if watched["ending"] != "completed" or watched["quarantined"]:
        raise RuntimeError(f"the run did not go as planned: {watched}")
    return {
        "lost_pct": 100 * (1 - arrivals["started"] / arrivals["planned"]),
        "behind_p99_ms": played["behind"]["p99_us"] / 1e3,
        "ack_p50_ms": played["acks"]["p50_us"] / 1e3,
        "ack_p99_ms": played["acks"]["p99_us"] / 1e3,
        "beat_p50_ms": played["beats"]["p50_us"] / 1e3,
        "beat_p99_ms": played["beats"]["p99_us"] / 1e3,
        "lag_p50_ms": watched["lags"]["p50_us"] / 1e3,
        "lag_p99_ms": watched["lags"]["p99_us"] / 1e3,
        "delta_bytes": watched["delta_bytes"] / watched["deltas"],
        "assigned_ms": decisions["ShardsAssigned"]["after_us"] / 1e3,
        "start_ms": decisions["StartScheduled"]["after_us"] / 1e3,
        "map_bytes": decisions["ShardsAssigned"]["bytes"],
        "seal_bytes": decisions["RunSealed"]["bytes"],
        "fold_us": watched["fold_us"] / watched["deltas"],
        "snapshot_ms": watched["snapshots"]["p50_us"] / 1e3,
        "report_ms": watched["report_us"] / 1e3,
        "again": played["again"],
    }


def _largest(found: dict[Crowd, list[Figures]]) -> list[Crowd]:
    """Find the largest crowd of each store."""
    return [max(crowd for crowd in found if crowd[1] == store) for store in (DISK, MEMORY)]


def _sync_ms(folder: Path) -> float:
    """Measure how long the disk takes to sync the bytes of a delta."""
    took = []
    with (folder / "sync").open("wb", buffering=0) as file:
        for _ in range(SYNCS):
            file.write(bytes(SYNC_BYTES))
            began = time.perf_counter()
            os.fsync(file.fileno())
            took.append(1e3 * (time.perf_counter() - began))
    return spread.of(took).median


def _goals(found: dict[Crowd, list[Figures]]) -> list[Goal]:
    goals = []
    for most in _largest(found):
        of = {key: spread.of([one[key] for one in found[most]]) for key, _ in COLUMNS}
        who = f"{most[0]:,} agents, {most[1]}:"
        goals += [
            exactly(f"{who} arrivals lost, %", of["lost_pct"], 0),
            at_most(f"{who} a delta behind, p99", of["behind_p99_ms"], 1_000, "ms"),
            at_most(f"{who} lag of a watcher, p99", of["lag_p99_ms"], 1_000, "ms"),
            at_most(f"{who} server", of["server_pct"], 100, "% of a core"),
            at_most(f"{who} coordinator", of["coordinator_pct"], 25, "% of a core"),
        ]
    return goals


def _follows(found: dict[Crowd, list[Figures]]) -> list[str]:
    """Compute what larger fleets and slower ticks would cost, from the largest crowd."""
    most = max(found)

    def of(key: str) -> float:
        return spread.of([one[key] for one in found[most]]).median

    lines = [
        f"What follows by arithmetic from bytes a delta and fold µs of {most[0]:,} agents:",
        "",
        "| agents | tick | deltas/s | MB/s | GB/h | 2 GiB last | watcher's core |",
        "|---|---|---|---|---|---|---|",
    ]
    for agents, tick_secs in ((1_000, 1), (1_000, 5), (10_000, 1), (10_000, 5)):
        deltas = agents / tick_secs
        log = deltas * of("delta_bytes")
        lines.append(
            f"| {agents:,} | {tick_secs} s | {deltas:,.0f} | {log / 1e6:.2f} | "
            f"{log * 3_600 / 1e9:.1f} | {(2 << 30) / log / 60:,.0f} min | "
            f"{deltas * of('fold_us') / 1e4:,.0f} % |"
        )
    return lines


def _laws(programs: Programs, rounds: int) -> list[str]:
    """Time the laws alone, without a server: a thousand agents beside ten thousand."""
    took: dict[int, list[dict[str, float]]] = {agents: [] for agents in LAWS}
    for _ in range(rounds):
        for agents in LAWS:
            argv = [str(programs.crowd), "laws", str(agents)]
            done = subprocess.run(argv, capture_output=True, check=True, timeout=PATIENCE_SECS)
            took[agents].append(json.loads(done.stdout))
    few, many = LAWS
    lines = [
        "The laws alone, without a server. What is linear takes ten times as long:",
        "",
        f"| law | {few:,} agents, ms | {many:,} agents, ms | times |",
        "|---|---|---|---|",
    ]
    for what in took[few][0]:
        one, other = (
            spread.of([laws[what] / 1e3 for laws in took[agents]]) for agents in (few, many)
        )
        times = figure(other.median / one.median) if one.median else "-"
        lines.append(f"| {what} | {_cell(one)} | {_cell(other)} | {times} |")
    return lines


def _start(
    started: list[Process], core: int, argv: list[str | Path], environ: dict[str, str]
) -> Process:
    cores = sorted(os.sched_getaffinity(0))
    pinned = ["taskset", "-c", str(cores[core]), *argv]
    environ = os.environ | environ
    pipe, nowhere = subprocess.PIPE, subprocess.DEVNULL
    process = Process(
        subprocess.Popen(pinned, env=environ, stdout=pipe, stderr=nowhere, text=True), queue.Queue()
    )
    started.append(process)
    threading.Thread(target=_read, args=(process,), daemon=True).start()
    return process


def _read(process: Process) -> None:
    for line in process.popen.stdout or ():
        process.lines.put(line)
    process.lines.put(None)


def _url(folder: Path, server: Process) -> str:
    """Read the address of the server, as soon as its ports file has it."""
    give_up = time.monotonic() + PATIENCE_SECS
    while server.popen.poll() is None and time.monotonic() < give_up:
        for file in folder.glob("*.ports"):
            if text := file.read_text(encoding="utf-8"):
                return str(json.loads(text)["nats"][0])
        time.sleep(0.02)
    raise RuntimeError("nats-server does not start")


def _await_line(process: Process, key: str) -> dict[str, Any]:
    """Wait for a line that has `key`."""
    while True:
        try:
            line = process.lines.get(timeout=PATIENCE_SECS)
        except queue.Empty:
            raise RuntimeError(f"no line for {PATIENCE_SECS:.0f} s") from None
        if line is None:
            raise RuntimeError(f"it ended with {process.popen.wait()} before {key!r}")
        found: dict[str, Any] = json.loads(line)
        if key in found:
            return found


def _look(parts: dict[str, Process]) -> dict[str, Look]:
    looks = {name: look(process.popen.pid) for name, process in parts.items()}
    gone = [name for name, one in looks.items() if one is None]
    if gone:
        raise RuntimeError(f"ended before its time: {', '.join(gone)}")
    return {name: one for name, one in looks.items() if one is not None}


def _size(store: Path) -> int:
    return sum(file.stat().st_size for file in store.rglob("*") if file.is_file())


def _until(instant: float) -> None:
    time.sleep(max(0.0, instant - time.time()))


def _cell(found: Spread) -> str:
    if found.low == found.high:
        return figure(found.median)
    return f"{figure(found.median)} [{figure(found.low)} … {figure(found.high)}]"


def _line(figures: Figures) -> str:
    return ", ".join(f"{title} {figure(figures[key])}" for key, title in COLUMNS)
