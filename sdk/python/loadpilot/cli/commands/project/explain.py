"""``loadpilot explain``: which parts of a scenario are compiled, which run in Python, and why."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ....compile.plan import compile_scenario
from ....compile.scenario.settings import Overrides
from ....control.exit_code import ExitCode
from ....control.terminal import safe
from ....local.folders import ROOT
from ....problem import Problem, Refused
from ....scenario_file.load import choose, load
from ....scenario_file.load_model.scenario import scenario_path
from ...output.opening import hook_lines
from ...output.refusal import refuse

if TYPE_CHECKING:
    from ....compile.plan import Compiled

COOKIELESS = "  cookies that the target sets are not sent back: no task reads a response"
"""What constant requests lack."""
PLACEHOLDER_TARGET = "http://localhost"
"""Target of a plan that is never run."""


def explain(file: str | None, scenario: str | None) -> ExitCode:
    """Print a line for each scenario, and one for each reason to run it in Python."""
    if file is None:
        return refuse(
            [Problem("FILE", "no scenario file was named; write `loadpilot explain scenario.py`")]
        )
    try:
        loaded = load(scenario_path(Path(file), ROOT))
        chosen = [choose(loaded, scenario)] if scenario else list(loaded.scenarios.values())
        for cls in chosen:
            compiled = compile_scenario(loaded, cls, PLACEHOLDER_TARGET, Overrides())
            for line in execution_lines(compiled):
                print(line, flush=True)
    except Refused as refused:
        return refuse(refused.problems)
    return ExitCode.PASSED


def execution_lines(compiled: Compiled) -> list[str]:
    """Write how a scenario is executed."""
    plan = compiled.plan
    name = safe(plan["scenario"])
    hooks = [f"  {safe(line)}" for line in hook_lines(compiled.hooks)] if compiled.hooks else []
    if "code" in plan:
        parts = [f"  {safe(part)}: compiled" for part in compiled.parts]
        return [f"{name}: compiled, no Python runs under load", *parts, *hooks]
    if not compiled.reasons:
        tasks = [f"  task {safe(task['name'])}: {_calls(task['steps'])}" for task in plan["tasks"]]
        return [f"{name}: compiled, no Python runs under load", *tasks, COOKIELESS, *hooks]
    lines = [f"{name}: runs in Python, because"]
    lines += [f"  {safe(str(reason))}" for reason in compiled.reasons]
    lines += [f"  {safe(part)}: could be compiled" for part in compiled.parts]
    files = ", ".join(map(safe, compiled.files))
    return [*lines, f"  its agents get {files}", *hooks]


def _calls(steps: list[dict[str, object]]) -> str:
    names = ", ".join(safe(str(step["name"])) for step in steps)
    return f"compiled to {names}"
