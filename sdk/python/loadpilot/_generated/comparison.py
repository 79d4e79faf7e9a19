"""Written by `./dev gen` from proto/schema: never edit it."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict


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
    figure: Literal["achieved_rps", "p50_ms", "p95_ms", "p99_ms", "max_ms", "error_rate_pct"]
    """
    The figure.
    """
    interval: NotRequired[list[float] | None]
    """
    Difference in the unit of the figure: the range that holds 95 % of the differences between
    samples drawn again from the parts of both sides. Null without enough parts.
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
