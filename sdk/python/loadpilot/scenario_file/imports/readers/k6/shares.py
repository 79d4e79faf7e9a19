"""Several scenarios of k6 as user types: one load, of which each has its share."""

from __future__ import annotations

from fractions import Fraction
from math import lcm
from typing import TYPE_CHECKING, Any, TypeAlias

from .....inputs.units import duration_us

if TYPE_CHECKING:
    from collections.abc import Callable

Load: TypeAlias = tuple[str, str, dict[str, Any]]
"""Name, function and settings of a scenario."""
BLOCK_MAX = 1_000_000
"""Maximum sum of exact shares: a block of arrivals holds them all."""
ROUNDED_SUM = 10_000
"""Sum of shares that are rounded."""


def shared(loads: list[Load], note: Callable[[str], None]) -> list[Load]:
    """Share the sum of the peaks in proportion to them; the first scenario has the stages."""
    first, name = loads[0][2], loads[0][0]
    stages = [_stages(settings) for _, _, settings in loads]
    peaks = [max((rate for _, rate in one), default=Fraction(0)) for one in stages]
    is_open = ["rps" in one or "stages" in one for _, _, one in loads]
    if not all(stages) or not peaks[0] or len(set(is_open)) > 1:
        for other, _, _ in loads[1:]:
            what = f"its load is not carried over: it has an equal share of that of {name[:60]!r}"
            note(f"scenario {other[:60]!r}: {what}")
        peaks = [Fraction(1) for _ in loads]
    else:
        first = _times(first, sum(peaks, Fraction(0)) / peaks[0])
        forms = [
            [(us, rate / (peak or 1)) for us, rate in one]
            for one, peak in zip(stages, peaks, strict=True)
        ]
        for (other, _, _), form in zip(loads, forms, strict=True):
            if form != forms[0]:
                what = (
                    f"only its peak is carried over: stages and duration are those of {name[:60]!r}"
                )
                note(f"scenario {other[:60]!r}: {what}")
    shares = _whole(peaks)
    return [
        (own, function, {"share": share, **({} if at else first)})
        for at, ((own, function, _), share) in enumerate(zip(loads, shares, strict=True))
    ]


def _stages(settings: dict[str, Any]) -> list[tuple[int, Fraction]]:
    """List durations in microseconds, with rates or users at their ends; empty if unknown."""
    rate = settings.get("rps", settings.get("users"))
    found = settings.get("stages") or settings.get("user_stages") or []
    if rate is not None:
        found = [("0s", rate), (settings["duration"], rate)]
    return [(duration_us("duration", length), _number(one)) for length, one in found]


def _number(rate: int | str) -> Fraction:
    """Read a rate per second, or a number of users."""
    count, _, unit = str(rate).partition("/")
    seconds = Fraction(duration_us("rate", unit), 1_000_000) if unit else Fraction(1)
    return Fraction(count) / seconds if seconds else Fraction(0)


def _times(settings: dict[str, Any], factor: Fraction) -> dict[str, Any]:
    """Multiply a load; users are rounded."""
    made = dict(settings)
    for key, value in settings.items():
        if key in {"users", "rps"}:
            made[key] = _written(_number(value) * factor, is_whole=key == "users")
        elif key in {"user_stages", "stages"}:
            is_whole = key == "user_stages"
            made[key] = [
                (length, _written(_number(one) * factor, is_whole=is_whole))
                for length, one in value
            ]
    return made


def _written(rate: Fraction, *, is_whole: bool) -> int | str:
    if is_whole or rate.denominator == 1:
        return round(rate)
    return f"{rate.numerator}/{rate.denominator}s"


def _whole(peaks: list[Fraction]) -> list[int]:
    """Return shares as whole numbers within the limits of a scenario."""
    factor = lcm(*(one.denominator for one in peaks))
    total = sum(peaks, Fraction(0))
    if total * factor > BLOCK_MAX:
        return [max(1, round(one * ROUNDED_SUM / total)) if one else 0 for one in peaks]
    return [int(one * factor) for one in peaks]
