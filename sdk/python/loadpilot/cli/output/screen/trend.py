"""The last seconds of a run as a line of bars, one a second: whether it gets better or worse.

Values are those that were shown as of now; a second without a snapshot stays empty.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...._generated.snapshot import Snapshot

SECONDS_MAX = 60
"""Maximum number of seconds that are kept."""
BARS = "▁▂▃▄▅▆▇█"


class Second(NamedTuple):
    """The newest figures of one second of a run."""

    number: int
    requests_per_sec: float
    p99_ms: float | None


def extended(trend: tuple[Second, ...], snapshot: Snapshot) -> tuple[Second, ...]:
    """Add a snapshot once there are figures; it replaces an older one of the same second."""
    if snapshot["arrivals_started"] == 0:
        return trend
    number = int(snapshot["elapsed_secs"])
    second = Second(number, snapshot["current_rps"], snapshot["latency"].get("p99_ms"))
    kept = (one for one in trend if number - SECONDS_MAX < one.number < number)
    return (*kept, second)


def bars(values: Sequence[float | None]) -> str:
    """Draw values as bars from zero to the greatest of them."""
    greatest = max((value for value in values if value is not None), default=0.0)
    return "".join(_bar(value, greatest) for value in values)


def _bar(value: float | None, greatest: float) -> str:
    if value is None:
        return " "
    return BARS[round(value / greatest * (len(BARS) - 1))] if greatest > 0 else BARS[0]
