"""Compiles a list of requests: the plan of a scenario whose only task sends them in turn.

One request is an ordinary task. Several are rows of a file beside the plan, so that a plan does not
grow with its list.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from .. import _native
from ..dsl import ScenarioSpec
from ..problem import Problem, Refused, rule
from ..scenario_file.source import Sources
from ..scenario_file.targets.request_list import RequestList
from .plan import SECOND_SCHEMA, Compiled, deduplicated, hold, plan_of, translated
from .recorded.tasks import Tasks
from .scenario.settings import Settings
from .scenario.thresholds import Measurable

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ..scenario_file.targets.request_list import Survey
    from ..scenario_file.targets.targets_file import TargetsFile
    from .scenario.settings import Overrides

FEED = "targets"
"""Name of the feed of a list."""


@dataclass(frozen=True, slots=True)
class ListedScenario:
    """The scenario that a list of requests is run as."""

    name: str
    """Name of scenario and task."""
    settings: Mapping[str, Any]
    """Settings, as ``@scenario`` takes them; flags go before them."""
    folder: Path
    """Folder for the file of rows."""


def compile_list(
    targets: TargetsFile, survey: Survey, scenario: ListedScenario, overrides: Overrides
) -> Compiled:
    """Compile a list of requests; raises :class:`Refused` with all problems.

    The file of rows stays in the folder; its name is that of its content.
    """
    at = targets.name
    settings = Settings(ScenarioSpec(scenario.settings), overrides, at)
    requests = RequestList(survey)
    rows = None
    if survey.count > 1:
        rows = _rows(requests, targets, scenario)
    else:
        # One request is its step alone, without a row.
        list(requests.rows(targets))
    task = {"name": scenario.name, "weight": 1, "steps": requests.steps}
    tasks = Tasks(Sources(), requests.secrets, requests.bodies, [task])
    tasks.bodies.move_largest_beside()
    origin, *others = survey.origins
    settings.overrides = replace(overrides, other_targets=others)
    plan = plan_of(scenario.name, settings, tasks, origin)
    gated = Measurable([scenario.name], [], runs_in_python=False)
    plan["thresholds"] = settings.thresholds(gated)
    hold(plan, settings, gated)
    if rows is not None:
        secrets = sorted(requests.secrets.values())
        plan["schema"] = SECOND_SCHEMA
        plan["requests"] = {"rows": rows, **({"secrets": secrets} if secrets else {})}
    if settings.problems:
        raise Refused(deduplicated(settings.problems))
    compiled = Compiled(
        plan,
        requests.secrets.values(),
        ramp_cut_from_us=settings.ramp_cut_from_us,
        bodies=tasks.bodies.beside,
        row_folder=None if rows is None else scenario.folder.resolve(),
    )
    found = json.loads(_native.check_plan(compiled.plan_json()))
    if found:
        raise Refused(deduplicated([translated(one, settings, {}) for one in found]))
    return compiled


def _rows(requests: RequestList, targets: TargetsFile, scenario: ListedScenario) -> dict[str, Any]:
    """Write the file of rows; returns the feed of the plan that names it."""
    draft = scenario.folder / f".targets.{os.getpid()}.jsonl"
    try:
        scenario.folder.mkdir(parents=True, exist_ok=True)
        try:
            with draft.open("wb") as file:
                file.writelines(requests.rows(targets))
            rows = _native.RowFile(draft, "json_lines")
            path = scenario.folder / f"{rows.sha256[:16]}.jsonl"
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as error:
        raise Refused([Problem(str(scenario.folder), str(error.strerror or error))]) from None
    if len(rows) != requests.survey.count:
        raise Refused([rule(targets.name, "must not change while it is read", len(rows))])
    return {
        "name": FEED,
        "rows": len(rows),
        "tasks": [0],
        "cycles": True,
        "file": {
            "name": path.name,
            "form": "json_lines",
            "content": {"sha256": rows.sha256, "bytes": rows.bytes},
        },
    }
