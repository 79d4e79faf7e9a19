"""The plan of one probe: the scenario at a constant rate, with the gates and tags of the search."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from .... import _native
from ....problem import Problem, Refused
from ...plan_check import of_files
from .search_flags import SLO_RULE

if TYPE_CHECKING:
    from ....compile.plan import Compiled
    from ...flags.options import Options
    from .search_flags import SearchOptions

URPS = 1_000_000
SEARCH_TAG, SETTINGS_TAG = "search", "search-settings"
"""Tags by which a run belongs to a search; the native module reads them."""
TAGS_RULE = "must not be a name that a search gives its probes itself"
DEFAULT_GATES = ({"metric": "error_rate", "limit": 1.0}, {"metric": "shortfall", "limit": 1.0})
"""Gates of every probe without a gate of its own for the same metric: more errors, or arrivals
that were not started, are no work."""
FLAGS = {"--stages": "--probe"}
"""Flags of a run that a search sets itself, and its own flags in their place."""


def rate_text(urps: int) -> str:
    """Write a rate in full: ``20.5``."""
    whole, rest = divmod(urps, URPS)
    return f"{whole}.{rest:06d}".rstrip("0").rstrip(".")


def probe_plan(options: Options, search: SearchOptions, urps: int) -> Compiled:
    """Compile the probe at a rate; raises Refused with all problems."""
    rate = rate_text(urps)
    tags = options.overrides.tags
    problems = [
        Problem("--tag", f"{TAGS_RULE} (got {name!r})")
        for name in (SEARCH_TAG, SETTINGS_TAG)
        if name in tags
    ]
    gates = (*options.overrides.thresholds, *search.slo)
    overrides = replace(
        options.overrides,
        stages=f"0s:{rate},{search.probe}:{rate}",
        thresholds=gates,
        thresholds_flag="--slo" if search.slo else options.overrides.thresholds_flag,
        tags={
            **tags,
            SEARCH_TAG: search.id,
            SETTINGS_TAG: _native.search_settings(json.dumps(search.settings)),
        },
    )
    try:
        _, compiled = of_files(replace(options, overrides=overrides), problems)
    except Refused as refused:
        problems += [_translated(one) for one in refused.problems]
        raise Refused(problems) from None
    own = compiled.plan["thresholds"]
    if not own:
        problems.append(Problem("--slo", f"{SLO_RULE}; the scenario has no gates"))
    if "users" in compiled.plan:
        what = "has a closed loop, and a search needs a rate: set rps= in place of users="
        problems.append(Problem("FILE", what))
    if problems:
        raise Refused(problems)
    named = {one["metric"] for one in own if "task" not in one}
    more = [dict(one) for one in DEFAULT_GATES if one["metric"] not in named]
    compiled.plan["thresholds"] = [*own, *more]
    return compiled


def _translated(problem: Problem) -> Problem:
    """Name the flag of the search in place of the one that it sets."""
    if problem.place == "--stages" and "closed loop" in problem.what:
        return Problem("FILE", "has a closed loop, and a search needs a rate: set rps= instead")
    return Problem(FLAGS.get(problem.place, problem.place), problem.what)
