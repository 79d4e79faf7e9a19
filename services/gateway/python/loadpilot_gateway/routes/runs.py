"""The list of runs, and the report, plan, story and agents of each."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import Response
from pydantic import BaseModel, Field

from loadpilot.control.outcome import RunOutcome

from .._generated.attendance import Attendance
from .._generated.report import Ending, Report, RunState, StoryLine
from ..limits import LISTED_DEFAULT, LISTED_MAX, NAMED_MAX, TEXT_CHARS_MAX
from ..runs.logs import Listed
from .dependencies import INT_MAX, OF_RUN, RUN, AsOf, Due, Here, Tagged, says_no

if TYPE_CHECKING:
    from loadpilot import _native

router = APIRouter(tags=["runs"])


class RunListed(BaseModel):
    """One run in a list."""

    run: str
    scenario: str
    target: str
    state: RunState
    ending: Ending | None
    created_at: int = Field(description="In µs since 1970-01-01 UTC.")
    profile_us: int
    tags: dict[str, str]
    log: str = Field(description="Name of the log that holds the run.")
    outcome: RunOutcome | None = Field(
        description="Verdict and figures; null while the run goes on or its log is being read."
    )


class RunsListed(BaseModel):
    """Runs, newest first."""

    runs: list[RunListed]
    next: str | None = Field(description="Value of `cursor` for the next page.")


class Story(BaseModel):
    """One page of a run's story."""

    lines: list[StoryLine]
    next: int | None = Field(description="Value of `after` for the next page.")


class Wanted(BaseModel):
    """Filter and page of the list."""

    model_config = {"extra": "forbid"}

    state: list[RunState] = Field(default=[], max_length=NAMED_MAX)
    ending: list[Ending] = Field(default=[], max_length=NAMED_MAX)
    scenario: list[Annotated[str, Field(max_length=TEXT_CHARS_MAX)]] = Field(
        default=[], max_length=NAMED_MAX
    )
    tag: list[Annotated[str, Field(pattern=r"^[^:]{1,63}:.{0,256}$")]] = Field(
        default=[], max_length=NAMED_MAX, description="NAME:VALUE; a run must have all of them."
    )
    q: str = Field(
        default="",
        max_length=TEXT_CHARS_MAX,
        description="A text in id, scenario, target or tags of the run.",
    )
    limit: int = Field(default=LISTED_DEFAULT, ge=1, le=LISTED_MAX)
    cursor: str | None = Field(default=None, pattern=RUN)

    def fits(self, one: Listed) -> bool:
        """Whether a run passes the filter."""
        tags: dict[str, str] = one["tags"]
        pairs = (tag.partition(":") for tag in self.tag)
        words = [one["run"], one["scenario"], one["target"], *tags, *tags.values()]
        text = self.q.casefold()
        return (
            (not self.state or one["state"] in self.state)
            and (not self.ending or one["ending"] in self.ending)
            and (not self.scenario or one["scenario"] in self.scenario)
            and all(tags.get(name) == value for name, _, value in pairs)
            and (not text or any(text in str(word).casefold() for word in words))
            and (self.cursor is None or one["run"] < self.cursor)
        )


@router.get("/runs", response_model=RunsListed, responses=says_no())
async def runs(here: Here, wanted: Annotated[Wanted, Query()]) -> Any:
    """List runs, newest first."""
    every = await here.asking(here.logs.runs)
    found = [one for one in every if wanted.fits(one)]
    page = found[: wanted.limit]
    outcomes = await here.outcomes.of(page)
    rows = [{**one, "outcome": outcomes.get(one["run"])} for one in page]
    return {"runs": rows, "next": page[-1]["run"] if len(found) > len(page) else None}


@router.get("/runs/{run}", response_model=Report, responses=OF_RUN)
async def report(
    tagged: Tagged,
    as_of_us: AsOf = None,
    from_us: Due = None,
    to_us: Due = None,
    *,
    ticks: Annotated[
        bool, Query(description="Whether `series` has the ticks of the run; if not, it is empty.")
    ] = True,
) -> Response:
    """Fold the log into the report, byte for byte that of `loadpilot report --json`.

    With `from_us` or `to_us` it is the report of the arrivals that are due in that part of the run:
    whole ticks, `to_us` exclusive. Bytes, error texts of Python and the series are left out.
    """

    def folded(reading: _native.Reading) -> str:
        text = reading.report(as_of_us, from_us, to_us)
        return text if ticks else without_ticks(text)

    return await tagged.answer(folded)


def without_ticks(report: str) -> str:
    """Empty the series of a report, which grows with the run and which /series has, too."""
    shorter = json.loads(report) | {"series": []}
    return json.dumps(shorter, ensure_ascii=False, separators=(",", ":"))


@router.get("/runs/{run}/plan", responses=OF_RUN)
async def plan(here: Here, tagged: Tagged) -> Response:
    """Return the plan of a run."""
    text = await here.of_run(tagged.run, lambda session: session.plan(tagged.run))
    return await tagged.answer(lambda _: f'{{"plan":{text}}}')


@router.get("/runs/{run}/story", response_model=Story, responses=OF_RUN)
async def story(
    tagged: Tagged,
    after: Annotated[int, Query(ge=0, le=INT_MAX)] = 0,
    limit: Annotated[int, Query(ge=1, le=LISTED_MAX)] = LISTED_MAX,
) -> Response:
    """Return the story of a run after a sequence of its log."""
    return await tagged.answer(lambda reading: reading.story(after, limit))


@router.get("/runs/{run}/agents", response_model=Attendance, responses=OF_RUN)
async def attendance(tagged: Tagged, as_of_us: AsOf = None) -> Response:
    """Return the agents of a run, and their state and figures over time."""
    return await tagged.answer(lambda reading: reading.agents(as_of_us))
