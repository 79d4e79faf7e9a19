"""Figures of the live view, and the same figures computed from the log: each frame must be the sum
of the first n deltas, for some n.

`rawlog` reads the log, without code of the product.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.e2e.support.rawlog import Entry, decoded, merged, read

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.support.rawlog import Histogram
    from tests.e2e.support.terminal import Frame

NUMBER = r"([\d,]+)"
STARTED = re.compile(rf"Arrivals .*?{NUMBER} started")
DROPPED = re.compile(rf"(?:Arrivals .* · | {{17}}){NUMBER} dropped")
TOTAL = re.compile(rf"Requests .*?{NUMBER} in total")
FAILED = re.compile(rf"Failed requests +{NUMBER} \((?:—|[<\d.]+ %)\)")
MOSTLY = re.compile(rf"mostly (.+) \({NUMBER}\)")
SO_FAR = re.compile(r"(Response|Service) time .*?so far +(\S+) +(\S+) +(\S+) +(\S+)$")
GATE = re.compile(r"^  . (Passed|Failing|No data) +(\S+) +(\S+) (<=|>=|<|>) (\S+)$")
TASK = re.compile(rf"^(\w+) +{NUMBER} +{NUMBER}(?: +\S+)*$")
HEAD = re.compile(r"^(\S+ → \S+) +(.+) · \d+ load generators?$")
BAR = re.compile(r"^(━*)(╸?)(─*) +(\d+) % +(\d\d):(\d\d) of (\d\d):(\d\d)$")
PERCENTS = (50, 95, 99, 100)
NOT_FINISHED = {"cancelled", "indeterminate"}


@dataclass(frozen=True, slots=True)
class Head:
    """The figures in the first two rows of a frame."""

    title: str
    phase: str
    percent: int
    bar_percent: float
    """The filled part of the bar, in percent."""
    secs: int
    whole_secs: int


def head(frame: Frame) -> Head | None:
    """Reads the first rows of a frame; None if it waits for load generators, or is no frame."""
    if not frame.block or frame.block[1].startswith("Waiting for load generators"):
        return None
    names, bar = HEAD.match(frame.block[0]), BAR.match(frame.block[1])
    assert names is not None, frame.block
    assert bar is not None, frame.block
    filled, half, rest = (len(bar[part]) for part in (1, 2, 3))
    shown = 100 * (filled + half / 2) / (filled + half + rest)
    minutes, secs, whole_minutes, whole_secs = (int(bar[part]) for part in (5, 6, 7, 8))
    return Head(
        *(names[1], names[2], int(bar[4]), shown),
        *(60 * minutes + secs, 60 * whole_minutes + whole_secs),
    )


@dataclass(frozen=True, slots=True)
class Shown:
    """The figures of one frame."""

    counts: tuple[int, int, int, int]
    """Arrivals started and dropped, requests, failed requests."""
    mostly: tuple[str, int] | None
    latency: dict[str, tuple[str, ...]]
    """Rows `Response` and `Service`: p50, p95, p99 and max so far."""
    gates: dict[str, tuple[str, str, str, str]]
    """State, figure, operator and limit of each gate, by key."""
    tasks: dict[str, tuple[int, int]]
    """Requests and failed requests of each task, by name."""


def shown(frame: Frame) -> Shown | None:
    """Reads a frame; None before the run has figures."""
    found = [_count(pattern, frame.block) for pattern in (STARTED, DROPPED, TOTAL, FAILED)]
    started, dropped, total, failed = found
    if started is None or dropped is None or total is None or failed is None:
        return None
    mostly = _first(MOSTLY, frame.block)
    latency = [match for row in frame.block if (match := SO_FAR.search(row))]
    gates = [match for row in frame.block if (match := GATE.match(row))]
    head = next((k for k, row in enumerate(frame.block) if row.startswith("Tasks")), None)
    rows = [] if head is None else frame.block[head + 1 :]
    tasks = [match for row in rows if (match := TASK.match(row))]
    return Shown(
        (started, dropped, total, failed),
        None if mostly is None else (mostly[1], _number(mostly[2])),
        {match[1]: match.groups()[1:] for match in latency},
        {match[2]: (match[1], *match.groups()[2:]) for match in gates},
        {match[1]: (_number(match[2]), _number(match[3])) for match in tasks},
    )


@dataclass(slots=True)
class Prefix:
    """The sum of the first n deltas of a log."""

    counts: tuple[int, int, int, int] = (0, 0, 0, 0)
    failures: Counter[str] = field(default_factory=Counter)
    """Failed requests by status or by the name of their cause or outcome."""
    finished: int = 0
    histograms: dict[str, list[Histogram]] = field(default_factory=dict)
    until_us: int = 0
    """End of the newest delta, after the start of the run."""

    def latency(self, name: str) -> tuple[str, ...]:
        found = self.histograms.get(name, [])
        if not found:
            return ("—",) * len(PERCENTS)
        whole = merged(found)
        return tuple(written(whole.percentile(percent) / 1000) for percent in PERCENTS)

    @property
    def error_rate(self) -> float:
        return 100 * self.counts[3] / self.finished if self.finished else 0.0


def prefixes(entries: list[Entry]) -> list[Prefix]:
    """The sums of the first 0, 1, 2 … deltas of those that the seal covers."""
    sums = [Prefix()]
    for entry in covered(entries):
        sums.append(_with(sums[-1], entry))
    return sums


def as_of(entries: list[Entry], us: int) -> Prefix:
    """The sum of the deltas whose windows had ended at an instant of the run."""
    found = Prefix()
    for entry in covered(entries):
        if entry.event["to_us"] <= us:
            found = _with(found, entry)
    return found


def arrivals(entries: list[Entry], us: int, ticks: int) -> tuple[int, int]:
    """Arrivals started and dropped that are due in the first ticks of the run, of the deltas whose
    windows had ended at an instant of it."""
    started = dropped = 0
    for entry in covered(entries):
        for row in entry.event.get("arrivals", []):
            if entry.event["to_us"] <= us and row["tick"] < ticks:
                started += row.get("started", 0)
                dropped += sum(row.get("dropped", {}).values())
    return started, dropped


def covered(entries: list[Entry]) -> list[Entry]:
    """The deltas of a run that its seal covers."""
    seals = [one.event["data_seq"] for one in entries if one.event.get("type") == "RunSealed"]
    last = seals[0] if seals else None
    return [one for one in entries if one.kind == "delta" and (last is None or one.seq <= last)]


def of_run(log: Path, folder: Path, run: str) -> list[Entry]:
    return of(read(log, folder), run)


def of(entries: list[Entry], run: str) -> list[Entry]:
    return [entry for entry in entries if run in entry.subject]


def written(ms: float) -> str:
    """A latency in milliseconds, formatted as in the live view."""
    places = 2 if ms < 10 else 1 if ms < 1_000 else 0
    return f"{ms:,.{places}f}"


def matched(frames: list[Frame], sums: list[Prefix]) -> list[tuple[Frame, Shown, int]]:
    """For each frame with figures, the number of deltas of which it is the sum. Asserts that frames
    never go back, and show only figures of the log."""
    found, number = [], 0
    for frame in frames:
        figures = shown(frame)
        if figures is None:
            continue
        fitting = (k for k in range(number, len(sums)) if sums[k].counts == figures.counts)
        newer = next(fitting, None)
        known = [prefix.counts for prefix in sums[number:]]
        assert newer is not None, f"{figures.counts} is no sum of deltas: {known}"
        number = newer
        found.append((frame, figures, number))
    return found


def _with(before: Prefix, entry: Entry) -> Prefix:
    delta = entry.event
    started, dropped, total, failed = before.counts
    failures, finished = before.failures.copy(), before.finished
    histograms = {name: list(found) for name, found in before.histograms.items()}
    for row in delta.get("arrivals", []):
        started += row.get("started", 0)
        dropped += sum(row.get("dropped", {}).values())
    for row in delta.get("calls", []):
        total += row["count"]
        if row["outcome"] in NOT_FINISHED:
            continue
        finished += row["count"]
        for name in ("response", "service"):
            histograms.setdefault(name, []).append(decoded(row[name]))
        if row["outcome"] != "ok":
            failed += row["count"]
            is_status = row["outcome"].startswith("http_")
            why = row.get("status", {}) if is_status else row.get("causes", {})
            failures.update({str(name): count for name, count in why.items()})
            failures[row["outcome"]] += row["count"] - sum(why.values())
    until_us = max(before.until_us, delta["to_us"])
    counts = (started, dropped, total, failed)
    return Prefix(counts, +failures, finished, histograms, until_us)


def _first(pattern: re.Pattern[str], rows: list[str]) -> re.Match[str] | None:
    return next((match for row in rows if (match := pattern.search(row))), None)


def _count(pattern: re.Pattern[str], rows: list[str]) -> int | None:
    match = _first(pattern, rows)
    return None if match is None else _number(match[1])


def _number(text: str) -> int:
    return int(text.replace(",", ""))
