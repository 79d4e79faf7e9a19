"""``loadpilot explain``: what of a scenario is compiled, what runs in Python, and why."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ...compile.plan import compile_scenario
from ...compile.scenario.settings import Overrides
from ...control.exit_code import ExitCode
from ...control.terminal import safe
from ...problem import Problem, Refused
from ...scenario_file.load import choose, load
from ..output.opening import on_this_side
from .run import refuse

if TYPE_CHECKING:
    from ...compile.plan import Compiled

ANYWHERE = "http://localhost"
"""The target of a plan that is only looked at."""


def explain(file: str | None, scenario: str | None) -> ExitCode:
    """Print a line for each scenario, and one for each reason to run it in Python."""
    if file is None:
        return refuse([Problem("file", "name a scenario file: loadpilot explain scenario.py")])
    try:
        loaded = load(Path(file))
        chosen = [choose(loaded, scenario)] if scenario else list(loaded.scenarios.values())
        for cls in chosen:
            compiled = compile_scenario(loaded, cls, ANYWHERE, Overrides())
            for line in lines(compiled):
                print(line, flush=True)
    except Refused as refused:
        return refuse(refused.problems)
    return ExitCode.PASSED


def lines(compiled: Compiled) -> list[str]:
    """Say how a scenario is executed."""
    plan = compiled.plan
    name = safe(plan["scenario"])
    aside = [f"  {safe(line)}" for line in on_this_side(compiled.hooks)] if compiled.hooks else []
    if "code" in plan:
        parts = [f"  {safe(part)}: compiled" for part in compiled.parts]
        return [f"{name}: compiled, no Python runs under load", *parts, *aside]
    if not compiled.reasons:
        tasks = [f"  task {safe(task['name'])}: {_calls(task['steps'])}" for task in plan["tasks"]]
        return [f"{name}: compiled, no Python runs under load", *tasks, *aside]
    told = [f"{name}: runs in Python, because"]
    told += [f"  {safe(str(reason))}" for reason in compiled.reasons]
    told += [f"  {safe(part)}: could be compiled" for part in compiled.parts]
    files = ", ".join(map(safe, compiled.files))
    return [*told, f"  its agents get {files}", *aside]


def _calls(steps: list[dict[str, object]]) -> str:
    names = ", ".join(safe(str(step["name"])) for step in steps)
    return f"compiled to {names}"
