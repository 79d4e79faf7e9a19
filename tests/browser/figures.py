"""The formats of the pages, written a second time: what a figure of a report reads in a page.

Rounds as ECMAScript does: halves away from zero, of the exact value of the number.
"""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from typing import Any

MISSING = "–"


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
    """An instant of the run."""
    secs = us / 1e6
    full = int(secs + 1e-9)
    part = fixed(secs - full, 1)[1:] if secs - full > 0.0005 else ""
    hours, rest = divmod(full, 3600)
    minutes, seconds = divmod(rest, 60)
    return f"{hours}:{minutes:02}:{seconds:02}{part}" if hours else f"{minutes}:{seconds:02}{part}"


def percent(value: float) -> str:
    """Only zero looks like zero."""
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
    return f"{fixed(factor, 2 if factor < 100 else 0)}×"


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
