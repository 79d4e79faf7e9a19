"""Makes the plan that compares two targets of the plan for one.

Plans that cannot be compared are refused here, before anything starts.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from .. import _native
from ..problem import Problem, Refused, rule

if TYPE_CHECKING:
    from .plan import Compiled
    from .scenario.hooks import Hook

ONE_TARGET = "is played by this command, for one target; two are compared without it"
COMPILED = "it needs Python, and two targets are compared by compiled scenarios only"
SETTINGS = {"duration": "--duration"}
"""Flags of fields that can be refused."""


def compile_pairs(compiled: Compiled, sides: tuple[tuple[str, str], tuple[str, str]]) -> Compiled:
    """Compile for two targets; raises :class:`Refused`.

    ``sides`` are the name and the URL of each.
    """
    problems = [Problem(hook.place, f"{hook.name}() {ONE_TARGET}") for hook in _hooks(compiled)]
    if "script" in compiled.plan:
        why = compiled.reasons[0]
        problems.append(Problem(why.place, f"{why.what}: {COMPILED}"))
    if problems:
        raise Refused(problems)
    try:
        plan = _native.paired_plan(compiled.plan_json(), sides)
    except _native.Refused as refused:
        raise Refused(
            [
                rule(SETTINGS.get(one["field"], one["field"]), one["rule"], one["value"])
                for one in json.loads(refused.problems)
            ]
        ) from None
    return replace(compiled, plan=json.loads(plan))


def _hooks(compiled: Compiled) -> list[Hook]:
    """List the hooks that this command would play."""
    hooks = compiled.hooks
    if hooks is None:
        return []
    start = [hooks.start] if hooks.start is not None else []
    return [*hooks.setups, *start, *hooks.teardowns]
