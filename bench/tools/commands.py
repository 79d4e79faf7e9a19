"""The command line of each peer. Defaults of the tool wherever the load does not say otherwise."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bench.measure.machine import SCENARIOS
from bench.tools.tool import Command

if TYPE_CHECKING:
    from bench.tools.tool import Load

VEGETA_CONNECTIONS_MAX = 4_096
"""Maximum number of connections that vegeta opens to keep a rate."""
ORIGINAL_RPS_MAX = 50_000
"""A rate above what one core can generate: the original knows rates only."""


@dataclass(frozen=True)
class Job:
    """One run of a peer: its program, the load, the folder for its files."""

    path: str
    load: Load
    folder: Path


def wrk(job: Job) -> Command:
    """One thread. The latency distribution is recorded anyway, so it is printed too."""
    load = _closed("wrk", job)
    size = ["-t1", f"-c{load.connections}", f"-d{load.secs}s"]
    return Command([job.path, *size, "--latency", load.url])


def h2load(job: Job) -> Command:
    """One thread, HTTP/2 or HTTP/1.1; it verifies no certificate."""
    load = _closed("h2load", job)
    version = "--h1" if load.streams is None else f"-m{load.streams}"
    size = ["-t1", f"-c{load.connections}", f"-D{load.secs}"]
    return Command([job.path, version, *size, load.url])


def hey(job: Job) -> Command:
    """Its rate is per worker."""
    load = job.load
    pace = [] if load.rps is None else ["-q", f"{load.rps / load.connections:g}"]
    return Command([job.path, *_size(load), *pace, load.url])


def oha(job: Job) -> Command:
    """At a rate with `--latency-correction`, its answer to a stalled target."""
    load = job.load
    pace = [] if load.rps is None else ["-q", str(load.rps), "--latency-correction"]
    streams = [] if load.streams is None else ["--http2", "-p", str(load.streams)]
    trust = [] if load.cacert is None else ["--cacert", str(load.cacert)]
    quiet = ["--no-tui", "--output-format", "json"]
    return Command([job.path, *quiet, *_size(load), *pace, *streams, *trust, load.url])


def vegeta(job: Job) -> Command:
    """Without a rate its workers are the connections; at a rate it starts workers on demand."""
    load, targets = job.load, job.folder / "targets"
    targets.write_text(f"GET {load.url}\n", encoding="utf-8")
    files = [f"-targets={targets}", f"-output={job.folder / 'results.bin'}"]
    if load.rps is None:
        workers = [f"-workers={load.connections}", f"-max-workers={load.connections}"]
        pace = ["-rate=0", *workers]
    else:
        # Behind its schedule it would open connections until the target has no threads left.
        pace = [f"-rate={load.rps}/1s", f"-max-connections={VEGETA_CONNECTIONS_MAX}"]
    # Over TLS it would choose HTTP/2 by itself.
    trust = [] if load.cacert is None else [f"-root-certs={load.cacert}", "-http2=false"]
    return Command([job.path, "attack", *files, *trust, f"-duration={load.secs}s", *pace])


def k6(job: Job) -> Command:
    """Users in a closed loop, or `constant-arrival-rate`; the script reads the load from flags.

    Response bodies are discarded, as its documentation advises for high rates.
    """
    load = job.load
    variables = {
        "BENCH_URL": load.url,
        "BENCH_SECS": str(load.secs),
        "BENCH_USERS": str(load.connections),
        "BENCH_RPS": str(load.rps or 0),
        "BENCH_SUMMARY": str(job.folder / "summary.json"),
        **_routes(load),
    }
    flags = [flag for name, value in variables.items() for flag in ("-e", f"{name}={value}")]
    environ = dict(os.environ) | {"K6_NO_USAGE_REPORT": "true", "HOME": str(job.folder)}
    if load.cacert is not None:  # Go reads it instead of the system's
        environ["SSL_CERT_FILE"] = str(load.cacert)
    script = str(SCENARIOS / "k6_script.js")
    return Command([job.path, "run", "--quiet", "--no-color", *flags, script], environ)


def locust(job: Job) -> Command:
    """FastHttpUser, its faster client, in one process; all users start at once.

    A rate is spread over the users, each of which keeps `constant_throughput`.
    """
    load, users = job.load, str(job.load.connections)
    environ = dict(os.environ) | _routes(load)
    if load.rps is not None:
        environ["BENCH_RPS_PER_USER"] = str(load.rps / load.connections)
    scenario = str(SCENARIOS / "locust_scenario.py")
    size = ["--users", users, "--spawn-rate", users, "--run-time", f"{load.secs}s"]
    quiet = ["--headless", "--skip-log", "--json", "--host", load.url.rstrip("/")]
    return Command([job.path, "-f", scenario, *quiet, *size], environ)


def original(job: Job) -> Command:
    """As its documentation advises, with callbacks into Python where a load is checked."""
    load = job.load
    environ = dict(os.environ) | {
        "BENCH_RPS": str(load.rps or ORIGINAL_RPS_MAX),
        "BENCH_SECS": str(load.secs),
        "HOME": str(job.folder),
    }
    # The Python inside its process does not find the environment by itself. Without it a load with
    # callbacks would silently have none. The bench's own environment is not the original's.
    packages = (Path(job.path).parents[1] / "lib").glob("python3.*/site-packages")
    environ["PYTHONPATH"] = os.pathsep.join(map(str, packages))
    environ.pop("VIRTUAL_ENV", None)
    kind = ("Shop" if load.shop else "Look") + ("Checked" if load.checked else "Plain")
    scenario = [str(SCENARIOS / "original_scenario.py"), "--scenario", kind]
    results = ["--results-json", str(job.folder / "results.json")]
    target = ["--target", load.url.rstrip("/")]
    return Command([job.path, "run", *scenario, *target, *results], environ)


def _closed(name: str, job: Job) -> Load:
    """Refuse a load with a rate."""
    if job.load.rps is not None:
        raise ValueError(f"{name} has no rate of requests")
    return job.load


def _size(load: Load) -> list[str]:
    """Duration and connections, as hey and oha read them."""
    return ["-z", f"{load.secs}s", "-c", str(load.connections)]


def _routes(load: Load) -> dict[str, str]:
    """Select the routes and checks of a script through its environment."""
    return {
        "BENCH_SHOP": "1" if load.shop else "",
        "BENCH_CHECKED": "1" if load.checked else "",
    }
