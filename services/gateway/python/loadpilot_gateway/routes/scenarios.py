"""Scenarios that can be started: those of past runs, and the files of the directory."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, Field

from loadpilot.control.outcome import Verdict

from ..limits import SCENARIOS_MAX, TEXT_CHARS_MAX
from ..problem import ApiError, Code
from .dependencies import Here, says_no

router = APIRouter(tags=["start"])
Named = Annotated[str, Field(max_length=TEXT_CHARS_MAX)]


class PastScenario(BaseModel):
    """A scenario with its newest run that has a plan."""

    scenario: str
    run: str
    created_at: int = Field(description="In µs since 1970-01-01 UTC.")
    verdict: Verdict | None = Field(description="Null while its log is being read.")


class ListedFile(BaseModel):
    """A scenario file of the directory."""

    file: str
    scenarios: list[str] = Field(description="Empty for a file that cannot be parsed.")
    types: list[str] = Field(
        default=[],
        description="Scenarios that run together when none is chosen; empty where one has to be.",
    )


class Scenarios(BaseModel):
    """Scenarios that can be started."""

    past: list[PastScenario] = Field(description="Those of past runs, the newest run first.")
    files: list[ListedFile] | None = Field(
        description="Scenario files of the directory of `loadpilot ui`; null on a fleet."
    )


class FileWanted(BaseModel):
    """A scenario of a file."""

    model_config = {"extra": "forbid"}

    file: Named = Field(description="One of `files`.")
    scenario: Named | None = Field(default=None, description="Needed where it defines several.")


class CompiledFile(BaseModel):
    """A compiled scenario."""

    plan: str = Field(description="The plan as JSON text.")
    bodies: dict[str, str] = Field(description="As in a request for a run.")
    hooks: list[str] = Field(
        description="What only the command can play, with the lines; such a run is started by it."
    )


@router.get("/scenarios", responses=says_no())
async def scenarios(here: Here) -> Scenarios:
    """List the scenarios that can be started."""
    every = await here.asking(here.logs.runs)
    newest = {one["scenario"]: one for one in reversed(every) if one["asked"]}
    past = sorted(newest.values(), key=lambda one: str(one["run"]), reverse=True)[:SCENARIOS_MAX]
    known = await here.outcomes.of(past)
    files = None
    if here.scenario_files is not None:
        found = await here.asking(here.scenario_files.files)
        files = [
            ListedFile(file=one.file, scenarios=one.names, types=[each.name for each in one.types])
            for one in found
        ]
    rows = [
        PastScenario(
            scenario=one["scenario"],
            run=one["run"],
            created_at=one["created_at"],
            verdict=known[one["run"]].verdict if one["run"] in known else None,
        )
        for one in past
    ]
    return Scenarios(past=rows, files=files)


@router.post("/scenarios/plan", responses=says_no(HTTPStatus.NOT_FOUND))
async def compile_file(here: Here, wanted: FileWanted) -> CompiledFile:
    """Compile a scenario file of the directory in a child process. Starts no run."""
    if here.scenario_files is None:
        detail = "scenario files are available with `loadpilot ui` only, not on a fleet"
        raise ApiError(HTTPStatus.NOT_FOUND, Code.UNKNOWN_PATH, detail)
    compiled = await here.scenario_files.compile(wanted.file, wanted.scenario)
    plan = json.dumps(compiled.plan, ensure_ascii=False, indent=2)
    return CompiledFile(plan=plan, bodies=compiled.bodies, hooks=compiled.hooks)
