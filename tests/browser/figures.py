"""The number formats of the pages, implemented a second time: how a page shows a figure of a
report.

Rounds as ECMAScript does: halves away from zero, of the exact value of the number.
"""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

MISSING = "–"  # noqa: RUF001  (the sign of the pages)


def fixed(value: float, places: int) -> str:
    """As `toFixed`."""
    return str(Decimal(value).quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP))


def whole(value: float) -> str:
    """1234567 -> "1,234,567"."""
    return f"{int(fixed(value, 0)):,}"


def digits(value: float) -> str:
    """Three significant digits."""
    size = abs(value)
    if size >= 1000:
        return whole(value)
    places = 0 if size >= 100 or size == 0 else 1 if size >= 10 else 2 if size >= 1 else 3
    text = fixed(value, places)
    carried = abs(float(text)) >= 10 ** (3 - places)
    return fixed(value, max(0, places - 1)) if carried else text


def latency(us: float) -> str:
    """Microseconds."""
    if us < 999.5:
        return f"{digits(int(fixed(us, 0)))} µs"
    if us < 999_500:
        return f"{digits(us / 1e3)} ms"
    if us < 60_000_000:
        return f"{digits(us / 1e6)} s"
    return duration(us)


def duration(us: float) -> str:
    """A length of time."""
    secs = int(fixed(us / 1e6, 0))
    if 0 < us < 9_950_000:
        return f"{float(fixed(us / 1e6, 1)):g} s"
    if secs < 60:
        return f"{secs} s"
    if secs < 3600:
        return f"{secs // 60} m {secs % 60:02} s"
    return f"{secs // 3600} h {secs % 3600 // 60:02} m"


def clock(us: float) -> str:
    """An instant of the run, rounded to tenths of a second."""
    full, tenth = divmod(int(us / 1e5 + 0.5), 10)
    part = f".{tenth}" if tenth else ""
    hours, rest = divmod(full, 3600)
    minutes, seconds = divmod(rest, 60)
    return f"{hours}:{minutes:02}:{seconds:02}{part}" if hours else f"{minutes}:{seconds:02}{part}"


def percent(value: float) -> str:
    """A share; only 0 is shown as zero."""
    if value == 0:
        return "0 %"
    if 0 < value < 0.01:
        return "<0.01 %"
    return f"{fixed(value, 2) if abs(value) < 10 else digits(value)} %"


def plain(value: float) -> str:
    """A value of a scenario."""
    if float(value).is_integer():
        return whole(value)
    size = abs(value)
    if size < 0.001:
        return f"{value:.2g}"
    text = fixed(value, 3 if size < 10 else 2 if size < 100 else 1)
    head, _, tail = text.partition(".")
    return f"{int(head):,}" + (f".{tail.rstrip('0')}" if tail.rstrip("0") else "")


def of_bytes(value: float) -> str:
    """Bytes."""
    unit = 0
    while value >= 1000 and unit < 4:
        value /= 1000
        unit += 1
    return f"{digits(value) if unit else whole(value)} {['B', 'kB', 'MB', 'GB', 'TB'][unit]}"


def times(factor: float) -> str:
    """A ratio."""
    return f"{fixed(factor, 2 if factor < 100 else 0)}×"  # noqa: RUF001  (as above)


def find(report: Any, path: str) -> Any:
    """The value at a path such as `tasks.0.response.p99_us`; names may hold dots."""
    if path == "":
        return report
    parts = path.split(".")
    for count in range(1, len(parts) + 1):
        name, rest = ".".join(parts[:count]), ".".join(parts[count:])
        if isinstance(report, dict) and name in report:
            return find(report[name], rest)
        if isinstance(report, list) and name.isdigit() and int(name) < len(report):
            return find(report[int(name)], rest)
    return None


def expected_text(report: Any, path: str) -> str:
    """The text that a page must show for the field of a report that an element names."""
    if path in MADE:
        return MADE[path](report)
    if path.startswith(("latency.response.", "latency.service.")) and is_unreached(report):
        return MISSING
    value = find(report, path)
    if value is None and path in ZERO_IF_ABSENT:
        return "0"
    return MISSING if value is None else format_of(report, path)(value)


def format_of(report: Any, path: str) -> Callable[[Any], str]:
    """The format of a field, by the table in the README of the pages."""
    owner, _, field = path.rpartition(".")
    if path.startswith("verdict.thresholds."):
        return lambda value: gate(report, find(report, owner), value)
    if ".rates." in f".{owner}" and "metrics." in path:
        return percent if field == "rate" else whole
    if "metrics." in path:
        per_second = ".counters." in path and field == "rate"
        is_count = ".trends." in path and field == "count"
        return whole if is_count else lambda value: plain(value) + ("/s" if per_second else "")
    if field in SPECIAL:
        return SPECIAL[field]
    suffixes = (one for one in BY_SUFFIX if field.endswith(one))
    return BY_SUFFIX[next(suffixes, "")]


def gate(report: Any, result: Any, value: float) -> str:
    """A measured value or a limit of a gate; unequal ones never look equal."""
    other = result["limit"] if value == result["actual"] else result["actual"]
    metric = result["key"].rpartition(":")[2]
    alike = other is not None and other != value and digits(other) == digits(value)
    return (f"{value:.17g}" if alike else digits(value)) + gate_unit(report, metric)


def gate_unit(report: Any, metric: str) -> str:
    """The unit of a gate, with a space before it."""
    own = report.get("metrics") or {}
    name, _, field = metric.rpartition(".")
    if field == "rate" and name in own.get("rates", {}):
        return " %"
    if field == "rate" and name in own.get("counters", {}):
        return "/s"
    if metric.endswith("_ms"):
        return " ms"
    if metric == "achieved_rps":
        return "/s"
    return " %" if metric in {"error_rate", "dropped_rate", "shortfall", "checks"} else ""


def is_unreached(report: Any) -> bool:
    """Whether no request reached a server, so that no latency is one of the target."""
    latency = report["latency"]
    return (
        bool(latency["response"]) and latency.get("unconnected", 0) >= latency["response"]["count"]
    )


def requests_per_sec(report: Any) -> str:
    measured_us = report["rates"]["measured_us"]
    if not measured_us:
        return MISSING
    return f"{digits(report['requests_total'] / (measured_us / 1e6))}/s"


def dropped(report: Any, *, called_off: bool) -> int:
    """Arrivals that were not sent: those that a user stopped or paused, or all others."""
    counts = report["arrivals"]["dropped"]
    found = sum(n for why, n in counts.items() if (why in {"stopped", "paused"}) == called_off)
    return found + (0 if called_off else report["arrivals"]["lost"])


ZERO_IF_ABSENT = {
    "generator.resent",
    "generator.redirects",
    "generator.redirects_not_followed",
}
"""Counts that a report leaves out when they are 0."""
MADE: dict[str, Callable[[Any], str]] = {
    "requests_per_sec": requests_per_sec,
    "called_off": lambda report: whole(dropped(report, called_off=True)),
    "dropped_or_lost": lambda report: whole(dropped(report, called_off=False)),
}
"""Figures that are computed from two fields."""
SPECIAL: dict[str, Callable[[Any], str]] = {
    "warm_up_us": duration,
    "rps_target": lambda value: f"{digits(value)}/s",
    "busiest_core_permille": lambda value: percent(value / 10),
    "received": of_bytes,
    "sent": of_bytes,
    "co_factor": times,
}
BY_SUFFIX: dict[str, Callable[[Any], str]] = {
    "_per_sec": lambda value: f"{of_bytes(value)}/s",
    "_us": latency,
    "_us_max": latency,
    "_rps": lambda value: f"{digits(value)}/s",
    "_pct": percent,
    "": whole,
}
