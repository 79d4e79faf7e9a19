"""A comparison of runs as text: a row for each figure, a sentence for each reason."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...control.figures import number, plural
from ...control.terminal import safe

if TYPE_CHECKING:
    from collections.abc import Iterator

NAMES = {
    "achieved_rps": ("rate", "/s"),
    "p50_ms": ("p50", "ms"),
    "p95_ms": ("p95", "ms"),
    "p99_ms": ("p99", "ms"),
    "max_ms": ("max", "ms"),
    "error_rate_pct": ("errors", "%"),
    "held_rps": ("held", "/s"),
}
"""Label and unit of each figure."""
MARKS = {"worse": "✗", "better": "✓"}
WORDS = {"equal": "equal", "noise": "chance", "small": "within the threshold", "unjudged": ""}
NONE = "—"


def comparison_text(comparison: dict[str, Any]) -> str:
    """Write the whole comparison, with a last line that explains the exit code."""
    return "".join(f"{line}\n" for line in _lines(comparison))


def _lines(comparison: dict[str, Any]) -> Iterator[str]:
    baseline = comparison["baseline"]
    of = f"the median of {plural(len(baseline), 'run')}, " if len(baseline) > 1 else ""
    yield f"current   {safe(comparison['current'])}"
    yield f"baseline  {of}{', '.join(safe(run) for run in baseline)}"
    yield from (f"note      {safe(remark)}" for remark in comparison["remarks"])
    yield ""
    yield f"{'':12}{'baseline':>13}{'current':>13}{'change':>12}   99 % of chance"
    task: str | None = ""
    for row in comparison["figures"]:
        if row["task"] != task:
            task = row["task"]
            yield "the run" if task is None else f"task {safe(task)}"
        yield _row(row)
    yield ""
    yield _conclusion(comparison)


def _row(row: dict[str, Any]) -> str:
    label, unit = NAMES[row["figure"]]
    values = (_value(row[side], unit) for side in ("baseline", "current"))
    mark = MARKS.get(row["change"], " ")
    word = row["change"] if row["change"] in MARKS else WORDS[row["change"]]
    columns = "".join(f"{value:>13}" for value in values)
    text = f"  {mark} {label:<8}{columns} {_change(row):>11}   {_interval(row, unit):<24}{word}"
    return text.rstrip()


def _value(value: float | None, unit: str) -> str:
    return NONE if value is None else f"{number(value)} {unit}"


def _change(row: dict[str, Any]) -> str:
    if row["change"] == "equal" or row["baseline"] is None or row["current"] is None:
        return NONE
    if row["change_pct"] is None:
        return "from 0"
    return f"{row['change_pct']:+.1f} %"


def _interval(row: dict[str, Any], unit: str) -> str:
    if row["interval"] is None:
        return ""
    least, most = (f"{'+' if value > 0 else ''}{number(value)}" for value in row["interval"])
    return f"{least} to {most} {unit}"


def _conclusion(comparison: dict[str, Any]) -> str:
    if comparison["obstacles"]:
        return f"not compared: {'; '.join(map(safe, comparison['obstacles']))}"
    limit = f"{number(comparison['threshold_pct'])} %"
    worse = [row for row in comparison["figures"] if row["change"] == "worse"]
    if any(row["interval"] is not None for row in worse or comparison["figures"]):
        limit += " and chance"
    if not worse:
        return f"no regression beyond {limit}"
    named = ", ".join(
        NAMES[row["figure"]][0] + (f" of {safe(row['task'])}" if row["task"] else "")
        for row in worse
    )
    return f"{plural(len(worse), 'regression')} beyond {limit}: {named}"
