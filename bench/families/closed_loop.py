"""As fast as possible against nginx: *max*, *http2* and *tls*, which differ by a row of data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bench.families.family import COST, OURS, Column, Family, Lab, Measured, Server, Size, reported
from bench.measure.rounds import agent_of, cost, play, shoot
from bench.pages.goals import Goal, at_least, at_most
from bench.servers.nginx import CIPHER, Nginx, Speaks
from bench.tools.loadpilot import parts
from bench.tools.tool import Load

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from bench.measure.rounds import Figures, Setting, Table
    from bench.tools.tool import Tool

PER_CPU = "per_cpu_sec"
RSS_MAX_MIB = 40.0
AGENT = agent_of(OURS)
ALL_TOOLS = ("LoadPilot", "wrk", "h2load", "oha", "vegeta", "hey", "k6", "Locust")


def columns(yardstick: str, *, connections: bool = True) -> tuple[Column, ...]:
    """List the columns; only some families show the connections that nginx counted."""
    return (
        Column(PER_CPU, "requests a CPU-second"),
        Column("to_yardstick", f"x {yardstick}"),
        Column("rps", "requests/s"),
        Column("requests", "requests at nginx"),
        *((Column("connections", "connections at nginx"),) if connections else ()),
        Column("told_more", "the tool reported more, %"),
        *COST,
        Column("p50_us", "reported p50 µs"),
        Column("p99_us", "reported p99 µs"),
        Column("failed", "reported failures"),
        Column("target_busy_pct", "nginx busy %"),
    )


@dataclass(frozen=True)
class Plan:
    """The differences between the families of this file."""

    speaks: Speaks
    yardstick: str
    shapes: tuple[tuple[str, Load], ...]
    """Title and load of each table."""
    floors: tuple[tuple[str, float], ...]
    """Minimum requests per CPU-second of LoadPilot's agent, as a multiple of each peer's."""
    rss_max_mib: float | None = None

    def measure(self, lab: Lab) -> Measured:
        """Play all rounds of each shape."""
        tables, goals = [], []
        for title, shape in self.shapes:
            load = replace(shape, secs=lab.setting.secs)
            table = play_closed(title, lab, lab.tools, load, self.yardstick, speaks=self.speaks)
            tables.append(table)
            goals += self._goals(table, f"{title}:")
        return Measured(tables, goals)

    def _goals(self, table: Table, where: str) -> list[Goal]:
        goals = [
            at_least(
                f"{where} requests a CPU-second of the agent, to {peer}",
                table.ratio(AGENT, peer, PER_CPU),
                floor,
                beside=table.ratio(OURS, peer, PER_CPU),
            )
            for peer, floor in self.floors
        ]
        if self.rss_max_mib is not None:
            whole, agent = table.spread(OURS, "rss_mb"), table.spread(AGENT, "rss_mb")
            words = f"{where} peak RSS of the agent"
            goals.append(at_most(words, agent, self.rss_max_mib, "MiB", whole))
        return goals


MAX = Plan(
    Speaks.HTTP1,
    "wrk",
    tuple((f"{n} connections", Load("", 0, n)) for n in (64, 256)),
    (("wrk", 1.0), ("oha", 1.2), ("vegeta", 3.0), ("hey", 3.0), ("k6", 5.0), ("Locust", 15.0)),
    RSS_MAX_MIB,
)
HTTP2 = Plan(
    Speaks.H2C,
    "h2load",
    tuple(
        (f"{n} connections with {streams} streams", Load("", 0, n, streams=streams))
        for n, streams in ((4, 64), (64, 4))  # few with many streams, many with few
    ),
    (("h2load", 0.7),),
)
TLS = Plan(Speaks.TLS, "wrk", (("64 connections", Load("", 0, 64)),), (("wrk", 0.95),))
FAMILIES = (
    Family(
        "max",
        "Max: requests for a second of processor time",
        """
The target is nginx with one worker on a core of its own. Every generator has the other core and the
same number of connections, keep-alive, GET, 25 bytes of JSON. Requests are counted by nginx, not by
the tool. CPU is what the kernel charged to the tool and all its child processes, from start to end.
LoadPilot has two rows. *LoadPilot's agent* is the generator as the product runs it: one process
with its start in Python, its histograms and the deltas that it sends to nats. The other tools are
one process too, and the goals compare with this row. *LoadPilot* is the whole command: the Python
command line, supervisor, nats-server with the log, coordinator and agent; its figure stands beside
each goal. The agent's cost is its last sample in /proc, ten samples a second, and it idles before
it is ended; a column shows the CPU in no sample of any process. vegeta's report is made after its
run and is not in its cost.
""",
        columns("wrk", connections=False),
        MAX.measure,
        Size(9, 5),
        Size(3, 2),
        ALL_TOOLS,
        Server.NGINX,
    ),
    Family(
        "http2",
        "HTTP/2: requests for a second of processor time",
        """
The target is nginx with one worker on a core of its own, HTTP/2 without TLS, keep-alive, GET, 25
bytes of JSON. Every generator has the other core, the same number of connections and the same
number of concurrent requests on each of them. LoadPilot's scenario sets `--http 2` and
`streams_max`, with as many users as streams on all connections. nginx counts the connections that
each tool really had, and the requests. Rows and goals are those of *max*: the agent is judged, the
whole command stands beside it.
""",
        columns("h2load"),
        HTTP2.measure,
        Size(9, 5),
        Size(3, 2),
        ("LoadPilot", "h2load", "oha"),
        Server.NGINX,
        (("protocol", Speaks.H2C.value),),
        {
            "wrk": "HTTP/1.1 only",
            "vegeta": "no setting for the number of streams over HTTP/2",
            "hey": "no setting for the number of streams over HTTP/2",
            "k6": "HTTP/2 over TLS only",
            "Locust": "HTTP/1.1 only",
        },
    ),
    Family(
        "tls",
        "TLS: requests for a second of processor time",
        """
As *max*, but over https. The target is nginx with one worker and a certificate that is made for the
run (ECDSA P-256), TLS 1.3 with one cipher, so that every tool encrypts alike. Connections are kept,
so handshakes hardly count. LoadPilot verifies the certificate, from `--cacert`; oha and vegeta
verify it by their flag and k6 by SSL_CERT_FILE; wrk, h2load, hey and Locust verify nothing. Rows
and goals are those of *max*: the agent is judged, the whole command stands beside it.
""",
        columns("wrk"),
        TLS.measure,
        Size(9, 5),
        Size(3, 2),
        ALL_TOOLS,
        Server.NGINX,
        (("protocol", Speaks.TLS.value), ("cipher", CIPHER)),
    ),
)


def play_closed(
    title: str,
    lab: Lab,
    tools: Sequence[Tool],
    load: Load,
    yardstick: str,
    *,
    setting: Setting | None = None,
    speaks: Speaks = Speaks.HTTP1,
) -> Table:
    """Play all rounds of one table, and add each row's ratio to the yardstick.

    Each run has an nginx of its own, which counts requests and connections; the address of the load
    is filled in.
    """
    setting = setting or lab.setting

    def once(tool: Tool, table: Table, folder: Path) -> Figures:
        if lab.nginx is None:
            raise ValueError("nginx is missing")
        with Nginx(lab.nginx, folder, speaks) as nginx:
            (connections, before), cpu_before = nginx.counted(), nginx.cpu_secs()
            aimed = replace(load, url=nginx.url, cacert=nginx.cacert)
            shot = shoot(tool, aimed, setting, table, folder)
            connected, requests = nginx.counted()
            busy_secs = nginx.cpu_secs() - cpu_before
        ran, report, requests = shot.ran, shot.report, requests - before
        more = None if report.requests is None else report.requests - requests
        return {
            PER_CPU: requests / ran.cpu_secs,
            "rps": requests / setting.secs,
            "requests": float(requests),
            "connections": float(connected - connections),
            "told_more": None if more is None else 100 * more / max(1, requests),
            **cost(ran, requests),
            **parts(ran, requests),
            **reported(report, "p50_us", "p99_us", "failed"),
            "target_busy_pct": 100 * busy_secs / setting.secs,
        }

    table = play(f"{title}, {setting.secs} s a run", tools, setting, once)
    of_rounds = {one["round"]: one[PER_CPU] for one in table.figures.get(yardstick, [])}
    for of_row in table.figures.values():
        for figures in of_row:
            theirs, mine = of_rounds.get(figures["round"]), figures[PER_CPU]
            figures["to_yardstick"] = mine / theirs if mine and theirs else None
    return table
