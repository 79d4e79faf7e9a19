"""Constant rates: whether every request was sent, when, at what cost, and what latency was told.

The target is the oracle of the tests on a core of its own; the generator has the other core. Rate
and count are the oracle's, and an arrival is when the kernel had received it. The distance from due
is |arrival - (offset + n / rate)| with the offset that suits each tool best (the median), the same
for a tool that tells due times and one that does not; the second pair of columns takes the rate
that the tool kept instead of the one asked for, so that a drift can be told from unrest. Latency is
what each tool tells: LoadPilot and oha from when a request was due, so that waiting to be sent is
in it, the others from when it was sent. wrk knows no rate: it runs as fast as it can against nginx,
in the same rounds, and is there for its cost of a request only.
"""

from __future__ import annotations

from pathlib import Path

from bench.families.family import Result
from bench.families.max import OURS
from bench.families.paced import CLOCK, COLUMNS, CONNECTIONS, shoot_paced
from bench.measure import rounds
from bench.measure.rounds import Figures, Setting, Table, cost, play, shoot
from bench.pages.goals import Goal, at_most, below, exactly
from bench.servers.nginx import Nginx
from bench.tools.tool import Load, Tool

RATES = (500, 5_000, 20_000)
LOCUST_RPS_MAX = 500
"""Beyond this one process of Locust has no core left; *arrivals* shows it at higher rates."""
WRK_SECS = 2
OFF_MAX_PCT = 0.1
CHEAPER = {500: (("k6", 0.25),), 5_000: (("k6", 0.5), ("vegeta", 0.5))}
"""What a request may cost, as a share of a peer's."""
TO_WRK = 3.0


def measure(
    nginx: Path | None, tools: list[Tool], skipped: dict[str, str], setting: Setting
) -> Result:
    """Play all rounds, at each rate."""
    tables, goals = [], []
    for rps in RATES:
        table = Table(f"{rps:,} rps, {setting.secs} s a run")
        print(table.title, flush=True)

        def once(tool: Tool, table: Table, rps: int = rps) -> Figures:
            if tool.name == "wrk":
                return _wrk(nginx, tool, table, setting)
            return shoot_paced(tool, table, rps, setting)

        chosen = [tool for tool in tools if tool.name != "Locust" or rps <= LOCUST_RPS_MAX]
        chosen = [tool for tool in chosen if tool.name != "wrk" or nginx is not None]
        play(table, chosen, setting, once)
        tables.append(table)
        goals += _goals(table, rps, setting, [tool.name for tool in chosen])
    title = "Precision: constant rates"
    setup = [("target", "the oracle (release build), a thread a connection"), CLOCK]
    missing = {
        **skipped,
        "Locust above 500 rps": "one process has no core left there; see arrivals",
        "wrk2": "no Debian package, no release; it is built from a checkout",
    }
    return Result("precision", title, __doc__ or "", COLUMNS, tables, goals, missing, setup)


def _wrk(nginx_path: Path | None, tool: Tool, table: Table, setting: Setting) -> Figures:
    if nginx_path is None:
        raise ValueError("no nginx for wrk")
    with rounds.folder() as name:
        folder = Path(name)
        with Nginx(nginx_path, folder) as nginx:
            before = nginx.requests()
            run = shoot(tool, Load(nginx.url, WRK_SECS, CONNECTIONS), setting, table, folder)
            return cost(run.ran, nginx.requests() - before)


def _goals(table: Table, rps: int, setting: Setting, present: list[str]) -> list[Goal]:
    where = f"{rps:,} rps:"
    asked = rps * setting.secs
    goals = [
        exactly(f"{where} requests planned", table.spread(OURS, "planned"), asked),
        at_most(f"{where} requests off plan", table.spread(OURS, "missed_pct"), OFF_MAX_PCT, "%"),
        at_most(f"{where} rate off", table.spread(OURS, "rate_off_pct"), OFF_MAX_PCT, "%"),
    ]
    for peer, share in CHEAPER.get(rps, CHEAPER[5_000]):
        found = table.ratio(OURS, peer, "us_per_request")
        goals.append(at_most(f"{where} CPU a request, to {peer}", found, share))
    if rps >= min(set(RATES) - {500}):
        found = table.ratio(OURS, "wrk", "us_per_request")
        goals.append(at_most(f"{where} CPU a request, to wrk", found, TO_WRK))
    for peer in present:
        if peer in {OURS, "wrk"}:
            continue
        for key, words in (
            ("far_p50_us", "distance from due p50"),
            ("far_p99_us", "distance from due p99"),
            ("p50_us", "told latency p50"),
            ("p99_us", "told latency p99"),
        ):
            found = table.ratio(OURS, peer, key)
            goals.append(below(f"{where} {words}, to {peer}", found, 1))
    return goals
