"""The live view of a run on standard error: current figures, labelled as live, beside the totals.

Live figures are for watching. Gates and the summary use the closed view of the report, so nothing
here may look like a result.
"""

# ruff: noqa: PLC0415  (imports wait until they are needed: start-up is a promise)

from __future__ import annotations

import codecs
import json
import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from ... import _native
from ...control.figures import clock, closed_loop, count, number, percent
from ...control.terminal import Notes, note, safe

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..._generated.report import ThresholdResult
    from ..._generated.snapshot import Gathering, Snapshot
    from ...control.protocols import View


@dataclass(frozen=True, slots=True)
class Gate:
    """A gate of a plan."""

    key: str
    operator: str
    limit: float


@dataclass(frozen=True, slots=True)
class PlanInfo:
    """The part of a plan that a view shows."""

    scenario: str
    users: int | None = None
    """The users of a closed loop, which has no planned rate."""
    target: str = ""
    gates: tuple[Gate, ...] = ()
    judges: bool = True
    """Whether the gates are judged while the run goes on."""
    user_stages: tuple[Mapping[str, int], ...] = ()
    """The stages of those users."""

    @classmethod
    def of(cls, plan: dict[str, Any], *, judges: bool = True) -> Self:
        """Take it from a plan."""
        gates = tuple(Gate(**gate) for gate in json.loads(_native.plan_gates(json.dumps(plan))))
        stages = tuple(plan.get("user_stages", ()))
        return cls(plan["scenario"], plan.get("users"), plan["target"], gates, judges, stages)

    def closed_loop(self) -> str:
        """Write the load of a closed loop."""
        return closed_loop({"users": self.users, "user_stages": self.user_stages})


def view(info: PlanInfo, *, speed: float = 1.0) -> View:
    """Choose the view for standard error; ``speed`` is that of the run's time."""
    if is_redrawable() and Notes.are_shown:
        from .screen.view import ScreenView

        return ScreenView(info, sys.stderr, speed=speed)
    return LineView(info, note)


def is_redrawable() -> bool:
    """Whether standard error is a terminal that can be redrawn."""
    is_capable = os.environ.get("TERM", "dumb") != "dumb" and is_utf8(sys.stderr.encoding)
    return sys.stderr.isatty() and is_capable


def is_utf8(encoding: str) -> bool:
    """Whether an encoding has the characters of a frame."""
    return codecs.lookup(encoding).name == "utf-8"


class LineView:
    """A view that prints one plain line for each snapshot."""

    interval_secs = 1.0
    shows_gates = False

    def __init__(self, info: PlanInfo, write: Callable[[str], object]) -> None:
        """Print lines with ``write``."""
        self._info = info
        self._write = write

    def show(self, snapshot: Snapshot) -> None:
        """Write the figures as one line."""
        self._write(line(self._info, snapshot))

    def judge(self, gates: list[ThresholdResult]) -> None:
        """Show no gates: the summary does."""

    def refresh(self) -> None:
        """Write nothing between two snapshots."""

    def tell(self, text: str) -> None:
        """Write a line of text, without its control characters."""
        self._write(safe(text))

    def close(self) -> None:
        """Nothing was opened."""


def line(info: PlanInfo, snapshot: Snapshot) -> str:
    """Write a snapshot as one line."""
    queued = snapshot.get("queued")
    if queued is not None:
        return safe(queued)
    gathering = snapshot.get("gathering")
    if gathering is not None:
        return f"waiting for agents: {readiness(gathering)}"
    elapsed, duration = clock(snapshot["elapsed_secs"]), clock(snapshot["duration_secs"])
    return (
        f"{elapsed}/{duration} {phase(snapshot):<8} "
        f"{_rates(info, snapshot)}  total {count(snapshot['requests_total'])}  "
        f"errors {errors_pct(snapshot)}{_cause(snapshot)}  live {_latency(snapshot)}  "
        f"{_waiting(snapshot)}"
    )


def readiness(gathering: Gathering) -> str:
    """Write how many of the agents that a run waits for are ready."""
    ready, least, want = gathering["ready"], gathering["min"], gathering["want"]
    suffice = f" ({least} suffice then)" if least < want else ""
    left = f"{gathering['left_secs']:.0f} s left{suffice}"
    return f"{ready} of {want} ready, {left}"


def progress(snapshot: Snapshot, elapsed_secs: float) -> float:
    """How far through the run this is, 0 to 1."""
    duration_secs = snapshot["duration_secs"]
    if duration_secs <= 0:
        return 0.0
    return min(1.0, max(0.0, elapsed_secs / duration_secs))


def phase(snapshot: Snapshot) -> str:
    """Name the state of a run; of one that goes on, the direction of its rate."""
    state = snapshot["state"]
    if state == "running" and snapshot.get("paused"):
        return "paused"
    if state in {"running", "sealed"}:
        return snapshot["phase"].replace("_", "-")
    return state


def _rates(info: PlanInfo, snapshot: Snapshot) -> str:
    """Write arrivals beside those planned for the same time, and requests per second."""
    requests = f"{number(round(snapshot['current_rps'], 1))} requests/s"
    arrivals = number(round(snapshot.get("arrivals_per_sec", 0.0), 1))
    if info.users is not None:
        return f"{arrivals} arrivals/s, {requests}, {info.closed_loop()}"
    planned = number(round(snapshot.get("planned_per_sec", 0.0), 1))
    return f"{arrivals} of {planned} arrivals/s planned, {requests}"


def errors_pct(snapshot: Snapshot) -> str:
    """Write the share of errors among all that finished."""
    finished = snapshot["requests_total"] + snapshot.get("raised_without_call", 0)
    if finished == 0:
        return "—"
    return percent(100 * snapshot["errors_total"] / finished)


def _cause(snapshot: Snapshot) -> str:
    """Write the most frequent reason of errors."""
    failure = snapshot.get("most_frequent_failure") or snapshot.get("failing")
    return "" if failure is None else f": {safe(failure['why'])}"


def has_latency(snapshot: Snapshot) -> bool:
    """Whether latencies mean anything: not while no call has reached the target."""
    failing = snapshot.get("failing")
    return failing is None or not failing["unreached"]


def _latency(snapshot: Snapshot) -> str:
    if not has_latency(snapshot):
        return "latency not measured"
    latency = snapshot["latency"]
    percentiles = {
        "p50": latency.get("p50_ms"),
        "p95": latency.get("p95_ms"),
        "p99": latency.get("p99_ms"),
        "max": latency.get("max_ms"),
    }
    return "  ".join(f"{k} {'—' if v is None else f'{v:.1f} ms'}" for k, v in percentiles.items())


def _waiting(snapshot: Snapshot) -> str:
    oldest_ms = snapshot["oldest_ms"]
    oldest = f", oldest {oldest_ms:.0f} ms" if oldest_ms else ""
    in_flight, waiting = count(snapshot["in_flight"]), count(snapshot["waiting"])
    return f"in flight {in_flight}, waiting {waiting}{oldest}"
