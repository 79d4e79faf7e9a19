"""The chart of latency by rate shows the levels that the report has, and whether they held."""

from __future__ import annotations

from typing import Any

import pytest

from loadpilot.library.tables.charts import _title, draw_levels, levels_by_rate


def level(rate: float, from_us: int, p99_us: int | None, *exceeded: str) -> dict[str, Any]:
    response = None if p99_us is None else {"p50_us": 1_000, "p99_us": p99_us}
    return {
        "rate_rps": rate,
        "from_us": from_us,
        "response": response,
        "exceeded": list(exceeded),
    }


LEVELS = [
    level(40, 0, 2_500),
    level(10, 1, 2_000),
    level(10, 2, 3_000),
    level(80, 3, 90_000, "latency"),
    level(90, 4, None, "achieved"),
]


def test_levels_are_drawn_by_rate() -> None:
    """Broken if a level is left out, out of order, in another unit or marked wrongly."""
    figure = pytest.importorskip("matplotlib.figure")
    chart = figure.Figure().subplots()
    report: Any = {"load_curve": {"levels": LEVELS}}
    draw_levels(chart, levels_by_rate(report))
    p99, held, broke = chart.lines[:3]
    assert p99.get_label() == "p99"
    assert list(p99.get_xdata()) == [10, 10, 40, 80, 90]
    assert list(p99.get_ydata())[:4] == [2, 3, 2.5, 90]
    assert (held.get_marker(), list(held.get_xdata())) == ("o", [10, 10, 40])
    assert (broke.get_marker(), list(broke.get_xdata())) == ("x", [80, 90])
    assert chart.get_yscale() == "log"


@pytest.mark.parametrize("curve", [None, {"levels": []}, {"levels": LEVELS[:3]}])
def test_few_rates_are_no_curve(curve: Any) -> None:
    """Broken if the plot of a run with a constant rate is an empty chart."""
    report: Any = {"load_curve": curve}
    assert levels_by_rate(report) == []


@pytest.mark.parametrize(
    ("ending", "grade", "verdict"),
    [
        ("completed", "DEGRADED", "PASS"),
        ("stopped", "VALID", "STOPPED"),
        ("completed", "INVALID", "VOID"),
    ],
)
def test_the_title_has_the_verdict_of_the_report(ending: str, grade: str, verdict: str) -> None:
    """Broken if the picture of a run that proves nothing, or was cut short, says PASS."""
    report: Any = {
        "scenario": "Shop",
        "run": {"id": "abc", "ending": ending},
        "verdict": {"passed": True},
        "certificate": {"grade": grade},
    }
    assert _title(report) == f"Shop · abc · {verdict} · {grade}"
