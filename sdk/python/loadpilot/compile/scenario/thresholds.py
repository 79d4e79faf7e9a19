"""Thresholds: gates such as ``p99_ms`` or ``browse:p99_ms`` with a limit.

A limit is a number, or text with an operator: ``"<= 250"``. A custom metric is named with its
figure, ``cart_value.p95``, and needs the operator. A gate that is invalid or can never be measured
is an error with the nearest name; it is never dropped.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any

from ... import _native
from ...metrics import is_name
from ...problem import Problem, nearest, rule, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

LIMIT_RULE = 'must be a number that is finite and not negative, or text such as "<= 250"'
OWN_RULE = 'must be text that says which side passes, such as ">= 100" or "<= 250"'
OPERATORS = ("<=", ">=", "<", ">")
SIDED = re.compile(r"\s*([<>=!~]+)\s*(.*)", re.DOTALL)
"""A limit with an operator, valid or not."""
ASSIGNED = re.compile(r"\s*([^<>=]*[^<>=\s])\s*(=(?!=)|<=|>=|<|>)\s*(\S.*)", re.DOTALL)
"""The value of a flag: ``p99_ms=500``, ``orders.count>=100``, ``orders.count=>= 100``."""


@dataclass(frozen=True, slots=True)
class Measurable:
    """The subjects that gates of a scenario can name."""

    tasks: Sequence[str]
    checked: Sequence[str]
    """The tasks with a check."""
    runs_in_python: bool


def threshold(
    place: str, key: object, limit: object, gated: Measurable
) -> tuple[dict[str, Any] | None, list[Problem]]:
    """Build one threshold of the plan; returns None and the problems if it is invalid."""
    if not isinstance(key, str):
        return None, [rule(place, "must be named by text such as 'p99_ms'", key)]
    task, colon, metric = key.rpartition(":")
    place = f"{place} {key!r}" if not place.startswith("--") else place
    measured, problems = _measured(place, metric, gated)
    if colon and task not in gated.tasks:
        problems.append(_unknown(place, "task", task, gated.tasks))
    elif metric == "checks" and not (task in gated.checked if colon else gated.checked):
        name = task if colon else gated.tasks[0] if gated.tasks else "TASK"
        what = f"no check would ever run: write check_{name}(self, status_code, body)"
        problems.append(Problem(place, what))
    is_own = "own" in measured
    operator, number = _limit(limit, is_own=is_own)
    if number is None or (is_own and operator is None):
        problems.append(rule(place, OWN_RULE if is_own else LIMIT_RULE, limit))
    if problems:
        return None, problems
    built = measured | ({"task": task} if colon else {}) | {"limit": number}
    return built | ({"operator": operator} if operator is not None else {}), []


def assignment(text: str) -> tuple[str, str] | None:
    """Split the ``key=limit`` of a flag; None for another form."""
    found = ASSIGNED.fullmatch(text)
    if found is None:
        return None
    key, operator, limit = found.groups()
    return key, limit.strip() if operator == "=" else f"{operator} {limit.strip()}"


def overriding(
    own: Iterable[tuple[str, dict[str, Any]]], flags: Iterable[tuple[str, dict[str, Any]]]
) -> list[dict[str, Any]]:
    """Merge gates by key: a flag replaces the scenario's gate in its place, or adds one."""
    merged = dict(own)
    merged.update(flags)
    return list(merged.values())


def _measured(place: str, metric: str, gated: Measurable) -> tuple[dict[str, Any], list[Problem]]:
    """Read the metric: a built-in one, or a figure of a custom one."""
    builtin, figures = _native.metric_keys(), _native.figure_keys()
    if metric in builtin:
        return {"metric": metric}, []
    name, point, figure = metric.partition(".")
    if not point or (figure not in figures and nearest(metric, builtin)):
        return {}, [_unknown(place, "metric", metric, builtin)]
    own = {"metric": "own", "own": {"name": name, "figure": figure}}
    problems = []
    if not is_name(name):
        must = "must name a metric in letters, digits and _, not a digit first"
        problems.append(rule(place, must, name))
    if figure not in figures:
        problems.append(_unknown(place, f"figure of {name}", figure, figures))
    if not gated.runs_in_python:
        what = "nothing is ever added to it: no task of this scenario runs in Python"
        near = _near(metric, builtin)
        problems.append(Problem(place, f"{what}; {near}known: {', '.join(builtin)}"))
    return own, problems


def _limit(limit: object, *, is_own: bool) -> tuple[str | None, float | None]:
    """Read the operator, if there is one, and the limit; None for an invalid limit."""
    if isinstance(limit, bool) or not isinstance(limit, str | int | float):
        return None, None
    operator = None
    if isinstance(limit, str) and (sided := SIDED.fullmatch(limit)):
        operator, limit = sided.groups()
        if operator not in OPERATORS:
            return None, None
    try:
        number = float(limit)
    except (ValueError, OverflowError):
        return None, None
    sound = isfinite(number) and (is_own or number >= 0)
    return operator, number if sound else None


def _unknown(place: str, kind: str, name: str, known: Sequence[str]) -> Problem:
    hint = _near(name, known)
    return Problem(place, f"unknown {kind} {shown(name)}; {hint}known: {', '.join(known)}")


def _near(name: str, known: Sequence[str]) -> str:
    parts = [name, *name.split(".")]
    near = next(filter(None, (nearest(part, known) for part in parts)), None)
    return f"did you mean {near!r}? " if near else ""
