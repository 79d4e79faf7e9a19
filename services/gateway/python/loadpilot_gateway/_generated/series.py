"""Written by `./dev gen` from proto/schema: never edit it."""

from __future__ import annotations

from typing import Annotated
from pydantic import BaseModel, Field, RootModel
from typing_extensions import TypeAliasType


class DroppedItem(RootModel[int]):
    root: Annotated[int, Field(ge=0)]


class Error(RootModel[int]):
    root: Annotated[int, Field(ge=0)]


class FinishedItem(RootModel[int]):
    root: Annotated[int, Field(ge=0)]


class FromU(RootModel[int]):
    root: Annotated[int, Field(ge=0)]


class Outcome(RootModel[int]):
    root: Annotated[int, Field(ge=0)]


class PlannedItem(RootModel[int | None]):
    root: Annotated[int | None, Field(ge=0)]


class ResponseItem(RootModel[int | None]):
    root: Annotated[int | None, Field(ge=0)]


class ServiceItem(RootModel[int | None]):
    root: Annotated[int | None, Field(ge=0)]


class StartedItem(RootModel[int]):
    root: Annotated[int, Field(ge=0)]


class Ladder(BaseModel):
    """
    Percentiles of a distribution, in µs.
    """

    count: Annotated[int, Field(ge=0)]
    """
    Number of values.
    """
    max_us: Annotated[int, Field(ge=0)]
    """
    Largest value.
    """
    mean_us: float
    """
    Arithmetic mean.
    """
    min_us: Annotated[int, Field(ge=0)]
    """
    Smallest value.
    """
    p50_us: Annotated[int, Field(ge=0)]
    """
    Median.
    """
    p75_us: Annotated[int, Field(ge=0)]
    """
    75th percentile.
    """
    p90_us: Annotated[int, Field(ge=0)]
    """
    90th percentile.
    """
    p95_us: Annotated[int, Field(ge=0)]
    """
    95th percentile.
    """
    p99_99_us: Annotated[int, Field(ge=0)]
    """
    99.99th percentile.
    """
    p99_9_us: Annotated[int, Field(ge=0)]
    """
    99.9th percentile.
    """
    p99_us: Annotated[int, Field(ge=0)]
    """
    99th percentile.
    """


OutcomesAdditionalProperty = TypeAliasType(
    "OutcomesAdditionalProperty", Annotated[int, Field(ge=0)]
)


class SliceTotal(BaseModel):
    """
    Figures of a whole slice.
    """

    co_factor: float | None = None
    """
    CO factor: corrected p99 / uncorrected p99; null in a closed loop and when no call finished.
    """
    dropped: Annotated[int, Field(ge=0)]
    """
    Number of arrivals that agents dropped.
    """
    errors: Annotated[int, Field(ge=0)]
    """
    Number of finished calls that were not ok; by the same rules including the last call of each
    task that raised, plus one for each that raised without a call.
    """
    finished: Annotated[int, Field(ge=0)]
    """
    Number of finished calls; by rules 2, unless calls or outcomes are selected, plus one for
    each task that raised without a call.
    """
    outcomes: dict[str, OutcomesAdditionalProperty]
    """
    Number of calls by outcome.
    """
    planned: Annotated[int | None, Field(ge=0)] = None
    """
    Number of arrivals planned; null as in [`Series::planned`].
    """
    response: Ladder | None = None
    """
    Response time; null when no call finished.
    """
    service: Ladder | None = None
    """
    Service time; null when no call finished.
    """
    started: Annotated[int, Field(ge=0)]
    """
    Number of arrivals started.
    """


class TrendSeries(BaseModel):
    """
    Values of a trend over time; null without values.
    """

    max: list[float | None]
    """
    Largest value.
    """
    p50: list[float | None]
    """
    Median.
    """
    p95: list[float | None]
    """
    95th percentile.
    """


class MetricSeries(BaseModel):
    """
    Own metrics of a scenario over time, by name: each list has one value per bucket.
    """

    counters: dict[str, list[float]]
    """
    Sum of what was added to a counter.
    """
    rates: dict[str, list[float | None]]
    """
    Share of true values of a rate in percent; null without values.
    """
    trends: dict[str, TrendSeries]
    """
    Values of a trend, in its own unit.
    """


class Series(BaseModel):
    """
    Figures of a slice over time: each list has one value per bucket.
    """

    bucket_us: Annotated[int, Field(ge=0)]
    """
    Length of a bucket in µs; the last bucket may be shorter.
    """
    dropped: list[DroppedItem]
    """
    Number of arrivals that agents dropped, for any reason.
    """
    errors: list[Error]
    """
    Number of finished calls that were not ok; by the same rules including the last call of each
    task that raised, plus one for each that raised without a call.
    """
    finished: list[FinishedItem]
    """
    Number of finished calls; by rules 2, unless calls or outcomes are selected, plus one for
    each task that raised without a call.
    """
    from_us: list[FromU]
    """
    Begin of each bucket, in µs after the start.
    """
    metrics: MetricSeries | None = None
    """
    The scenario's own metrics; null without any, and where agents, calls or outcomes are
    selected, which they are not recorded for.
    """
    outcomes: dict[str, list[Outcome]]
    """
    Number of calls by outcome, unfinished ones included; only outcomes that occurred.
    """
    percentiles: list[float]
    """
    Percentiles that were computed.
    """
    planned: list[PlannedItem | None]
    """
    Number of arrivals planned; null where agents, calls or outcomes are selected, which the
    plan does not know.
    """
    response: dict[str, list[ResponseItem | None]]
    """
    Response time in µs by percentile (`p50`, `p99_9`) and `max`; null when no call finished.
    """
    run: str
    """
    Id of the run.
    """
    service: dict[str, list[ServiceItem | None]]
    """
    Service time in µs by percentile and `max`; null when no call finished.
    """
    started: list[StartedItem]
    """
    Number of arrivals started.
    """
    tick_us: Annotated[int, Field(ge=0)]
    """
    Length of a tick of the log in µs.
    """
    total: SliceTotal
    """
    Figures of the whole slice.
    """
