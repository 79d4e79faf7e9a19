"""Latency against load: the chart of a search."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....library.tables.charts import COLOURS, draw_by_rate, log_scale, undated
from ....library.tables.extras import extra

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

URPS = 1_000_000
PERCENTILES = ("p50", "p95", "p99")
PASSED, FAILED = "passed", "failed"


def draw_search(search: Mapping[str, Any], path: Path, form: str) -> None:
    """Draw the probes of a search into a file, ``svg`` or ``png``; raises MissingPackage, OSError.

    Each probe is a point for each percentile: a circle if the target worked, a cross if it failed.
    """
    matplotlib = extra("matplotlib", "loadpilot plot")
    figures = extra("matplotlib.figure", "loadpilot plot")
    style = {"text.parse_math": False, "svg.hashsalt": search["id"], "font.size": 9}
    judged = [probe for probe in search["probes"] if probe["verdict"] in {PASSED, FAILED}]
    judged.sort(key=lambda probe: probe["rate_urps"])
    with matplotlib.rc_context(style):
        figure = figures.Figure(figsize=(9, 5.5), layout="constrained")
        chart = figure.subplots()
        figure.suptitle(f"{search['scenario']} · search {search['id']}")
        for name, colour in zip(PERCENTILES, COLOURS, strict=False):
            points = [
                (probe["rate_urps"] / URPS, probe[f"{name}_ms"], probe["verdict"] == PASSED)
                for probe in judged
                if probe[f"{name}_ms"] is not None
            ]
            draw_by_rate(chart, name, colour, points)
        _limits(chart, search, judged)
        for axis in "xy":
            log_scale(chart, axis)
        chart.set_xlabel("planned arrivals per second")
        chart.set_ylabel("response time from due (corrected), ms")
        chart.grid(visible=True, alpha=0.3)
        chart.legend()
        figure.savefig(path, format=form, dpi=120, metadata=undated(form))


def _limits(chart: Any, search: Mapping[str, Any], judged: list[Mapping[str, Any]]) -> None:
    """Draw the maximum working rate, and the limits of latency gates of the whole run."""
    maximum = search["max_rate_rps"]
    if maximum is not None:
        chart.axvline(maximum, color="#54a24b", linestyle="--", label=f"maximum {maximum:g}/s")
    for gate in judged[0]["gates"] if judged else []:
        if gate["metric"].endswith("_ms") and gate["task"] is None:
            label = f"{gate['key']} {gate['operator']} {gate['limit']:g}"
            chart.axhline(gate["limit"], color="#888888", linestyle=":", label=label)
