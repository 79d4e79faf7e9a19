"""Parts of a run: figures over time, distribution of response times, errors, other verdicts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import Response
from pydantic import BaseModel, Field

from loadpilot.compile.scenario.thresholds import Measurable, threshold

from .._generated.errors import Errors
from .._generated.heat import Heat
from .._generated.report import Outcome
from .._generated.series import Series
from .._generated.what_if_answer import WhatIfAnswer
from ..limits import NAMED_MAX, TEXT_CHARS_MAX
from ..problem import UNPROCESSABLE, ApiError, Code
from .dependencies import INT_MAX, OF_RUN, Here, Run, Tagged

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loadpilot import _native

router = APIRouter(tags=["slices"])
GATES_MAX = 200

Us = Annotated[int, Field(ge=0, le=INT_MAX)]
Named = Annotated[str, Field(max_length=TEXT_CHARS_MAX)]


class Slice(BaseModel):
    """A part of a run. Times are in µs after the start, and select calls by when they were due."""

    model_config = {"extra": "forbid"}

    from_us: Us | None = None
    to_us: Us | None = None
    bucket_us: Us | None = None
    tasks: list[Named] = Field(default=[], max_length=NAMED_MAX)
    steps: list[Named] = Field(default=[], max_length=NAMED_MAX)
    agents: list[Named] = Field(default=[], max_length=NAMED_MAX)
    outcomes: list[Outcome] = Field(default=[], max_length=NAMED_MAX)
    percentiles: list[Annotated[float, Field(gt=0, le=100)]] = Field(default=[], max_length=20)
    as_of_us: Us | None = Field(
        default=None, description="Answer from the log as of this time, in µs after start."
    )

    def text(self) -> str:
        """Write JSON for the native module, without defaults."""
        fields = self.model_dump(mode="json", exclude_defaults=True)
        return json.dumps(fields, ensure_ascii=False)


class Question(BaseModel):
    """Gates and times by which to judge the run instead."""

    model_config = {"extra": "forbid"}

    thresholds: list[dict[str, Any]] | dict[str, str | float] | None = Field(
        default=None,
        description="Gates as in a scenario or as in a plan; null: those of the run's plan.",
    )
    warm_up_us: Us | None = None
    from_us: Us | None = None
    to_us: Us | None = None
    as_of_us: Us | None = None


Sliced = Annotated[Slice, Query()]


@router.get("/runs/{run}/series", response_model=Series, responses=OF_RUN)
async def series(tagged: Tagged, sliced: Sliced) -> Response:
    """Return the figures of a slice over time."""
    return await tagged.answer(lambda reading: reading.series(sliced.text()))


@router.get("/runs/{run}/heat", response_model=Heat, responses=OF_RUN)
async def heat(tagged: Tagged, sliced: Sliced) -> Response:
    """Return the distribution of the response times of a slice over time."""
    return await tagged.answer(lambda reading: reading.heat(sliced.text()))


@router.get("/runs/{run}/errors", response_model=Errors, responses=OF_RUN)
async def errors(tagged: Tagged, sliced: Sliced) -> Response:
    """Return the errors in a slice, by call."""
    return await tagged.answer(lambda reading: reading.errors(sliced.text()))


@router.post("/runs/{run}/verdict", response_model=WhatIfAnswer, responses=OF_RUN)
async def verdict(here: Here, run: Run, question: Question) -> Response:
    """Judge a run by other gates, or another part of it. Stores nothing."""
    wanted = question.model_dump(exclude_none=True)

    def judged(reading: _native.Reading) -> str:
        if isinstance(question.thresholds, dict):
            wanted["thresholds"] = gates(question.thresholds, json.loads(reading.report()))
        return reading.verdict(json.dumps(wanted, ensure_ascii=False))

    return Response(await here.of_reading(run, judged), media_type="application/json")


def gates(limits: dict[str, str | float], report: dict[str, Any]) -> list[dict[str, Any]]:
    """Read gates as in a scenario; raises ApiError with all mistakes."""
    if len(limits) > GATES_MAX:
        rule = f"must be at most {GATES_MAX} gates"
        wrong = [{"field": "thresholds", "rule": rule, "value": str(len(limits))}]
        raise ApiError(UNPROCESSABLE, Code.USAGE, "too many gates", wrong)
    built, problems = read_gates(list(limits.items()), [task["name"] for task in report["tasks"]])
    if problems:
        raise ApiError(UNPROCESSABLE, Code.USAGE, "invalid gates", problems)
    return built


def read_gates(
    limits: Sequence[tuple[str, str | float]], tasks: list[str], field: str | None = None
) -> tuple[list[dict[str, Any]], list[dict[str, str]]]:
    """Read gates as in a scenario; returns those that are valid, and the problems of the others.

    ``field`` names the problems of a gate by its position ``{at}``; without it, by its key.
    """
    gated = Measurable.in_log(tasks)
    read = [threshold("thresholds", key, limit, gated) for key, limit in limits]
    problems = [
        {
            "field": problem.place if field is None else field.format(at=at),
            "rule": problem.what,
            "value": str(limits[at][1]),
        }
        for at, (_, found) in enumerate(read)
        for problem in found
    ]
    return [built for built, _ in read if built is not None], problems
