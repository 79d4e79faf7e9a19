"""The rows of the live view, each with how much it matters, and those of the run as a whole.

Pure functions of a moment of the run. Text of users and targets is escaped.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

from ....control.figures import clock, count, number, percent, plural
from ....control.terminal import safe
from ..live import errors_pct, phase, progress, readiness
from .cells import Line, Span, Tone, cut, flow, width

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...._generated.report import ThresholdResult
    from ...._generated.snapshot import Snapshot
    from ..live import PlanInfo
    from .trend import Second

LABEL = 17
"""Cells of a label."""
SHORT_PCT = 95.0
"""Share of the planned rate, in percent, below which the rate is marked."""


class Rank(IntEnum):
    """How much a row matters: the last ones are left out first."""

    TITLE = 0
    PROGRESS = 1
    FAILED = 2
    ARRIVALS = 3
    GATES = 4
    RESPONSE = 5
    REQUESTS = 6
    SERVICE = 7
    FAILING_GATE = 8
    GATE = 9
    INTERVAL = 10
    IN_FLIGHT = 11
    CONNECTIONS = 12
    TASKS = 13
    FAILING_TASK = 14
    TREND = 15
    TASK = 16
    GAP = 17


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the frame."""

    line: Line
    rank: Rank
    listed: str = ""
    """The list that the row is an entry of, if that list may be cut: tasks or gates."""


@dataclass(frozen=True, slots=True)
class Moment:
    """The state of a run now."""

    snapshot: Snapshot
    elapsed_secs: float
    """Time of the run; the snapshot's own may be a second old."""
    gates: tuple[ThresholdResult, ...] | None = None
    """The gates as they stand; None before they were judged."""
    judged_secs: float = 0.0
    """When they were judged."""
    trend: tuple[Second, ...] = ()
    """The last seconds, the oldest first."""


GAP = Row([], Rank.GAP)


def head(info: PlanInfo, moment: Moment, cells: int) -> Iterator[Row]:
    """Write the scenario, the state of the run and its progress."""
    snapshot = moment.snapshot
    state = phase(snapshot)
    tone = Tone.WARN if state in {"paused", "stopping"} else Tone.PLAIN
    of = plural(snapshot["active_workers"], "load generator")
    name = cut(f"{safe(info.scenario)} → {safe(info.target)}", cells - len(state) - len(of) - 5)
    gap = " " * (cells - width(name) - len(state) - len(of) - 3)
    title: Line = [(name, Tone.STRONG), (gap, Tone.PLAIN), (state, tone), (f" · {of}", Tone.QUIET)]
    yield Row(title, Rank.TITLE)
    queued = snapshot.get("queued")
    if queued is not None:
        yield Row([(safe(queued).capitalize(), Tone.WARN)], Rank.PROGRESS)
        return
    gathering = snapshot.get("gathering")
    if gathering is not None:
        yield Row(
            [(f"Waiting for load generators: {readiness(gathering)}", Tone.WARN)], Rank.PROGRESS
        )
        return
    share = progress(snapshot, moment.elapsed_secs)
    elapsed, duration = clock(moment.elapsed_secs), clock(snapshot["duration_secs"])
    tail = f" {share * 100:3.0f} %  {elapsed} of {duration}"
    bar = _bar(share, cells - len(tail))
    yield Row([*bar, (tail, Tone.PLAIN)], Rank.PROGRESS)


def _bar(share: float, cells: int) -> Line:
    """Draw a share of a line, in steps of half a cell."""
    halves = round(share * 2 * cells)
    done = "━" * (halves // 2) + "╸" * (halves % 2)
    return [(done, Tone.PLAIN), ("─" * (cells - len(done)), Tone.QUIET)]


def load(info: PlanInfo, moment: Moment, cells: int) -> Iterator[Row]:
    """Write what was offered, what came back and what failed."""
    snapshot = moment.snapshot
    groups = (
        ("Arrivals", Rank.ARRIVALS, _arrivals(info, snapshot)),
        ("Requests", Rank.REQUESTS, _requests(snapshot)),
        ("Failed requests", Rank.FAILED, _failed(snapshot)),
        ("In flight", Rank.IN_FLIGHT, _in_flight(snapshot)),
        ("Connections", Rank.CONNECTIONS, _connections(snapshot)),
    )
    for label, rank, items in groups:
        yield from (Row(line, rank) for line in flow((label, Tone.QUIET), items, LABEL, cells))


def _arrivals(info: PlanInfo, snapshot: Snapshot) -> Iterator[Span]:
    offered, planned = snapshot.get("arrivals_per_sec", 0.0), snapshot.get("planned_per_sec", 0.0)
    rate = number(round(offered, 1))
    if info.users is not None:
        yield f"{rate}/s, {info.closed_loop()}", Tone.PLAIN
    else:
        is_short = 100 * offered < SHORT_PCT * planned
        text = f"{rate} of {number(round(planned, 1))} planned/s"
        yield text, Tone.WARN if is_short else Tone.PLAIN
    yield f"{count(snapshot['arrivals_started'])} started", Tone.PLAIN
    dropped = snapshot["arrivals_dropped"]
    yield f"{count(dropped)} dropped", Tone.WARN if dropped else Tone.PLAIN


def _requests(snapshot: Snapshot) -> Iterator[Span]:
    yield f"{number(round(snapshot['current_rps'], 1))}/s", Tone.PLAIN
    yield f"{count(snapshot['requests_total'])} in total", Tone.PLAIN


def _failed(snapshot: Snapshot) -> Iterator[Span]:
    errors = snapshot["errors_total"]
    tone = Tone.BAD if errors else Tone.PLAIN
    yield f"{count(errors)} ({errors_pct(snapshot)})", tone
    failure = snapshot.get("most_frequent_failure")
    if failure is not None:
        yield f"mostly {safe(failure['why'])} ({count(failure['count'])})", tone


def _in_flight(snapshot: Snapshot) -> Iterator[Span]:
    yield count(snapshot["in_flight"]), Tone.PLAIN
    yield f"{count(snapshot['waiting'])} waiting", Tone.PLAIN
    if snapshot["oldest_ms"]:
        yield f"oldest {snapshot['oldest_ms']:,.0f} ms", Tone.PLAIN


def _connections(snapshot: Snapshot) -> Iterator[Span]:
    yield f"{number(round(snapshot.get('opened_per_sec', 0.0), 1))} opened/s", Tone.PLAIN
    reused_pct = snapshot.get("reused_pct")
    if reused_pct is not None:
        yield f"reused by {percent(reused_pct)} of the requests", Tone.PLAIN
