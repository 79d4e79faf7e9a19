"""Compiles the scenario files of a run, and checks a plan together with the flags."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from typing import TYPE_CHECKING

from .. import _native
from ..compile.plan import Compiled, compile_scenario
from ..inputs.params import ParameterSource
from ..local.folders import ROOT
from ..problem import Problem, Refused, rule
from ..scenario_file.load import load
from ..scenario_file.load_model.scenario import scenario_path
from ..scenario_file.user_types import chosen
from .flags import allow
from .flags.breach_flags import unknown_gates
from .output.opening import hook_lines

if TYPE_CHECKING:
    from .flags.options import Options


def of_files(options: Options, problems: list[Problem]) -> tuple[Options, Compiled]:
    """Compile the scenarios of the files; raises Refused."""
    parameters = ParameterSource(os.environ, options.overrides.env)
    paths = [scenario_path(path, ROOT) for path in (options.file, *options.more_files)]
    files = [load(path, parameters) for path in paths]
    types = chosen(files, options.scenario, options.shares)
    # The checker of the plan must not refuse an invalid target a second time.
    is_valid = not any(problem.place == options.target.place for problem in problems)
    url = options.target.url if is_valid else "http://localhost"
    others = options.target.others if is_valid else ()
    overrides = replace(options.overrides, other_targets=others)
    if len(types) == 1:
        compiled = compile_scenario(types[0].loaded, types[0].cls, url, overrides)
    else:
        from ..compile.user_types import compile_together  # noqa: PLC0415  (mixes only)

        compiled = compile_together(types, url, overrides)
    if options.sides is not None and not problems:
        from ..compile.pairs import compile_pairs  # noqa: PLC0415  (two targets only)

        compiled = compile_pairs(compiled, options.sides.named(url))
    return options, compiled


def check(compiled: Compiled, options: Options) -> None:
    """Check what plan and flags say together; raises Refused."""
    found = json.loads(_native.check_plan(compiled.plan_json(), options.seed))
    if found:
        raise Refused([rule(one["field"], one["rule"], one["value"]) for one in found])
    allow.check(compiled, options.allow_target, options.target.place)
    if options.aborts:
        gates = json.loads(_native.plan_gates(compiled.plan_json()))
        unknown = unknown_gates(options.aborts, gates)
        if unknown:
            raise Refused(unknown)
    users = compiled.plan.get("users")
    if users is not None and options.agents.want > users:
        must = f"must be at most the users of the closed loop, {users}: each agent holds one"
        raise Refused([rule(options.agents_flag, must, options.agents.want)])
    hooks = compiled.hooks
    if hooks is not None and options.fleet is not None and options.fleet.detach:
        needed = "; ".join(hook_lines(hooks))
        raise Refused([Problem("--detach", f"leaves, and this command is needed: {needed}")])
    if hooks is not None and hooks.start is not None:
        users = compiled.plan["script"]["users"]
        if options.agents.want > users:
            must = f"must be at most the users that are prepared, {users}: each exists once"
            raise Refused([rule(options.agents_flag, must, options.agents.want)])
