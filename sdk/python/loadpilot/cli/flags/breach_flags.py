"""``--abort-on-breach``: the gates whose failure stops a run while it goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...inputs.units import Wrong, duration_us
from ...problem import Problem, nearest, rule

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

FLAG = "--abort-on-breach"
DELAY = "after="
"""Begin of the second part of a value."""
US_PER_SEC = 1_000_000


def read_aborts(texts: Sequence[str], problems: list[Problem]) -> dict[str, float]:
    """Read the gates, each with the seconds after the start before which it stops nothing.

    An environment variable lists its values with the comma that also separates a key from its
    delay, so both are read from one list of words.
    """
    aborts: dict[str, float] = {}
    key = None
    for word in (word.strip() for text in texts for word in text.split(",")):
        if not word.startswith(DELAY):
            key = word
            if key in aborts:
                problems.append(Problem(FLAG, f"has {key!r} twice; give each gate once"))
            aborts[key] = 0.0
        elif key is None:
            problems.append(rule(FLAG, "must name a gate first, such as p99_ms,after=30s", word))
        else:
            try:
                aborts[key] = duration_us(FLAG, word.removeprefix(DELAY)) / US_PER_SEC
            except Wrong as wrong:
                problems.append(wrong.problem)
    return aborts


def unknown_gates(aborts: Mapping[str, float], gates: Sequence[dict[str, Any]]) -> list[Problem]:
    """Find the keys that no gate of the plan has: nothing would stop the run."""
    keys = [gate["key"] for gate in gates]
    problems = []
    for key in aborts:
        if key in keys:
            continue
        near = nearest(key, keys)
        if near is not None:
            fix = f"did you mean {near!r}?"
        elif keys:
            fix = f"the gates are {', '.join(keys)}"
        else:
            fix = "the run has none; add one, such as --threshold p99_ms=500"
        problems.append(rule(FLAG, f"must be the key of a gate of this run; {fix}", key))
    return problems
