"""Written by `./dev gen` from proto/schema: never edit it."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict


class CallShift(TypedDict):
    """
    The part of one call in the change of a percentile.
    """

    call: str
    """
    Name of the call.
    """
    during_us: NotRequired[list[int] | None]
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


class FigureChange(TypedDict):
    """
    One figure of the current run beside the baseline.
    """

    baseline: NotRequired[float | None]
    """
    Value of the baseline; of several runs the median. Null without a value.
    """
    change: Literal["equal", "noise", "small", "better", "worse", "unjudged"]
    """
    What the difference means.
    """
    change_pct: NotRequired[float | None]
    """
    Difference in percent of the baseline; null where that is absent or 0.
    """
    current: NotRequired[float | None]
    """
    Value of the current run; null without a value.
    """
    figure: Literal[
        "achieved_rps", "p50_ms", "p95_ms", "p99_ms", "max_ms", "error_rate_pct", "held_rps"
    ]
    """
    The figure.
    """
    interval: NotRequired[list[float] | None]
    """
    Difference in the unit of the figure: the range that holds 99 % of the differences between
    samples drawn again from the parts of both sides. Null without enough parts.
    """
    task: NotRequired[str | None]
    """
    Name of the task; null for the whole run.
    """


class Explanation(TypedDict):
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
    figure: Literal[
        "achieved_rps", "p50_ms", "p95_ms", "p99_ms", "max_ms", "error_rate_pct", "held_rps"
    ]
    """
    The percentile.
    """
    mix_ms: float
    """
    Contribution of the mix in ms: of calls that became more or less frequent among all calls,
    or that only one of the runs has.
    """
    task: NotRequired[str | None]
    """
    Name of the task; null for the whole run.
    """


class Comparison(TypedDict):
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
    schema: Literal["loadpilot.comparison/1"]
    """
    Version of this format.
    """
    threshold_pct: float
    """
    Difference in percent from which on a change for the worse is a regression.
    """
