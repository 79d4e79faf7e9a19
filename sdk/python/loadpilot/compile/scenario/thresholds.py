"""Thresholds: gates such as ``p99_ms`` or ``browse:p99_ms`` with a limit.

A limit is a number, or text with an operator: ``"<= 250"``. A custom metric is named with its
figure, ``cart_value.p95``, and needs the operator. Forms of k6 such as ``p(99)<500`` are translated
first. A gate that is invalid or can never be measured is an error with the nearest name; it is
never dropped.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any

from ... import _native
from ...metrics import is_name
from ...problem import Problem, nearest, rule, shown
from . import k6_thresholds

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

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

    @classmethod
    def in_log(cls, tasks: Sequence[str]) -> Measurable:
        """All that gates of a run can name: its log does not say which tasks have checks."""
        return cls(tasks, tasks, runs_in_python=True)


def threshold(
    place: str, key: object, limit: object, gated: Measurable
) -> tuple[dict[str, Any] | None, list[Problem]]:
    """Build one threshold of the plan; returns None and the problems if it is invalid."""
    if not isinstance(key, str):
        return None, [rule(place, "must be named by text such as 'p99_ms'", key)]
    place = f"{place} {key!r}" if not place.startswith("--") else place
    try:
        key, limit = _translated(key, limit)
    except k6_thresholds.Ambiguous as ambiguous:
        return None, [Problem(place, str(ambiguous))]
    task, colon, metric = key.rpartition(":")
    measured, problems = _measured(place, metric, gated)
    if colon and task not in gated.tasks:
        problems.append(unknown(place, "task", task, gated.tasks))
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


def assigned(flag: str, texts: Iterable[str], problems: list[Problem]) -> list[tuple[str, str]]:
    """Split the gates of a flag; ``problems`` gets those of another form."""
    pairs = []
    for text in texts:
        pair = assignment(text)
        if pair is None:
            must = "must be key=value such as p99_ms=500, or orders.count>=100"
            problems.append(rule(flag, must, text))
        else:
            pairs.append(pair)
    return pairs


def repeated(place: str, texts: Iterable[str]) -> list[Problem]:
    """List a problem for each key that one source gives several limits; k6's forms count, too."""
    found: dict[str, list[str]] = {}
    for text in texts:
        pair = assignment(text)
        if pair is None:
            continue
        try:
            key, _ = _translated(*pair)
        except k6_thresholds.Ambiguous:
            continue
        found.setdefault(key, []).append(text)
    return [
        Problem(place, f"must have {key} once (got {' and '.join(map(shown, of_key))})")
        for key, of_key in found.items()
        if len(of_key) > 1
    ]


def pairs_in(gates: Mapping[Any, Any]) -> list[tuple[Any, Any]]:
    """List the gates of a scenario's dict; a key may have several, as in k6."""
    return [
        (key, limit)
        for key, limits in gates.items()
        for limit in (limits if isinstance(limits, list) and limits else [limits])
    ]


def overriding(
    own: Iterable[dict[str, Any]], flags: Iterable[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Merge gates by key: a flag replaces the scenario's gate in its place, or adds one."""
    merged = {key_of(one): one for one in own}
    merged.update((key_of(one), one) for one in flags)
    return list(merged.values())


def key_of(built: dict[str, Any]) -> str:
    """Write the key of a threshold of the plan."""
    own = built.get("own")
    metric = f"{own['name']}.{own['figure']}" if own else built["metric"]
    return f"{built['task']}:{metric}" if "task" in built else str(metric)


def _translated(key: str, limit: object) -> tuple[str, object]:
    """Translate k6's forms, also ``{"http_req_duration": "p(95)<500"}``; others stay."""
    name, value = key, limit
    if isinstance(limit, str) and (nested := assignment(limit)) is not None:
        name, value = f"{key} {nested[0]}", nested[1]
    return k6_thresholds.translated(name, value) if k6_thresholds.is_k6(name) else (key, limit)


def _measured(place: str, metric: str, gated: Measurable) -> tuple[dict[str, Any], list[Problem]]:
    """Read the metric: a built-in one, or a figure of a custom one."""
    builtin, figures = _native.metric_keys(), _native.figure_keys()
    if metric in builtin:
        return {"metric": metric}, []
    name, point, figure = metric.partition(".")
    if not point or (figure not in figures and nearest(metric, builtin)):
        return {}, [unknown(place, "metric", metric, builtin)]
    own = {"metric": "own", "own": {"name": name, "figure": figure}}
    problems = []
    if not is_name(name):
        must = "must name a metric in letters, digits and _, not a digit first"
        problems.append(rule(place, must, name))
    if figure not in figures:
        problems.append(unknown(place, f"figure of {name}", figure, figures))
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


def unknown(place: str, kind: str, name: str, known: Sequence[str]) -> Problem:
    """Build the problem of an unknown name, with the nearest one."""
    hint = _near(name, known)
    return Problem(place, f"unknown {kind} {shown(name)}; {hint}known: {', '.join(known)}")


def _near(name: str, known: Sequence[str]) -> str:
    parts = [name, *name.split(".")]
    near = next(filter(None, (nearest(part, known) for part in parts)), None)
    return f"did you mean {near!r}? " if near else ""
