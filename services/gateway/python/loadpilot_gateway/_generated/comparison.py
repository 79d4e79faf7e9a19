"""Written by `./dev gen` from proto/schema: never edit it."""

from __future__ import annotations

from typing import Annotated
from pydantic import BaseModel, Field, RootModel
from enum import StrEnum


class DuringU(RootModel[int]):
    root: Annotated[int, Field(ge=0)]


class CallShift(BaseModel):
    """
    The part of one call in the change of a percentile.
    """

    call: str
    """
    Name of the call.
    """
    during_us: Annotated[list[DuringU] | None, Field(max_length=2, min_length=2)] = None
    """
    When the requests that moved were due, from and to in µs after the start of the load; null
    for the whole measured time.
    """
    ms: float
    """
    Contribution in ms; of the opposite sign where this call changed the other way.
    """
    other_ms: float
    """
    The rest of the contribution, in ms: time in no phase, such as that of a request which timed
    out before its first byte.
    """
    phases: dict[str, float]
    """
    The contribution by phase, in ms. Phases that changed the other way are left out.
    """
    requests_pct: float
    """
    Requests that moved beyond the better of the two values, in percent of all requests;
    negative where they moved below it.
    """
    task: str
    """
    Name of the task.
    """


class Change(StrEnum):
    """
    What a difference means.
    """

    equal = "equal"
    """
    Both values are equal.
    """
    noise = "noise"
    """
    As large as differences that happen by chance.
    """
    small = "small"
    """
    Not chance, and within the threshold.
    """
    better = "better"
    """
    Better, beyond the threshold and chance.
    """
    worse = "worse"
    """
    Worse, beyond the threshold and chance: a regression.
    """
    unjudged = "unjudged"
    """
    The figure is shown only, or one of the values is absent.
    """


class ComparedFigure(StrEnum):
    """
    A figure that is compared.
    """

    achieved_rps = "achieved_rps"
    """
    Arrivals started per second.
    """
    p50_ms = "p50_ms"
    """
    Median response time in ms.
    """
    p95_ms = "p95_ms"
    """
    95th percentile of the response time in ms.
    """
    p99_ms = "p99_ms"
    """
    99th percentile of the response time in ms.
    """
    max_ms = "max_ms"
    """
    Longest response time in ms. It is one call, and is not judged.
    """
    error_rate_pct = "error_rate_pct"
    """
    Errors in percent of finished calls.
    """
    held_rps = "held_rps"
    """
    The highest rate of a level that the target held, in arrivals per second.
    """


class ComparisonSchema(StrEnum):
    """
    Version of the comparison format.
    """

    loadpilot_comparison_1 = "loadpilot.comparison/1"
    """
    The first version.
    """


class FigureChange(BaseModel):
    """
    One figure of the current run beside the baseline.
    """

    baseline: float | None = None
    """
    Value of the baseline; of several runs the median. Null without a value.
    """
    change: Change
    """
    What the difference means.
    """
    change_pct: float | None = None
    """
    Difference in percent of the baseline; null where that is absent or 0.
    """
    current: float | None = None
    """
    Value of the current run; null without a value.
    """
    figure: ComparedFigure
    """
    The figure.
    """
    interval: Annotated[list[float] | None, Field(max_length=2, min_length=2)] = None
    """
    Difference in the unit of the figure: the range that holds 99 % of the differences between
    samples drawn again from the parts of both sides. Null without enough parts.
    """
    task: str | None = None
    """
    Name of the task; null for the whole run.
    """


class Explanation(BaseModel):
    """
    The change of a percentile, divided among calls. The contributions of the calls and of their mix
    add up to the difference of the two values.
    """

    baseline_ms: float
    """
    Its value in ms.
    """
    beside: str
    """
    The run of the baseline beside which it is explained; of several the one whose value is
    nearest to their median.
    """
    calls: list[CallShift]
    """
    Contributions of the calls, the largest first.
    """
    current_ms: float
    """
    Value of the current run in ms.
    """
    figure: ComparedFigure
    """
    The percentile.
    """
    mix_ms: float
    """
    Contribution of the mix in ms: of calls that became more or less frequent among all calls,
    or that only one of the runs has.
    """
    task: str | None = None
    """
    Name of the task; null for the whole run.
    """


class Comparison(BaseModel):
    """
    A run beside one or more earlier ones.
    """

    baseline: list[str]
    """
    The runs that it is compared with.
    """
    current: str
    """
    The run that is judged.
    """
    explained: list[Explanation]
    """
    Where the change of each percentile comes from that is better or worse; those of a task only
    where the percentile of the whole run does not say the same. Empty without the calls of the
    runs.
    """
    figures: list[FigureChange]
    """
    Figures of the whole run, then of each task that both sides have.
    """
    obstacles: list[str]
    """
    Why the runs cannot be compared, as sentences for people; then there is no judgement.
    """
    regressed: bool
    """
    Whether a figure is worse, beyond the threshold and chance. False where there is an
    obstacle.
    """
    remarks: list[str]
    """
    What a reader has to know besides, as sentences for people.
    """
    schema_: Annotated[ComparisonSchema, Field(alias="schema")]
    """
    Version of this format.
    """
    threshold_pct: float
    """
    Difference in percent from which on a change for the worse is a regression.
    """
