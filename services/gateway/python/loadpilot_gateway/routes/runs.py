"""The list of runs, and the report, plan, story and agents of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import Response
from pydantic import BaseModel, Field

from loadpilot.control.outcome import Quality, RunOutcome, Verdict
from loadpilot.control.report_page import without_ticks

from .._generated.attendance import Attendance
from .._generated.report import Ending, Report, RunState, StoryLine
from ..limits import LISTED_DEFAULT, LISTED_MAX, NAMED_MAX, TEXT_CHARS_MAX
from ..problem import UNPROCESSABLE, ApiError, Code
from ..runs.logs import Listed
from ..runs.run_list import (
    TREND_RUNS_MAX,
    Order,
    Sort,
    Sorting,
    same_scenario,
    trend,
    trend_runs,
)
from .dependencies import INT_MAX, OF_RUN, AsOf, Due, Here, Tagged, says_no

if TYPE_CHECKING:
    from collections.abc import Mapping

    from loadpilot import _native

router = APIRouter(tags=["runs"])
CURSOR = "^[a-z0-9_-]{1,128}(~-?[0-9.e+-]{0,32})?$"
"""A run, and in a list by a figure also the figure."""


class TrendPoint(BaseModel):
    """One run of a trend."""

    model_config = {"from_attributes": True}

    p99_us: int
    verdict: Verdict
    quality: Quality


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
    notes: int = Field(description="Number of notes.")
    is_baseline: bool = Field(description="Whether it is marked as a baseline.")
    is_killed: bool = Field(
        description="Whether it has no ending and no process is left that could end it; "
        "`loadpilot resume` continues it."
    )
    log: str = Field(description="Name of the log that holds the run.")
    outcome: RunOutcome | None = Field(
        description="Verdict and figures; null while the run goes on or its log is being read."
    )
    trend: list[TrendPoint] = Field(
        description=f"The last {TREND_RUNS_MAX} ended runs of the scenario up to this one that "
        "have a p99, oldest first."
    )


class RunsListed(BaseModel):
    """One page of a list of runs."""

    runs: list[RunListed]
    next: str | None = Field(description="Value of `cursor` for the next page.")
    unread: int = Field(
        description="Number of ended runs that are still being read: they have no outcome yet."
    )
    unreadable: int = Field(description="Number of those whose log could not be read.")


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
    verdict: list[Verdict] = Field(default=[], max_length=NAMED_MAX)
    quality: list[Quality] = Field(
        default=[], max_length=NAMED_MAX, description="Grade of the certificate."
    )
    sort: Sort = Field(default="created", description="`failed` is the share of failed requests.")
    order: Order = Field(default="desc", description="Runs without the figure are last in both.")
    limit: int = Field(default=LISTED_DEFAULT, ge=1, le=LISTED_MAX)
    cursor: str | None = Field(default=None, pattern=CURSOR, description="`next` of a page.")

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
        )

    @property
    def needs_outcomes(self) -> bool:
        """Whether filter or order depend on the outcomes of all runs."""
        return self.sort != "created" or bool(self.verdict or self.quality)

    def accepts(self, outcome: RunOutcome | None) -> bool:
        """Whether an outcome passes the filter."""
        if outcome is None:
            return not (self.verdict or self.quality)
        return (not self.verdict or outcome.verdict in self.verdict) and (
            not self.quality or outcome.quality in self.quality
        )


@router.get("/runs", response_model=RunsListed, responses=says_no())
async def runs(here: Here, wanted: Annotated[Wanted, Query()]) -> Any:
    """List runs, newest first unless sorted otherwise."""
    every = await here.asking(here.logs.runs)
    found = [one for one in every if wanted.fits(one)]
    sorting = Sorting(wanted.sort, wanted.order)
    of_scenario = same_scenario(every)
    known: Mapping[str, RunOutcome] = {}
    unread = found
    if wanted.needs_outcomes:
        scenarios = dict.fromkeys(one["scenario"] for one in found)
        beside = [one for name in scenarios for one in of_scenario.get(name, [])]
        known = await here.outcomes.of([*found, *beside])
        found = [one for one in found if wanted.accepts(known.get(one["run"]))]
    rest = later(sorting, found, known, wanted.cursor)
    page = rest[: wanted.limit]
    trends = {one["run"]: trend_runs(one, of_scenario.get(one["scenario"], [])) for one in page}
    if not wanted.needs_outcomes:
        unread = page
        known = await here.outcomes.of([*page, *(one for past in trends.values() for one in past)])
    waiting = [one["run"] for one in unread if one["ending"] and one["run"] not in known]
    unreadable = here.outcomes.unreadable(waiting)
    return {
        "runs": [listed(one, known, trends[one["run"]]) for one in page],
        "next": sorting.cursor(page[-1], known) if len(rest) > len(page) else None,
        "unread": len(waiting) - unreadable,
        "unreadable": unreadable,
    }


def later(
    sorting: Sorting, found: list[Listed], known: Mapping[str, RunOutcome], cursor: str | None
) -> list[Listed]:
    """Sort the runs after the cursor; raises ApiError for the cursor of another order."""
    try:
        return sorting.apply(found, known, cursor)
    except ValueError:
        rule = "must be the `next` of a page in the same order"
        wrong = [{"field": "query.cursor", "rule": rule, "value": cursor}]
        raise ApiError(UNPROCESSABLE, Code.USAGE, "the request is invalid", wrong) from None


def listed(one: Listed, known: Mapping[str, RunOutcome], past: list[Listed]) -> dict[str, Any]:
    """Build the row of a run."""
    return {
        **one,
        "outcome": known.get(str(one["run"])),
        "trend": trend(past, known),
    }


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
