"""Parsing of durations, rates, percentages and whole numbers, as text or as numbers.

The native module holds the grammar; numbers are converted to its text form first.
"""

from __future__ import annotations

from decimal import Decimal
from math import isfinite

from .. import _native
from ..problem import Problem, rule

DURATION_RULE = "must be a duration such as 500ms, 30s, 2m30s, 1h or a number of seconds"
RATE_RULE = "must be a rate such as 50, 0.5, 50/s, 3000/m or 10/500ms"


class Wrong(ValueError):
    """A value that breaks a rule."""

    def __init__(self, problem: Problem) -> None:
        """Take the problem that names place, rule and value."""
        super().__init__(str(problem))
        self.problem = problem


def duration_us(place: str, value: object) -> int:
    """Read a duration in µs, rounded down; raises :class:`Wrong`."""
    text = _written(value)
    if text is None:
        raise Wrong(rule(place, DURATION_RULE, value))
    try:
        return _native.parse_duration_us(place, text)
    except ValueError:
        raise Wrong(rule(place, DURATION_RULE, value)) from None


def rate_urps(place: str, value: object) -> int:
    """Read a rate in millionths of an arrival per second, rounded down; raises :class:`Wrong`."""
    text = _written(value)
    if text is None:
        raise Wrong(rule(place, RATE_RULE, value))
    try:
        return _native.parse_rate_urps(place, text)
    except ValueError:
        raise Wrong(rule(place, RATE_RULE, value)) from None


def percent_of(place: str, text: str) -> float:
    """Read a percentage of at least 0, with or without its sign; raises :class:`Wrong`."""
    try:
        percent = float(text.removesuffix("%"))
    except ValueError:
        percent = -1.0
    if not 0 <= percent < float("inf"):
        raise Wrong(rule(place, "must be a percentage of at least 0", text))
    return percent


def parse_int(place: str, text: str, least: int, most: int, problems: list[Problem]) -> int:
    """Read a whole number; an invalid one adds a problem and reads as ``least``."""
    digits = text.strip()
    is_valid = digits.isascii() and digits.isdigit() and len(digits) <= 20
    if is_valid and least <= int(digits) <= most:
        return int(digits)
    problems.append(rule(place, f"must be a whole number from {least} to {most}", text))
    return least


def _written(value: object) -> str | None:
    """Format a number without an exponent; None for a value that is neither number nor text."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        return None
    return format(Decimal(repr(value)), "f")
