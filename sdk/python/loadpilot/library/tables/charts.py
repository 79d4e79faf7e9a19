"""The main charts of a run: rate, latency, errors over time, and the percentile curve.

A run with several levels of load has a chart of latency by rate below them.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ...control import outcome
from .extras import extra
from .series_table import series_columns
from .slice_query import SliceQuery

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ... import _native
    from ..._generated.report import LoadLevel, Report

POINTS_MAX = 600
"""Maximum number of intervals in a chart."""
PERCENTILES = (50.0, 95.0, 99.0)
CURVE = (
    *(10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 97.5, 99.0, 99.5, 99.75, 99.9, 99.95, 99.99),
    *(99.995, 99.999),
)
"""Percentiles of the curve; the maximum is its end."""
LEVELS_MIN = 3
"""Minimum number of different rates for a chart of latency by rate, as for a knee."""
COLOURS = ("#4c78a8", "#f58518", "#e45756", "#54a24b")


def draw(reading: _native.Reading, path: Path, form: str) -> None:
    """Draw the charts into a file, ``svg`` or ``png``; raises MissingPackage, OSError."""
    matplotlib = extra("matplotlib", "loadpilot plot")
    figures = extra("matplotlib.figure", "loadpilot plot")
    report: Report = json.loads(reading.report())
    tick_us = report["run"]["tick_us"]
    ticks = -(-report["run"]["profile_us"] // tick_us)
    every_us = max(1, -(-ticks // POINTS_MAX)) * tick_us
    query = SliceQuery(every_us=every_us, percentiles=PERCENTILES)
    columns = series_columns(reading, report, query)
    style = {"text.parse_math": False, "svg.hashsalt": report["digest"], "font.size": 9}
    with matplotlib.rc_context(style):
        levels = levels_by_rate(report)
        rows = [["rate", "latency"], ["errors", "curve"], *([["levels"] * 2] if levels else [])]
        figure = figures.Figure(figsize=(11, 3.5 * len(rows)), layout="constrained")
        figure.suptitle(_title(report))
        charts = figure.subplot_mosaic(rows)
        rate, latency, errors, curve = (
            charts[name] for name in ("rate", "latency", "errors", "curve")
        )
        secs = [at / 1e6 for at in columns["from_us"]]
        _rate(rate, secs, columns, every_us / 1e6)
        _latency(latency, secs, columns)
        _errors(errors, secs, columns, every_us / 1e6)
        _curve(curve, reading, report)
        for chart in (rate, latency, errors):
            chart.set_xlabel("time after start, s")
            chart.set_xlim(0, max(ticks * tick_us / 1e6, 1))
        if levels:
            draw_levels(charts["levels"], levels)
        for chart in charts.values():
            chart.grid(visible=True, alpha=0.3)
        figure.savefig(path, format=form, dpi=120, metadata=undated(form))


def undated(form: str) -> dict[str, Any]:
    """Leave out the time of drawing, so that equal runs have equal files."""
    return {"Date": None} if form == "svg" else {"Software": "loadpilot"}


def _title(report: Report) -> str:
    grade = report["certificate"]["grade"]
    return f"{report['scenario']} · {report['run']['id']} · {outcome.verdict(report)} · {grade}"


def _rate(chart: Any, secs: list[float], columns: dict[str, list[Any]], every: float) -> None:
    chart.set_title("Arrivals per second")
    for name, colour in (("planned", "#888888"), ("started", COLOURS[0])):
        _steps(chart, secs, columns[name], every, label=name, color=colour)
    chart.set_ylim(bottom=0)
    chart.legend()


def _steps(chart: Any, secs: list[float], counts: list[Any], every: float, **line: Any) -> None:
    """Draw counts a second, each as long as its interval."""
    values = _numbers([None if count is None else count / every for count in counts])
    ends = [secs[-1] + every] if secs else []
    chart.step([*secs, *ends], [*values, *values[-1:]], where="post", **line)


def _latency(chart: Any, secs: list[float], columns: dict[str, list[Any]]) -> None:
    chart.set_title("Response time from due (corrected), ms")
    names = [*(f"p{percent:g}" for percent in PERCENTILES), "max"]
    for name, colour in zip(names, COLOURS[::-1], strict=True):
        values = [None if us is None else us / 1e3 for us in columns[f"response_{name}_us"]]
        chart.plot(
            secs, _numbers(values), ".-", label=name, color=colour, linewidth=1, markersize=3
        )
    log_scale(chart, "y")
    chart.legend()


def log_scale(chart: Any, axis: str) -> None:
    """Make an axis, ``x`` or ``y``, logarithmic, with ticks at 1, 2 and 5 of each decade."""
    chart.set(**{f"{axis}scale": "log"})
    ticks = getattr(chart, f"{axis}axis")
    ticks.set_major_locator(extra("matplotlib.ticker", "loadpilot plot").LogLocator(subs=(1, 2, 5)))
    ticks.set_major_formatter("{x:g}")
    ticks.set_minor_formatter("")


def draw_by_rate(
    chart: Any, name: str, colour: str, points: Sequence[tuple[float, float, bool]]
) -> None:
    """Draw a line over rates; each point has rate, value and whether the target held the rate.

    A held rate has a circle, another one a cross.
    """
    chart.plot(*_columns(points), "-", color=colour, label=name, linewidth=1)
    for marker, is_held in (("o", True), ("x", False)):
        marked = [one for one in points if one[2] is is_held]
        chart.plot(*_columns(marked), marker, color=colour, markersize=5)


def _columns(points: Sequence[tuple[float, float, bool]]) -> tuple[list[float], list[float]]:
    return [rate for rate, _, _ in points], [value for _, value, _ in points]


def levels_by_rate(report: Report) -> list[LoadLevel]:
    """Return the levels of a run with several rates, by rate; those of equal rate by time."""
    curve = report.get("load_curve")
    levels = curve["levels"] if curve else []
    if len({level["rate_rps"] for level in levels}) < LEVELS_MIN:
        return []
    return sorted(levels, key=lambda level: (level["rate_rps"], level["from_us"]))


def draw_levels(chart: Any, levels: list[LoadLevel]) -> None:
    """Draw latency over the rate of levels: a circle if the target held one, else a cross."""
    chart.set_title("Response time from due (corrected) by planned rate, ms; cross: not held")
    answers = [level.get("response") for level in levels]
    for name, us, colour in (
        ("p99", [None if one is None else one["p99_us"] for one in answers], COLOURS[1]),
        ("p50", [None if one is None else one["p50_us"] for one in answers], COLOURS[3]),
    ):
        values = _numbers([None if one is None else one / 1e3 for one in us])
        points = [
            (level["rate_rps"], value, not level["exceeded"])
            for level, value in zip(levels, values, strict=True)
        ]
        draw_by_rate(chart, name, colour, points)
    chart.set_xlabel("planned arrivals per second")
    log_scale(chart, "y")
    chart.legend()


def _errors(chart: Any, secs: list[float], columns: dict[str, list[Any]], every: float) -> None:
    chart.set_title("Failed calls and dropped arrivals per second")
    for name, colour in (("errors", COLOURS[2]), ("dropped", COLOURS[1])):
        _steps(chart, secs, columns[name], every, label=name, color=colour)
    chart.set_ylim(bottom=0)
    chart.legend()


def _curve(chart: Any, reading: _native.Reading, report: Report) -> None:
    """Draw latency by percentile, without the warm-up, over 1 / (1 - percentile)."""
    chart.set_title("Latency by percentile, ms")
    tick_us = report["run"]["tick_us"]
    from_us = -(-report["warm_up"]["warm_up_us"] // tick_us) * tick_us
    length_us = -(-report["run"]["profile_us"] // tick_us) * tick_us
    if from_us >= length_us:
        return
    query = SliceQuery(from_us=from_us, every_us=length_us, percentiles=CURVE)
    columns = series_columns(reading, report, query)
    inverse = [100 / (100 - percent) for percent in CURVE]
    names = [f"p{percent:g}".replace(".", "_") for percent in CURVE]
    for latency, label, colour in (
        ("response", "from due (corrected)", COLOURS[0]),
        ("service", "from dispatch", COLOURS[1]),
    ):
        points = [columns[f"{latency}_{name}_us"] for name in names]
        values = [us[0] / 1e3 if us and us[0] is not None else None for us in points]
        chart.plot(inverse, _numbers(values), label=label, color=colour)
    chart.set_xscale("log")
    chart.set_xticks(
        [2, 10, 100, 1e3, 1e4, 1e5], ["50 %", "90 %", "99 %", "99.9", "99.99", "99.999"]
    )
    chart.legend()


def _numbers(values: list[float | None]) -> list[float]:
    """Write absent values as matplotlib knows them: a gap in the line."""
    return [float("nan") if value is None else value for value in values]
