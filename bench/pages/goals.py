"""The goals of LoadPilot in a table, and whether each was kept.

A goal is judged by a median over the rounds, never by the best of them, and a goal
without figures is *not judged*. Every goal is on the page.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.measure.spread import Spread


class Judged(Enum):
    """Verdict on a goal."""

    KEPT = "kept"
    MISSED = "MISSED"
    NOT_JUDGED = "not judged"


@dataclass(frozen=True)
class Goal:
    """One goal with its verdict."""

    words: str
    found: str
    judged: Judged
    beside: str = ""
    """The same of the whole command, where LoadPilot is judged by its agent."""


def at_least(
    words: str, found: Spread | None, limit: float, unit: str = "x", beside: Spread | None = None
) -> Goal:
    """Judge a figure that must not be smaller."""
    goal = _judge(f"{words} ≥ {limit:,g} {unit}".rstrip(), found, unit, lambda got: got >= limit)
    return replace(goal, beside=written(beside, unit) if beside else "")


def at_most(
    words: str, found: Spread | None, limit: float, unit: str = "x", beside: Spread | None = None
) -> Goal:
    """Judge a figure that must not be greater."""
    goal = _judge(f"{words} ≤ {limit:,g} {unit}".rstrip(), found, unit, lambda got: got <= limit)
    return replace(goal, beside=written(beside, unit) if beside else "")


def below(words: str, found: Spread | None, limit: float, unit: str = "x") -> Goal:
    """Judge a figure that must be smaller."""
    return _judge(f"{words} < {limit:,g} {unit}".rstrip(), found, unit, lambda got: got < limit)


def exactly(words: str, found: Spread | None, wanted: float) -> Goal:
    """Judge a count that has one right value, in every round."""
    if found is None:
        return Goal(f"{words} = {wanted:,.0f}", "-", Judged.NOT_JUDGED)
    kept = found.low == found.high == found.median == wanted
    return Goal(f"{words} = {wanted:,.0f}", written(found), Judged.KEPT if kept else Judged.MISSED)


def written(found: Spread | None, unit: str = "") -> str:
    """Write a median with its interval; a dash if there is none."""
    if found is None:
        return "-"
    middle = f"{figure(found.median)}{unit and ' ' + unit}"
    if found.rounds == 1:
        return middle
    return f"{middle} [{figure(found.low)} … {figure(found.high)}]"


def figure(value: float) -> str:
    """Write a figure with as many digits as can matter."""
    size = abs(value)
    if size >= 100 or value == int(value):
        return f"{value:,.0f}"
    if size >= 10:
        return f"{value:,.1f}"
    return f"{value:,.3g}"


def _judge(words: str, found: Spread | None, unit: str, holds: Callable[[float], bool]) -> Goal:
    if found is None:
        return Goal(words, "-", Judged.NOT_JUDGED)
    judged = Judged.KEPT if holds(found.median) else Judged.MISSED
    return Goal(words, written(found, unit), judged)
