"""Draws cumulative distributions, one line a tool: the share of all that was at most x.

Both axes name their ends; x is logarithmic, since tools differ by factors. An SVG needs no
script and no other file.
"""

from __future__ import annotations

import html
import math
from dataclasses import dataclass

WIDTH, HEIGHT, LEFT, BOTTOM, RIGHT = 720, 300, 60, 40, 170
LEAST_US = 1.0
POINTS = 200
COLOURS = ("#0969da", "#cf222e", "#1a7f37", "#9a6700", "#8250df", "#57606a", "#bf3989")


@dataclass(frozen=True)
class Chart:
    """The parts of a drawing that do not depend on the tools."""

    name: str
    """A word for the name of its file."""
    caption: str
    ideal_us: float | None = None
    """Where every request would be without an error of the tool; a dashed line."""


def svg(chart: Chart, sorted_us: dict[str, list[float]]) -> str:
    """Draw the lines of all tools."""
    most = max(*(values[-1] for values in sorted_us.values()), 10 * LEAST_US)
    decades = math.ceil(math.log10(most / LEAST_US))
    parts = [_grid(decades)]
    if chart.ideal_us is not None:
        x = _x(chart.ideal_us, decades)
        place = f'x1="{x:.1f}" y1="10" x2="{x:.1f}" y2="{_y(0):.1f}"'
        parts.append(f'<line {place} stroke="#1b1f24" stroke-dasharray="4 4"/>')
    for number, (tool, values) in enumerate(sorted_us.items()):
        colour = COLOURS[number % len(COLOURS)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in _points(values, decades))
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        place = f'x="{WIDTH - RIGHT + 12}" y="{20 + 18 * number}"'
        parts.append(f'<text {place} fill="{colour}">{html.escape(tool)}</text>')
    size = f'viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
    look = 'font-size="12" font-family="system-ui, sans-serif"'
    about = f'role="img" aria-label="{html.escape(chart.caption)}"'
    paper = '<rect width="100%" height="100%" fill="#fff"/>'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} {look} {about}>'
    return f"{head}{paper}{''.join(parts)}</svg>"


def _points(values: list[float], decades: int) -> list[tuple[float, float]]:
    """Choose points of one line, evenly over the requests and the greatest of all."""
    last = len(values) - 1
    chosen = sorted({round(last * step / POINTS) for step in range(POINTS + 1)})
    return [(_x(values[n], decades), _y((n + 1) / len(values))) for n in chosen]


def _x(us: float, decades: int) -> float:
    share = math.log10(max(us, LEAST_US) / LEAST_US) / decades
    return LEFT + share * (WIDTH - LEFT - RIGHT)


def _y(share: float) -> float:
    return (HEIGHT - BOTTOM) - share * (HEIGHT - BOTTOM - 10)


def _grid(decades: int) -> str:
    parts = []
    for decade in range(decades + 1):
        us = LEAST_US * 10**decade
        x = _x(us, decades)
        parts.append(f'<line x1="{x:.1f}" y1="10" x2="{x:.1f}" y2="{_y(0):.1f}" stroke="#d0d7de"/>')
        label = f"{us:,.0f} µs"
        parts.append(f'<text x="{x:.1f}" y="{HEIGHT - 18}" text-anchor="middle">{label}</text>')
    for share in (0.0, 0.5, 0.9, 1.0):
        y = _y(share)
        end = f'x2="{WIDTH - RIGHT}" y2="{y:.1f}"'
        parts.append(f'<line x1="{LEFT}" y1="{y:.1f}" {end} stroke="#d0d7de"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{share:.0%}</text>')
    return "".join(parts)
