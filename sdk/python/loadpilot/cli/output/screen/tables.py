"""The tables of the live view: latencies, the last seconds, gates and tasks.

Pure functions of a moment of the run. Text of users and targets is escaped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from ....control.figures import against, clock, count, number, plural
from ....control.terminal import safe
from ..live import has_latency
from .cells import Line, Span, Tone, cut, flow, left, plain, width
from .rows import LABEL, Moment, Rank, Row
from .trend import SECONDS_MAX, bars

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ...._generated.report import ThresholdResult
    from ...._generated.snapshot import LatencyMs, TaskSnapshot
    from ..live import PlanInfo

WIDE = 79
"""Number of cells from which on tables have all their columns."""
Percentile = Literal["p50_ms", "p95_ms", "p99_ms", "max_ms"]
PERCENTILES: tuple[Percentile, ...] = ("p50_ms", "p95_ms", "p99_ms", "max_ms")
EACH = 9
"""Cells of a latency."""


def latency(info: PlanInfo, moment: Moment, cells: int) -> Iterator[Row]:
    """Write the latencies of now and so far; a closed loop has no schedule to correct by."""
    snapshot = moment.snapshot
    if not has_latency(snapshot):
        title = (left("Latency", LABEL), Tone.STRONG)
        yield Row([title, ("not measured: no call reached the target", Tone.PLAIN)], Rank.RESPONSE)
        return
    is_corrected = info.users is None
    corrected = "Response time" + " (including waiting)" * (is_corrected and cells >= WIDE)
    # A coordinator of an older version sends no service time.
    so_far, now = snapshot["latency_cumulative"], snapshot["latency"]
    kinds = [(corrected, Rank.RESPONSE, so_far, now)]
    if is_corrected and (service := snapshot.get("service_cumulative")):
        kinds.append(("Service time", Rank.SERVICE, service, snapshot["service"]))
    label = width(corrected) + 2
    heading = left("Latency in ms", label + 6)
    yield Row([(heading, Tone.STRONG), _heads(PERCENTILES)], Rank.RESPONSE)
    for name, rank, so_far, now in kinds:
        yield Row(_latency(left(name, label) + "so far", so_far), rank)
        yield Row(_latency(" " * label + "now   ", now), Rank.INTERVAL)


def _latency(label: str, latency: LatencyMs) -> Line:
    return [(label, Tone.QUIET), _figures(latency, PERCENTILES)]


def _heads(points: tuple[Percentile, ...]) -> Span:
    return "".join(f"{point.removesuffix('_ms'):>{EACH}}" for point in points), Tone.QUIET


def _figures(latency: LatencyMs, points: tuple[Percentile, ...]) -> Span:
    return "".join(f"{ms(latency.get(point)):>{EACH}}" for point in points), Tone.PLAIN


def ms(value: float | None) -> str:
    """Write milliseconds with about three digits."""
    if value is None:
        return "—"
    places = 2 if value < 10 else 1 if value < 1_000 else 0
    return f"{value:,.{places}f}"


TREND_NAME, TREND_MAX = 14, 16
"""Cells of the name and of the greatest value of a trend."""


def trend(moment: Moment, cells: int) -> Iterator[Row]:
    """Draw the last seconds: the rate of requests, and how slow the slowest of them were."""
    if not moment.trend:
        return
    newest = moment.trend[-1].number
    shown = min(SECONDS_MAX, cells - LABEL - TREND_NAME - TREND_MAX)
    first = max(moment.trend[0].number, newest - shown + 1)
    label = f"Last {newest - first + 1} s"
    known = {second.number: second for second in moment.trend}
    seconds = [known.get(place) for place in range(first, newest + 1)]
    rates = [second and second.requests_per_sec for second in seconds]
    yield _trend(label, "requests/s", rates, lambda rate: number(round(rate, 1)))
    if not has_latency(moment.snapshot):
        return
    slowest = [second and second.p99_ms for second in seconds]
    yield _trend("", "response p99", slowest, lambda value: f"{ms(value)} ms")


def _trend(
    label: str, name: str, values: list[float | None], written: Callable[[float], str]
) -> Row:
    known = [value for value in values if value is not None]
    greatest = f"  up to {written(max(known))}" if known else ""
    labels = left(label, LABEL) + left(name, TREND_NAME)
    line = [(labels, Tone.QUIET), (bars(values), Tone.PLAIN), (greatest, Tone.QUIET)]
    return Row(line, Rank.TREND)


def gates(info: PlanInfo, moment: Moment, cells: int) -> Iterator[Row]:
    """Write the gates: as they stand, else their limits."""
    if not info.gates:
        return
    head = ("Gates so far", Tone.STRONG)
    yield from (Row(line, Rank.GATES) for line in flow(head, _standing(info, moment), LABEL, cells))
    key_cells = max(width(safe(gate.key)) for gate in info.gates)
    key_cells = min(key_cells, cells - 34)
    if moment.gates is None:
        for gate in info.gates:
            key = left(safe(gate.key), key_cells)
            text = plain(f"  · {'':<8}", key, f"{'—':>10} {gate.operator} {number(gate.limit)}")
            yield Row(text, Rank.GATE, "gate")
        return
    for result in moment.gates:
        rank = Rank.GATE if result["passed"] else Rank.FAILING_GATE
        yield Row(_gate(result, key_cells), rank, "gate")


def _standing(info: PlanInfo, moment: Moment) -> Iterator[Span]:
    if moment.gates is None:
        what = "not judged yet" if info.judges else "judged at the end"
        yield f"{plural(len(info.gates), 'gate')}, {what}", Tone.PLAIN
        return
    passed = sum(result["passed"] for result in moment.gates)
    unmeasured = sum(result.get("actual") is None for result in moment.gates)
    failing = len(moment.gates) - passed - unmeasured
    yield f"{passed} passed", Tone.PLAIN
    if failing:
        yield f"{failing} failing", Tone.BAD
    if unmeasured:
        yield f"{unmeasured} not measured", Tone.WARN
    if moment.elapsed_secs - moment.judged_secs > STALE_SECS:
        yield f"as of {clock(moment.judged_secs)}", Tone.WARN


STALE_SECS = 3.0
"""Age from which on the gates show when they were judged."""


def _gate(result: ThresholdResult, key_cells: int) -> Line:
    actual = result.get("actual")
    if result["passed"]:
        mark, tone = "✓ Passed  ", Tone.GOOD
    elif actual is None:
        mark, tone = "· No data ", Tone.WARN
    else:
        mark, tone = "✗ Failing ", Tone.BAD
    shown, limit = (
        ("—", number(result["limit"])) if actual is None else against(actual, result["limit"])
    )
    key = left(safe(result["key"]), key_cells)
    figures = f"{key}{shown:>10} {result['operator']} {limit}"
    return [("  ", Tone.PLAIN), (mark, tone), (figures, Tone.PLAIN)]


def tasks(moment: Moment, cells: int, most: int) -> Iterator[Row]:
    """Write a row for each task; of too many the failing ones, then the first of the plan."""
    listed = moment.snapshot["tasks"]
    if not listed:
        return
    points: tuple[Percentile, ...] = PERCENTILES if cells >= WIDE else ("p50_ms", "p99_ms")
    if not has_latency(moment.snapshot):
        points = ()
    name_cells = cells - 11 - 9 - EACH * len(points)
    name_cells = min(name_cells, max(21, *(width(safe(task["name"])) + 2 for task in listed)))
    counts = (f"{'requests':>11}{'failed':>9}", Tone.QUIET)
    title = (left("Tasks so far", name_cells), Tone.STRONG)
    yield Row([title, counts, _heads(points)], Rank.TASKS)
    order = sorted(range(len(listed)), key=lambda place: (listed[place]["errors"] == 0, place))
    for place in sorted(order[:most]):
        task = listed[place]
        rank = Rank.FAILING_TASK if task["errors"] else Rank.TASK
        yield Row(_task(task, name_cells, points), rank, "task")


def _task(task: TaskSnapshot, name_cells: int, points: tuple[Percentile, ...]) -> Line:
    name = left(cut(safe(task["name"]), name_cells - 1), name_cells)
    failed = (f"{count(task['errors']):>9}", Tone.BAD if task["errors"] else Tone.PLAIN)
    head = f"{name}{count(task['requests']):>11}"
    return [(head, Tone.PLAIN), failed, _figures(task["latency"], points)]
