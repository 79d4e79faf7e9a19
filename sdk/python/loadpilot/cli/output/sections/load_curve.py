"""Text of the load curve of a run: the knee in a line, and a row for each level."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....control.figures import millis, number, percent, seconds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...._generated.report import LevelLatency, LoadCurve, LoadLevel

HEADS = ("achieved/s", "p50", "p99", "uncorr. p99", "errors")
COLUMN_WIDTH = 12
"""Width of a column of figures."""
FIRST_WIDTH = 26
"""Width of the first column, in columns: that of the table of tasks."""


def knee_text(curve: LoadCurve) -> str:
    """Write where the target stopped holding the load, or why there is no such level."""
    levels, knee = curve["levels"], curve.get("knee")
    if knee is not None:
        held, broke = levels[knee["held"]], levels[knee["broke"]]
        why = ", ".join(_exceeded(broke))
        return f"{_rate(held)} held, {_rate(broke)} did not: {why}"
    match curve.get("no_knee"):
        case "all_held":
            highest = max(levels, key=lambda level: level["rate_rps"])
            return f"none: every level up to {_rate(highest)} held"
        case "lowest_broke":
            lowest = min(levels, key=lambda level: level["rate_rps"])
            return f"none: the lowest level, {_rate(lowest)}, did not hold"
        case "steered":
            return "none: the run was steered, so its levels are not those of its plan"
        case _:
            return "none: the run held fewer than three different rates"


def level_rows(curve: LoadCurve) -> Iterator[str]:
    """Write a row for each level, in the order of time."""
    if not curve["levels"]:
        return
    yield f"{'level, ms':<{FIRST_WIDTH}}" + "".join(f"{head:>{COLUMN_WIDTH}}" for head in HEADS)
    for level in curve["levels"]:
        response, service = level.get("response"), level.get("service")
        rate = level.get("error_rate_pct")
        figures = (
            number(level["achieved_rps"]),
            "—" if response is None else millis(response["p50_us"]),
            _p99(response),
            _p99(service),
            "—" if rate is None else percent(rate),
        )
        name = f"{_rate(level)} from {seconds(level['from_us'])}"
        mark = "" if not level["exceeded"] else "  not held"
        yield f"{name:<{FIRST_WIDTH}}" + "".join(f"{one:>{COLUMN_WIDTH}}" for one in figures) + mark


def _rate(level: LoadLevel) -> str:
    return f"{number(level['rate_rps'])}/s"


def _p99(latency: LevelLatency | None) -> str:
    return "—" if latency is None else millis(latency["p99_us"])


def _exceeded(level: LoadLevel) -> Iterator[str]:
    """Write the limits that a level exceeded, each with its figure."""
    for limit in level["exceeded"]:
        response = level.get("response")
        if limit == "achieved":
            yield f"{number(level['achieved_rps'])}/s achieved"
        elif limit == "errors":
            yield f"{percent(level.get('error_rate_pct') or 0.0)} errors"
        elif response is None:
            yield "nothing finished"
        else:
            yield f"p99 {_p99(response)} ms"
