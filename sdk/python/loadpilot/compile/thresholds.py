"""Thresholds: gates as people write them, ``p99_ms`` or ``browse:p99_ms`` with a limit.

A gate that cannot be understood is an error with the nearest name, never a gate less.
"""

from __future__ import annotations

from difflib import get_close_matches
from math import isfinite
from typing import TYPE_CHECKING, Any

from .. import _native
from .problem import Problem, rule, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

LIMIT_RULE = "must be a number that is finite and not negative"


def threshold(
    place: str, key: object, limit: object, tasks: Sequence[str]
) -> tuple[dict[str, Any] | None, list[Problem]]:
    """Build one threshold of the plan; None beside what is wrong with it."""
    if not isinstance(key, str):
        return None, [rule(place, "must be named by text such as 'p99_ms'", key)]
    task, colon, metric = key.rpartition(":")
    place = f"{place} {key!r}" if not place.startswith("--") else place
    problems: list[Problem] = []
    if metric not in _native.metric_keys():
        problems.append(_unknown(place, "metric", metric, _native.metric_keys()))
    if colon and task not in tasks:
        problems.append(_unknown(place, "task", task, tasks))
    number = _limit(limit)
    if number is None:
        problems.append(rule(place, LIMIT_RULE, limit))
    if problems:
        return None, problems
    built: dict[str, Any] = {"metric": metric}
    if colon:
        built["task"] = task
    return built | {"limit": number}, []


def assignment(text: str) -> tuple[str, str] | None:
    """Split ``key=value`` as a flag gives it; None when it is not of that form."""
    key, equals, value = text.partition("=")
    return (key.strip(), value.strip()) if equals and key.strip() and value.strip() else None


def overriding(
    own: Iterable[tuple[str, dict[str, Any]]], flags: Iterable[tuple[str, dict[str, Any]]]
) -> list[dict[str, Any]]:
    """Merge gates by key: a flag replaces the scenario's gate in its place, or adds one."""
    merged = dict(own)
    merged.update(flags)
    return list(merged.values())


def _limit(limit: object) -> float | None:
    if isinstance(limit, bool) or not isinstance(limit, str | int | float):
        return None
    try:
        number = float(limit)
    except (ValueError, OverflowError):
        return None
    return number if isfinite(number) and number >= 0 else None


def _unknown(place: str, kind: str, name: str, known: Sequence[str]) -> Problem:
    near = get_close_matches(name, known, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return Problem(place, f"unknown {kind} {shown(name)}; {hint}known: {', '.join(known)}")
