"""The live view of a run on standard error: figures of now, labelled as live, beside the totals.

Live figures are for watching. Gates and the summary use the closed view of the report, so nothing
here may look like a result.
"""

# ruff: noqa: PLC0415  (imports wait until they are needed: start-up is a promise)

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from ...control.figures import clock, closed_loop, count, number, percent, plural
from ...control.terminal import safe, wants_colour

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..._generated.snapshot import Gathering, LatencyMs, Snapshot
    from ...control.protocols import View

BAR_WIDTH = 40
"""Columns of the progress bar."""


@dataclass(frozen=True, slots=True)
class PlanInfo:
    """The part of a plan that a view shows."""

    scenario: str
    users: int | None = None
    """The users of a closed loop, which has no planned rate."""

    @classmethod
    def of(cls, plan: dict[str, Any]) -> Self:
        """Take it from a plan."""
        return cls(plan["scenario"], plan.get("users"))


def view(info: PlanInfo) -> View:
    """Choose the view for standard error: only a capable terminal can be redrawn."""
    if sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
        return ScreenView(info)
    return LineView(info, lambda line: print(line, file=sys.stderr, flush=True))


class LineView:
    """A view that prints one plain line for each snapshot."""

    def __init__(self, info: PlanInfo, write: Callable[[str], object]) -> None:
        """Print lines with ``write``."""
        self._info = info
        self._write = write

    def show(self, snapshot: Snapshot) -> None:
        """Write the figures as one line."""
        self._write(line(self._info, snapshot))

    def tell(self, text: str) -> None:
        """Write a line of text, without its control characters."""
        self._write(safe(text))

    def close(self) -> None:
        """Nothing was opened."""


class ScreenView:
    """A view that redraws a block of lines."""

    def __init__(self, info: PlanInfo) -> None:
        """Take over the lines below the cursor until closed."""
        from rich.console import Console
        from rich.live import Live

        self._info = info
        plain = not wants_colour(sys.stderr)
        self._console = Console(stderr=True, highlight=False, markup=False, no_color=plain)
        self._live = Live(console=self._console, auto_refresh=False, transient=True)
        self._live.start()

    def show(self, snapshot: Snapshot) -> None:
        """Draw the block again."""
        self._live.update(_drawn(frame(self._info, snapshot)), refresh=True)

    def tell(self, text: str) -> None:
        """Write a line above the block."""
        self._console.print(_drawn([safe(text)]))

    def close(self) -> None:
        """Remove the block."""
        self._live.stop()


def _drawn(lines: list[str]) -> Any:
    from rich.text import Text

    return Text("\n".join(lines), no_wrap=True, overflow="ellipsis")


def line(info: PlanInfo, snapshot: Snapshot) -> str:
    """Write a snapshot as one line."""
    gathering = snapshot.get("gathering")
    if gathering is not None:
        return _gathering(gathering)
    elapsed, duration = clock(snapshot["elapsed_secs"]), clock(snapshot["duration_secs"])
    return (
        f"{elapsed}/{duration} {_phase(snapshot):<8} "
        f"{_rates(info, snapshot)}  total {count(snapshot['requests_total'])}  "
        f"errors {_errors(snapshot)}{_cause(snapshot)}  live {_latency(snapshot['latency'])}  "
        f"{_waiting(snapshot)}"
    )


def frame(info: PlanInfo, snapshot: Snapshot) -> list[str]:
    """Write a snapshot as a block of lines."""
    gathering = snapshot.get("gathering")
    if gathering is not None:
        return [_gathering(gathering)]
    title = (
        f"{safe(info.scenario)}  {clock(snapshot['elapsed_secs'])}  {_phase(snapshot)}  "
        f"{_rates(info, snapshot)}  "
        f"{plural(snapshot['active_workers'], 'agent')}"
    )
    requests = (
        f"requests    total {count(snapshot['requests_total'])}  "
        f"failed {count(snapshot['errors_total'])} ({_errors(snapshot)}){_cause(snapshot)}  "
        f"dropped {count(snapshot['arrivals_dropped'])}"
    )
    return [
        title,
        requests,
        f"live        {_latency(snapshot['latency'])}",
        f"cumulative  {_latency(snapshot['latency_cumulative'])}",
        f"            {_waiting(snapshot)}",
        f"connections {_connections(snapshot)}",
        _bar(progress(snapshot)),
    ]


def _gathering(gathering: Gathering) -> str:
    ready, least, want = gathering["ready"], gathering["min"], gathering["want"]
    suffice = f" ({least} suffice then)" if least < want else ""
    left = f"{gathering['left_secs']:.0f} s left{suffice}"
    return f"waiting for agents: {ready} of {want} ready, {left}"


def progress(snapshot: Snapshot) -> float:
    """How far through the run this is, 0 to 1."""
    duration_secs = snapshot["duration_secs"]
    if duration_secs <= 0:
        return 0.0
    return min(1.0, max(0.0, snapshot["elapsed_secs"] / duration_secs))


def _bar(share: float) -> str:
    full = int(share * BAR_WIDTH)
    return f"[{'#' * full}{'.' * (BAR_WIDTH - full)}] {share * 100:3.0f} % of the run"


def _phase(snapshot: Snapshot) -> str:
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
        return f"{arrivals} arrivals/s, {requests}, {closed_loop(info.users)}"
    planned = number(round(snapshot.get("planned_per_sec", 0.0), 1))
    return f"{arrivals} of {planned} arrivals/s planned, {requests}"


def _errors(snapshot: Snapshot) -> str:
    finished = snapshot["requests_total"] + snapshot.get("raised_without_call", 0)
    if finished == 0:
        return "—"
    return percent(100 * snapshot["errors_total"] / finished)


def _cause(snapshot: Snapshot) -> str:
    """Write the most frequent cause of calls without a complete answer."""
    failing = snapshot.get("failing")
    return "" if failing is None else f": {safe(failing['why'])}"


def _latency(latency: LatencyMs) -> str:
    percentiles = {
        "p50": latency.get("p50_ms"),
        "p95": latency.get("p95_ms"),
        "p99": latency.get("p99_ms"),
        "max": latency.get("max_ms"),
    }
    return "  ".join(f"{k} {'—' if v is None else f'{v:.1f} ms'}" for k, v in percentiles.items())


def _connections(snapshot: Snapshot) -> str:
    reused_pct = snapshot.get("reused_pct")
    reused = "—" if reused_pct is None else percent(reused_pct)
    opened = number(round(snapshot.get("opened_per_sec", 0.0), 1))
    return f"opened {opened}/s, reused by {reused} of the calls"


def _waiting(snapshot: Snapshot) -> str:
    oldest_ms = snapshot["oldest_ms"]
    oldest = f", oldest {oldest_ms:.0f} ms" if oldest_ms else ""
    in_flight, waiting = count(snapshot["in_flight"]), count(snapshot["waiting"])
    return f"in flight {in_flight}, waiting {waiting}{oldest}"
