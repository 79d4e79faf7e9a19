"""TLS: requests for each second of processor time that the generator spends, beside wrk.

As *max*, but over https: the target is nginx with one worker and a certificate that is made for the
run (ECDSA P-256), TLS 1.3 with one cipher, so that every tool encrypts alike; connections are kept,
so handshakes hardly count. LoadPilot is given the certificate with `--cacert` and verifies it, as
do oha and vegeta by their flag and k6 by SSL_CERT_FILE; wrk, h2load, hey and Locust verify nothing.
Rows and goals are those of *max*: the agent is judged, the whole command stands beside it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.families.family import COST, PARTS_COST, Column, Result
from bench.families.max import per_cpu_goal
from bench.families.nginx_closed import PER_CPU, play_closed
from bench.servers.nginx import CIPHER, Speaks
from bench.tools.tool import Load, Tool

if TYPE_CHECKING:
    from pathlib import Path

    from bench.measure.rounds import Setting

CONNECTIONS = (64,)
FLOOR = 0.95
COLUMNS = (
    Column(PER_CPU, "requests a CPU-second"),
    Column("to_yardstick", "x wrk"),
    Column("rps", "requests/s"),
    Column("requests", "requests at nginx"),
    Column("connections", "connections at nginx"),
    Column("told_more", "the tool told more, %"),
    *COST,
    *PARTS_COST,
    Column("p50_us", "told p50 µs"),
    Column("p99_us", "told p99 µs"),
    Column("failed", "told failed"),
    Column("target_busy_pct", "nginx busy %"),
)


def measure(nginx: Path, tools: list[Tool], skipped: dict[str, str], setting: Setting) -> Result:
    """Play all rounds."""
    tables, goals = [], []
    for connections in CONNECTIONS:
        title = f"{connections} connections"
        load = Load("", setting.secs, connections)
        table = play_closed(title, nginx, Speaks.TLS, tools, load, setting, "wrk")
        tables.append(table)
        goals.append(per_cpu_goal(table, f"{connections} connections:", "wrk", FLOOR))
    setup = [
        ("target", f"nginx, one worker, {Speaks.TLS.value}, 25 bytes of JSON, stub_status"),
        ("cipher", CIPHER),
    ]
    title = "TLS: requests for a second of processor time"
    return Result("tls", title, __doc__ or "", COLUMNS, tables, goals, skipped, setup)
