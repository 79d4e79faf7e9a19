"""Constant rates against the oracle: *precision* and *arrivals*.

Both compare the arrivals of every tool with the grid of the rate; they differ in rates and goals.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bench.families.family import COST, OURS, Column, Family, Lab, Measured, Server, Size, reported
from bench.measure import schedule_fit
from bench.measure.rounds import cost, play, shoot
from bench.pages.distribution_plot import Chart
from bench.pages.goals import Goal, at_least, at_most, below, exactly
from bench.servers.nginx import Nginx
from bench.servers.oracle import shoot_at_oracle
from bench.tools.loadpilot import parts
from bench.tools.tool import Load

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from bench.measure.rounds import Figures, Setting, Table
    from bench.tools.tool import Tool

CLOCK = (
    "clock of arrivals",
    (
        "the kernel's receive time (SO_TIMESTAMPING) in each run that has it for all requests, "
        "else the oracle's read; the column of the kernel's share says which"
    ),
)
DISTANCE = Chart(
    "distance",
    "Share of requests (up) whose distance from due was at most x µs (right), first round.",
)
GAPS = Chart(
    "gaps",
    "Share of requests (up) that came at most x µs (right) after the one before, first round. "
    "The dashed line is the rate's own gap: a generator that keeps it rises there at once.",
)
CONNECTIONS = 64
"""Number of connections or users, for tools that need one."""
COLUMNS = (
    Column("achieved_pct", "requests at the target, % of planned"),
    Column("kept_rps", "rate at the target, rps"),
    Column("far_p50_us", "distance from due p50 µs"),
    Column("far_p99_us", "p99 µs"),
    Column("far_max_us", "max µs"),
    Column("own_p50_us", "distance from the rate it kept p50 µs"),
    Column("own_p99_us", "p99 µs"),
    Column("kernel_pct", "arrivals with the kernel's time, %"),
    Column("read_p50_us", "distance from due as the oracle read them p50 µs"),
    Column("read_p99_us", "p99 µs"),
    Column("p50_us", "reported latency p50 µs"),
    Column("p99_us", "p99 µs"),
    Column("max_us", "max µs"),
    Column("failed", "reported failures"),
    Column("connections", "connections"),
    *COST,
)
PRECISION_RATES, ARRIVALS_RATES = (500, 5_000, 20_000), (1_000, 10_000)
LOCUST_RPS_MAX = 500
"""Above this rate one process of Locust needs more than a core; *arrivals* shows it."""
WRK_SECS = 2
OFF_MAX_PCT = 0.1
CPU_SHARES = {
    500: (("k6", 0.25),),
    5_000: (("k6", 0.5), ("vegeta", 0.5), ("wrk", 3.0)),
    20_000: (("k6", 0.5), ("vegeta", 0.5), ("wrk", 3.0)),
}
"""Maximum CPU of a request at each rate, as a multiple of each peer's."""
NEARER = (
    ("far_p50_us", "distance from due p50"),
    ("far_p99_us", "distance from due p99"),
    ("p50_us", "reported latency p50"),
    ("p99_us", "reported latency p99"),
)
"""Figures of *precision* in which every peer must be above LoadPilot."""
P50_MAX_US, P99_MAX_US = 30.0, 1_000.0
PEER_P50_MIN = 10.0
"""Minimum distance of every peer from the due time at p50, as a multiple of LoadPilot's."""


def measure_precision(lab: Lab) -> Measured:
    """Play all rounds at each rate. wrk takes part for its cost only."""

    def once(tool: Tool, table: Table, folder: Path, rps: int) -> Figures:
        if tool.name != "wrk" or lab.nginx is None:
            return shoot_paced(tool, table, folder, rps, lab.setting)
        with Nginx(lab.nginx, folder) as nginx:
            before = nginx.requests()
            load = Load(nginx.url, WRK_SECS, CONNECTIONS)
            shot = shoot(tool, load, lab.setting, table, folder)
            return cost(shot.ran, nginx.requests() - before)

    tables, goals = [], []
    for rps in PRECISION_RATES:
        absent = {"wrk"} if lab.nginx is None else set()
        absent |= {"Locust"} if rps > LOCUST_RPS_MAX else set()
        tools = [tool for tool in lab.tools if tool.name not in absent]
        tables.append(_at_rate(tools, rps, lab.setting, once))
        goals += _precise(tables[-1], rps, rps * lab.setting.secs, tools)
    return Measured(tables, goals)


def _precise(table: Table, rps: int, planned: int, tools: Sequence[Tool]) -> list[Goal]:
    where = f"{rps:,} rps:"
    off = (("requests off plan", "missed_pct"), ("rate off", "rate_off_pct"))
    return [
        exactly(f"{where} requests planned", table.spread(OURS, "planned"), planned),
        *(
            at_most(f"{where} {words}", table.spread(OURS, key), OFF_MAX_PCT, "%")
            for words, key in off
        ),
        *(
            at_most(
                f"{where} CPU a request, to {peer}",
                table.ratio(OURS, peer, "us_per_request"),
                share,
            )
            for peer, share in CPU_SHARES[rps]
        ),
        *(
            below(f"{where} {words}, to {peer.name}", table.ratio(OURS, peer.name, key), 1)
            for peer in tools
            if peer.name not in {OURS, "wrk"}
            for key, words in NEARER
        ),
    ]


def measure_arrivals(lab: Lab) -> Measured:
    """Play all rounds at each rate."""

    def once(tool: Tool, table: Table, folder: Path, rps: int) -> Figures:
        return shoot_paced(tool, table, folder, rps, lab.setting)

    tables, goals = [], []
    for rps in ARRIVALS_RATES:
        table = _at_rate(lab.tools, rps, lab.setting, once)
        tables.append(table)
        where = f"{rps:,} rps: distance from due"
        p50, p99 = table.spread(OURS, "far_p50_us"), table.spread(OURS, "far_p99_us")
        goals.append(at_most(f"{where} p50", p50, P50_MAX_US, "µs"))
        goals.append(at_most(f"{where} p99", p99, P99_MAX_US, "µs"))
        for peer in (tool.name for tool in lab.tools if tool.name != OURS):
            found = table.ratio(peer, OURS, "far_p50_us")
            goals.append(at_least(f"{where} p50, {peer}'s to ours", found, PEER_P50_MIN))
    return Measured(tables, goals)


def _at_rate(
    tools: Sequence[Tool],
    rps: int,
    setting: Setting,
    once: Callable[[Tool, Table, Path, int], Figures],
) -> Table:
    title = f"{rps:,} rps, {setting.secs} s a run"
    return play(title, tools, setting, lambda tool, table, folder: once(tool, table, folder, rps))


def shoot_paced(tool: Tool, table: Table, folder: Path, rps: int, setting: Setting) -> Figures:
    """Run a tool once at a rate, and compare its arrivals with the grid of that rate."""
    logged = shoot_at_oracle(tool, (rps, CONNECTIONS), setting, table, folder)
    ran, requests, planned = logged.run.ran, len(logged.read_us), rps * setting.secs
    figures: Figures = {
        "kernel_pct": 100 * len(logged.kernel_us) / requests if requests else None,
        "achieved_pct": 100 * requests / planned,
        "missed_pct": 100 * abs(requests - planned) / planned,
        **reported(logged.run.report, "planned", "p50_us", "p99_us", "max_us", "failed"),
        "connections": float(logged.connections),
        "target_cpu_secs": logged.target_cpu_secs,
        **cost(ran, requests),
        **parts(ran, requests),
    }
    found = schedule_fit.fit(logged.arrivals_us, rps)
    read = schedule_fit.fit(logged.read_us, rps)
    if found is None or read is None:
        return figures
    table.draw(DISTANCE, tool.name, found.planned.sorted_us)
    gaps = replace(GAPS, ideal_us=1e6 / rps)
    table.draw(gaps, tool.name, schedule_fit.gaps_us(logged.arrivals_us))
    return figures | {
        "read_p50_us": read.planned.p50_us,
        "read_p99_us": read.planned.p99_us,
        "kept_rps": found.kept_rps,
        "rate_off_pct": 100 * abs(found.kept_rps - rps) / rps,
        "far_p50_us": found.planned.p50_us,
        "far_p99_us": found.planned.p99_us,
        "far_max_us": found.planned.max_us,
        "own_p50_us": found.own.p50_us,
        "own_p99_us": found.own.p99_us,
    }


CONNECTION_RATE = "its rate is one of connections"
WORKER_RATE = "each of its workers paces itself, so its requests come in bursts by design"
FAMILIES = (
    Family(
        "precision",
        "Precision: constant rates",
        """
The target is the oracle of the tests on a core of its own; the generator has the other core. Rate
and count are the oracle's, and an arrival is when the kernel had received it. The distance from due
is |arrival - (offset + n / rate)|. The offset is the one that suits each tool best (the median),
for tools that report due times and for those that do not. The second pair of columns takes the rate
that the tool kept instead of the planned one, so that drift and unrest are separate. Latency is the
tool's own figure: LoadPilot and oha measure from when a request was due, so that the wait to be
sent is in it, the others from when it was sent. wrk has no rate: it runs as fast as it can against
nginx, in the same rounds, and only its cost of a request is used.
""",
        COLUMNS,
        measure_precision,
        Size(7, 10),
        Size(3, 3),
        ("LoadPilot", "wrk", "oha", "vegeta", "k6", "Locust"),
        Server.ORACLE,
        (CLOCK,),
        {
            "hey": WORKER_RATE,
            "h2load": CONNECTION_RATE,
            "Locust above 500 rps": "one process needs more than a core there; see arrivals",
            "wrk2": "no Debian package, no release; it is built from a checkout",
        },
    ),
    Family(
        "arrivals",
        "Arrivals: how far from its due time a request arrives",
        """
The n-th request should arrive at offset + n / rate. No tool's own due times are used, LoadPilot's
neither: the offset is the one that suits each tool best (the median over its run). An arrival is
when the kernel had received the request (SO_TIMESTAMPING). So the figures hold pacer, engine and
kernel, less their constant part, and not the wake-up of the oracle's thread; there are columns by
the time of the oracle's read, too. A tool that leaves requests out is late with all later ones; the
columns of the rate that it kept show its unrest alone. The oracle has a core of its own and the
generator the other.
""",
        COLUMNS,
        measure_arrivals,
        Size(7, 10),
        Size(3, 3),
        ("LoadPilot", "oha", "vegeta", "k6", "Locust"),
        Server.ORACLE,
        (CLOCK,),
        {"hey": WORKER_RATE, "h2load": CONNECTION_RATE, "wrk": "it has no rate"},
    ),
)
