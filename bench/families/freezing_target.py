"""*honesty*: the latency that each tool reports of a target that freezes for 1 s in every 5 s."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.families.family import COST, OURS, Column, Family, Lab, Measured, Server, Size, reported
from bench.measure.rounds import cost, play
from bench.measure.spread import of, quantile
from bench.pages.goals import Goal, at_most
from bench.servers.oracle import shoot_at_oracle
from bench.tools.loadpilot import parts

if TYPE_CHECKING:
    from pathlib import Path

    from bench.measure.rounds import Figures, Setting, Table
    from bench.tools.tool import Tool

ABOUT = """
Requests are offered at 1,000 rps and the freezes begin 2 s, 7 s, 12 s … after the first request, so
the right answer can be computed. A request that is due x seconds before the end of a freeze of 1 s
is answered x later, every other one at once. Requests are due evenly, so one fifth of them meet a
freeze, and their wait is spread evenly over 0 … 1 s. With the share q of all requests sorted by
latency, the latency is 0 up to q = 0.8 and (q - 0.8) / 0.2 x 1 s beyond: p50 = 0, p90 = 500 ms,
p99 = 950 ms, max = 1,000 ms. The table's answer is the same for the finite number of requests, each
due at n / rate. An ordinary answer of the oracle takes about 0.1 ms, far below the tolerance.

A tool that sends its next request only after an answer offers fewer requests while the target is
frozen, and most of what users would have met is missing in its figures. Tools that need a number of
connections get one for each request of a freeze, and some; oha also corrects its latency.
"""
RPS = 1_000
CONNECTIONS = 1_200
"""More than the requests of a freeze."""
PERIOD_MS, FROZEN_MS, FIRST_MS = 5_000, 1_000, 2_000
TRUTH = "**the answer**"
POINTS = (("p50_ms", 0.5), ("p90_ms", 0.9), ("p99_ms", 0.99), ("max_ms", 1.0))
ALLOWED_SHARE, ALLOWED_MS = 0.03, 2.0
COLUMNS = (
    Column("p50_ms", "reported p50 ms"),
    Column("p90_ms", "p90 ms"),
    Column("p99_ms", "p99 ms"),
    Column("max_ms", "max ms"),
    Column("achieved_pct", "requests at the target, % of planned"),
    Column("frozen_pct", "arrived while frozen, % of due then"),
    Column("failed", "reported failures"),
    Column("connections", "connections"),
    *COST,
)


def measure(lab: Lab) -> Measured:
    """Play all rounds; a run lasts whole periods."""
    setting = lab.setting
    truth = answer(RPS, setting.secs)

    def once(tool: Tool, table: Table, folder: Path) -> Figures:
        return _once(tool, table, folder, setting)

    table = play(f"{RPS:,} rps, {setting.secs} s a run", lab.tools, setting, once)
    table.figures[TRUTH].append({**truth, "achieved_pct": 100, "frozen_pct": 100, "round": 0})
    return Measured([table], [_goal(table, key, truth) for key, _ in POINTS])


def freezes_ms(secs: int) -> list[int]:
    """List when freezes begin, after the first request."""
    return list(range(FIRST_MS, secs * 1_000, PERIOD_MS))


def answer(rps: int, secs: int) -> dict[str, float | None]:
    """Compute the latency of every request from its due time, and their percentiles."""
    if secs * 1_000 % PERIOD_MS:
        raise ValueError("the run must last whole periods")
    waits_ms = []
    for n in range(rps * secs):
        due_ms = n * 1_000 / rps
        since_ms = (due_ms - FIRST_MS) % PERIOD_MS
        waits_ms.append(FROZEN_MS - since_ms if since_ms < FROZEN_MS else 0.0)
    waits_ms.sort()
    return {key: quantile(waits_ms, share) for key, share in POINTS}


def _once(tool: Tool, table: Table, folder: Path, setting: Setting) -> Figures:
    begins_ms = freezes_ms(setting.secs)
    behaviours = tuple(f"freeze after_first_ms={begin} for_ms={FROZEN_MS}" for begin in begins_ms)
    logged = shoot_at_oracle(tool, (RPS, CONNECTIONS), setting, table, folder, behaviours)
    # The oracle times freezes by its own clock, so its times of arrivals are used.
    report, arrivals_us = logged.run.report, logged.read_us
    if not arrivals_us:
        raise ValueError("no request reached the target")
    since_ms = [(at - arrivals_us[0]) / 1_000 for at in arrivals_us]
    frozen = sum(any(0 <= at - begin < FROZEN_MS for begin in begins_ms) for at in since_ms)
    due_then = len(begins_ms) * RPS * FROZEN_MS / 1_000
    return {
        **{key: _ms(getattr(report, key.replace("_ms", "_us"))) for key, _ in POINTS},
        "achieved_pct": 100 * len(arrivals_us) / (RPS * setting.secs),
        "frozen_pct": 100 * frozen / due_then,
        **reported(report, "failed"),
        "connections": float(logged.connections),
        **cost(logged.run.ran, len(arrivals_us)),
        **parts(logged.run.ran, len(arrivals_us)),
    }


def _goal(table: Table, key: str, truth: dict[str, float | None]) -> Goal:
    """Judge the distance between LoadPilot's figure and the computed latency."""
    true_ms = truth[key] or 0.0
    found = [one for figures in table.figures.get(OURS, []) if (one := figures[key]) is not None]
    off = of([abs(one - true_ms) for one in found]) if found else None
    allowed_ms = max(ALLOWED_MS, ALLOWED_SHARE * true_ms)
    words = f"{key.removesuffix('_ms')}: distance from the answer of {true_ms:,.0f} ms"
    return at_most(words, off, allowed_ms, "ms")


def _ms(us: float | None) -> float | None:
    return None if us is None else us / 1_000


FAMILY = Family(
    "honesty",
    "Honesty: a target that freezes",
    ABOUT,
    COLUMNS,
    measure,
    Size(5, 20),
    Size(2, 5),
    ("LoadPilot", "oha", "vegeta", "hey", "k6", "Locust"),
    Server.ORACLE,
    excluded={
        "wrk": "it has no rate",
        "h2load": "its rate is one of connections, and it reports no percentile",
    },
)
