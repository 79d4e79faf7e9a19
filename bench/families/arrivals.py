"""When requests arrive, at constant rates, measured at the target for every tool alike.

The n-th request should arrive at offset + n / rate. Nobody is asked when it was due: the offset is
the one that suits each tool best (the median over its run), the same for LoadPilot, whose own due
times are not used here. An arrival is when the kernel had received the request (SO_TIMESTAMPING),
so that what is shown holds pacer, engine and kernel, less what of it is constant, and not the
waking of the oracle's thread; by the time at which that had read it, there are columns too. A tool
that leaves requests out is late with all that follow; the columns of the rate that it kept show its
unrest alone. The oracle has a core of its own and the generator the other.
"""

from __future__ import annotations

from bench.families.family import Result
from bench.families.max import OURS
from bench.families.paced import CLOCK, COLUMNS, shoot_paced
from bench.measure.rounds import Figures, Setting, Table, play
from bench.pages.goals import Goal, at_least, at_most
from bench.tools.tool import Tool  # noqa: TC001  (an annotation of a nested function)

RATES = (1_000, 10_000)
P50_MAX_US = 30.0
P99_MAX_US = 1_000.0
BETTER = 10.0
"""How many times nearer to due than every peer, at p50."""


def measure(tools: list[Tool], skipped: dict[str, str], setting: Setting) -> Result:
    """Play all rounds, at each rate."""
    tables, goals = [], []
    for rps in RATES:
        table = Table(f"{rps:,} rps, {setting.secs} s a run")
        print(table.title, flush=True)

        def once(tool: Tool, table: Table, rps: int = rps) -> Figures:
            return shoot_paced(tool, table, rps, setting)

        play(table, tools, setting, once)
        tables.append(table)
        goals += _goals(table, rps, [tool.name for tool in tools])
    title = "Arrivals: how far from its due time a request arrives"
    setup = [("target", "the oracle (release build), a thread a connection"), CLOCK]
    return Result("arrivals", title, __doc__ or "", COLUMNS, tables, goals, skipped, setup)


def _goals(table: Table, rps: int, present: list[str]) -> list[Goal]:
    where = f"{rps:,} rps: distance from due"
    p50, p99 = table.spread(OURS, "far_p50_us"), table.spread(OURS, "far_p99_us")
    return [
        at_most(f"{where} p50", p50, P50_MAX_US, "µs"),
        at_most(f"{where} p99", p99, P99_MAX_US, "µs"),
        *(
            at_least(
                f"{where} p50, {peer}'s to ours", table.ratio(peer, OURS, "far_p50_us"), BETTER
            )
            for peer in present
            if peer != OURS
        ),
    ]
