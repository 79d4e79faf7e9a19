"""The metrics of a scenario as tables of the summary: its counters, trends and rates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

from ....control.figures import count, number, percent
from ....control.terminal import safe

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ...._generated.report import MetricsReport

Figure = Literal["p50", "p90", "p95", "p99", "max", "min", "mean"]
TREND: tuple[Figure, ...] = get_args(Figure)
"""Figures of a trend that are shown, as the report names them."""


def tables(metrics: MetricsReport, name_width: int) -> Iterator[str]:
    """Write a table for each kind of metric in the report."""
    counters = [
        (name, [number(counter["count"]), number(counter["rate"])])
        for name, counter in metrics.get("counters", {}).items()
    ]
    trends = [
        (name, [count(trend["count"]), *(number(trend[key]) for key in TREND)])
        for name, trend in metrics.get("trends", {}).items()
    ]
    rates = [
        (name, [count(rate["count"]), percent(rate["rate"])])
        for name, rate in metrics.get("rates", {}).items()
    ]
    yield from _table("counters", ("count", "per s"), counters, name_width)
    yield from _table("trends", ("count", *TREND), trends, name_width)
    yield from _table("rates", ("count", "true"), rates, name_width)


def _table(
    kind: str, heads: Sequence[str], rows: Sequence[tuple[str, Sequence[str]]], name_width: int
) -> Iterator[str]:
    if not rows:
        return
    yield f"{kind:<{name_width}}" + "".join(f"{head:>9}" for head in heads)
    for name, figures in rows:
        yield f"  {safe(name):<{name_width - 2}}" + "".join(f" {one:>8}" for one in figures)
