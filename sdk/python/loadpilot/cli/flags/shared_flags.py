"""Flags and arguments that several commands take."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from .declaration import FLEET, GATES, LOAD, OUTPUT, flag
from .run_completion import known_runs
from .server_flags import ServerFlags

File = Annotated[str | None, Parameter(help="Scenario file.")]
MoreFiles = Annotated[
    str, Parameter(help="Further scenario files: all scenarios run together by their shares.")
]
RunId = Annotated[
    str,
    Parameter(
        help="Id of the run, or its first characters; `last` is the newest; or a .lprun file.",
        completer=known_runs,
    ),
]
Server = Annotated[ServerFlags, Parameter(name="*")]
NO_SERVER = ServerFlags()
"""No fleet: the command is about this directory and this machine."""
Scenario = Annotated[
    str | None,
    flag(
        LOAD,
        "NAME",
        "Scenario to run alone; needed when the file defines several without shares.",
        "--scenario",
        "-s",
    ),
]
Agents = Annotated[
    str | None,
    flag(
        FLEET,
        "INT",
        "Number of agent processes on this machine that share the load.",
        "--agents",
        "-a",
        default=1,
    ),
]
Strict = Annotated[bool, flag(GATES, "", "Exit with 3 when the certificate is DEGRADED, too.")]
Verbose = Annotated[
    bool,
    flag(
        OUTPUT,
        "",
        "Print everything: how the scenario is executed, each step of the run, the full summary.",
        "--verbose",
        "-v",
    ),
]
Out = Annotated[
    tuple[str, ...],
    flag(
        GATES,
        "KIND=URI",
        "Write the figures of each second while the run goes on: json=FILE or csv=FILE, as `dump` "
        "writes them; FILE - is standard output, and the summary is then on standard error. "
        "prometheus=URL and otlp=URL send counters and histograms to Prometheus (remote write) or "
        "an OpenTelemetry collector. Repeatable.",
    ),
]
Metrics = Annotated[
    str | None,
    flag(
        GATES,
        "HOST:PORT",
        "Let a Prometheus scrape the run here while it goes on, at /metrics, such as "
        "127.0.0.1:9090; on loopback only. A port that is taken is a warning.",
    ),
]
Json = Annotated[bool, flag(OUTPUT, "", "Print JSON instead.")]
