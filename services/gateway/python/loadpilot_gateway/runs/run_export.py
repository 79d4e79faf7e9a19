"""The runs whose figures a Prometheus scrapes here, and figures of this process.

Exported are runs that are open or ended a short while ago, up to a maximum number. Must never read
them more often than once a second, nor take more than 5 % of a core for each log, however many
scrapes there are.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, replace
from threading import Lock
from time import monotonic, time_ns
from typing import TYPE_CHECKING, Any

from loadpilot import _native
from loadpilot.local.stack import StackFault

from ..limits import (
    EXPORTED_BUSY_FACTOR,
    EXPORTED_ENDED_SECS,
    EXPORTED_FRESH_SECS,
    EXPORTED_OVERDUE_SECS,
    EXPORTED_RUNS_MAX,
)
from ..problem import ApiError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .logs import Listed, Logs

SECOND_US = 1_000_000


@dataclass(frozen=True, slots=True)
class LogFigures:
    """The figures of one log as they were read last."""

    process: dict[str, Any]
    """Those of the log itself."""
    figures: list[_native.MetricFigures]
    """Those of its runs."""

    def late(self) -> LogFigures:
        """Return the figures, marked as those of a log that is not read in time."""
        return replace(self, process={**self.process, "log_read": False})


class ExportedRuns:
    """The figures of runs as they were read last."""

    def __init__(self, logs: Logs, tenant: str | None = None) -> None:
        """Take the logs, and the tenant where a gateway has several; nothing is read yet."""
        self._logs = logs
        self._tenant = tenant
        self._lock = Lock()
        self._next_at = 0.0
        self._figures: dict[str, _native.MetricFigures] = {}
        self._ended: set[str] = set()
        """Runs whose figures are those of their end."""
        self._process: dict[str, Any] = {"nats_up": False, "log_read": False}

    def refresh(self) -> None:
        """Read new events, unless that was done a short while ago."""
        with self._lock:
            begun = monotonic()
            if begun >= self._next_at:
                self._read()
                took = monotonic() - begun
                self._next_at = begun + max(EXPORTED_FRESH_SECS, EXPORTED_BUSY_FACTOR * took)

    def figures(self) -> LogFigures:
        """Return the figures that were read last."""
        return LogFigures({**self._process, "tenant": self._tenant}, list(self._figures.values()))

    def _read(self) -> None:
        """Read the runs; those that cannot be read keep their figures."""
        try:
            listed = self._logs.runs()
        except (_native.Fault, _native.Refused, StackFault, OSError):
            self._process |= {"nats_up": False, "log_read": False}
            return
        shown, left_out = exported(listed, time_ns() // 1000)
        unread = [run for run in shown if not self._read_run(run)]
        self._figures = {run: self._figures[run] for run in shown if run in self._figures}
        self._ended &= self._figures.keys()
        self._process = {
            "nats_up": not unread,
            "log_read": True,
            "runs": Counter(one["state"] for one in listed),
            "exported": len(shown),
            "left_out": left_out,
        }

    def _read_run(self, run: str) -> bool:
        """Read a run and compute its figures; False when its log does not answer."""
        if run in self._ended:
            return True
        try:
            with self._logs.of(run).read(run) as reading:
                figures = reading.figures("gateway", time_ns() // 1000, self._tenant)
                is_over = bool(json.loads(reading.position())["over"])
        except (_native.Fault, StackFault, OSError):
            return False
        except (_native.Refused, ApiError):
            # It was deleted meanwhile.
            return True
        if figures is not None:
            self._figures[run] = figures
        if is_over:
            self._ended.add(run)
        return True


def exposition(
    accept: str,
    version: str,
    requests: Counter[tuple[str, int]],
    unauthenticated_limited: int,
    logs: Sequence[LogFigures],
) -> tuple[str, bytes]:
    """Write the figures of this process, of logs and of their runs: media type and body."""
    answers = [(route, code, count) for (route, code), count in list(requests.items())]
    process = {
        "version": version,
        "requests": answers,
        "unauthenticated_limited": unauthenticated_limited,
        "logs": [one.process for one in logs],
    }
    figures = [figures for one in logs for figures in one.figures]
    return _native.exposition(accept, figures, json.dumps(process))


def exported(listed: Sequence[Listed], now_us: int) -> tuple[list[str], int]:
    """Choose the runs to export from a list, newest first, and count those above the limit."""
    recent = [one["run"] for one in listed if one["asked"] and _is_recent(one, now_us)]
    return recent[:EXPORTED_RUNS_MAX], max(0, len(recent) - EXPORTED_RUNS_MAX)


def _is_recent(one: Listed, now_us: int) -> bool:
    """Whether a run goes on or ended a short while ago."""
    if one["ended_at"] is not None:
        return bool(one["ended_at"] > now_us - int(EXPORTED_ENDED_SECS * SECOND_US))
    # A left-over run of a killed stack never ends.
    until_us = one["created_at"] + one["profile_us"] + int(EXPORTED_OVERDUE_SECS * SECOND_US)
    return bool(until_us > now_us)
