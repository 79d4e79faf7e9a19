"""Two targets beside each other as text: a table of both, a row and a sentence for each figure."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from ....control.figures import count, millis, number, percent, size
from ....control.terminal import safe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


NAMES = {
    "p50_ms": ("p50", "ms"),
    "p95_ms": ("p95", "ms"),
    "p99_ms": ("p99", "ms"),
    "mean_ms": ("mean", "ms"),
    "error_rate_pct": ("errors", "%"),
    "achieved_rps": ("rate", "/s"),
}
"""Label and unit of each figure."""
MARKS = {"worse": "✗", "better": "✓"}
NONE = "—"
LATENCIES = (
    ("mean", "mean_us"),
    ("p50", "p50_us"),
    ("p95", "p95_us"),
    ("p99", "p99_us"),
    ("max", "max_us"),
)
WIDTH = 24
"""Width of the column of a target."""


def versus_text(versus: dict[str, Any]) -> str:
    """Write the whole comparison, with last lines that explain the exit code."""
    return "".join(f"{line}\n" for line in _lines(versus))


def _lines(versus: dict[str, Any]) -> Iterator[str]:
    first, second = (safe(side["name"]) for side in versus["sides"])
    yield f"{'':10}{first:>{WIDTH}}{second:>{WIDTH}}"
    for label, value in _rows(versus):
        yield f"{label:10}" + "".join(f"{value(side):>{WIDTH}}" for side in versus["sides"])
    yield ""
    yield f"{second} against {first}{'':10}{first:>13}{second:>13}{'change':>11}   99 % interval"
    task: str | None = None
    for row in versus["figures"]:
        if row["task"] != task:
            task = row["task"]
            yield f"task {safe(task or '')}"
        yield _row(row)
    if versus["second_slower_pct"] is not None:
        share = f"{versus['second_slower_pct']:.1f} %"
        yield f"  of two requests at the same time, that to {second} takes longer in {share}"
    yield from (f"note      {safe(remark)}" for remark in versus["remarks"])
    yield ""
    yield from conclusion(versus)


def _rows(versus: dict[str, Any]) -> Iterator[tuple[str, Callable[[dict[str, Any]], str]]]:
    """List the rows of the table of both targets: a label, and the text of a side."""
    yield "target", lambda side: safe(side["target"])
    if versus["sides"][0]["users"] is not None:
        yield "users", lambda side: count(side["users"])
    yield "rate", lambda side: f"{number(side['achieved_rps'])}/s"
    yield "requests", lambda side: count(side["finished"])
    yield "errors", lambda side: f"{count(side['errors'])} ({percent(side['error_rate_pct'])})"
    for label, key in LATENCIES:
        yield label, partial(_millis, key)
    yield "sent", lambda side: size(side["sent_bytes"])
    yield "received", lambda side: size(side["received_bytes"])


def _millis(key: str, side: dict[str, Any]) -> str:
    response = side["response"]
    return NONE if response is None else f"{millis(response[key])} ms"


def _row(row: dict[str, Any]) -> str:
    label, unit = NAMES[row["figure"]]
    values = (_value(row[side], unit) for side in ("first", "second"))
    mark = MARKS.get(row["change"], " ")
    columns = "".join(f"{value:>13}" for value in values)
    text = f"  {mark} {label:<16}{columns}{_change(row, unit):>11}   {_interval(row, unit)}"
    return text.rstrip()


def _value(value: float | None, unit: str) -> str:
    return NONE if value is None else f"{number(value)} {unit}"


def _is_relative(row: dict[str, Any]) -> bool:
    """Whether the difference is shown in percent of the first; a share of errors is not."""
    return row["figure"] != "error_rate_pct" and row["change_pct"] is not None


def _change(row: dict[str, Any], unit: str) -> str:
    if row["difference"] is None:
        return NONE
    if _is_relative(row):
        return f"{row['change_pct']:+.1f} %"
    return f"{row['difference']:+.2f} {unit}"


def _interval(row: dict[str, Any], unit: str) -> str:
    if row["interval"] is None:
        return ""
    if _is_relative(row):
        least, most = row["interval_pct"]
        return f"{least:+.1f} to {most:+.1f} %"
    least, most = row["interval"]
    return f"{least:+.2f} to {most:+.2f} {unit}"


def conclusion(versus: dict[str, Any]) -> list[str]:
    """Write the result of the comparison, a line for each figure that differs."""
    if versus["obstacles"]:
        return [f"not compared: {'; '.join(map(safe, versus['obstacles']))}"]
    first, second = (safe(side["name"]) for side in versus["sides"])
    differing = [row for row in versus["figures"] if row["change"] in MARKS]
    # Tasks are named where the figures of the whole run do not say the same.
    whole = {row["figure"]: row["change"] for row in differing if row["task"] is None}
    named = [
        row for row in differing if not row["task"] or whole.get(row["figure"]) != row["change"]
    ]
    if named:
        return [_sentence(row, first, second) for row in named]
    median = versus["figures"][0]
    within = f"{number(versus['threshold_pct'])} %"
    return [f"no difference beyond {within} and chance (p50: {_interval(median, 'ms')})"]


def _sentence(row: dict[str, Any], first: str, second: str) -> str:
    """Write the difference: ``B is 5.1 % slower than A at p50 (4.2 to 6.0 %)``."""
    label, unit = NAMES[row["figure"]]
    place = f" of task {safe(row['task'])}" if row["task"] else ""
    relative = _is_relative(row)
    by = abs(row["change_pct"] if relative else row["difference"])
    ends = row["interval_pct"] if relative else row["interval"]
    is_more = row["difference"] > 0
    least, most = ends if is_more else (-ends[1], -ends[0])
    interval = f"({least:.1f} to {most:.1f} %)"
    if row["figure"] == "error_rate_pct":
        word = "more" if is_more else "fewer"
        return f"{second} has errors in {by:.2f} % {word} of its requests than {first}{place}"
    if unit == "ms":
        word = "slower" if is_more else "faster"
        return f"{second} is {by:.1f} % {word} than {first} at {label}{place} {interval}"
    word = "higher" if is_more else "lower"
    return f"the {label} of {second} is {by:.1f} % {word} than that of {first}{place} {interval}"
