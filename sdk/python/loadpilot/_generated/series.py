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
    Points of a distribution, in µs.
    """

    count: Annotated[int, Field(ge=0)]
    """
    How many values.
    """
    max_us: Annotated[int, Field(ge=0)]
    """
    The greatest.
    """
    mean_us: float
    """
    The arithmetic mean.
    """
    min_us: Annotated[int, Field(ge=0)]
    """
    The least.
    """
    p50_us: Annotated[int, Field(ge=0)]
    """
    50 %.
    """
    p75_us: Annotated[int, Field(ge=0)]
    """
    75 %.
    """
    p90_us: Annotated[int, Field(ge=0)]
    """
    90 %.
    """
    p95_us: Annotated[int, Field(ge=0)]
    """
    95 %.
    """
    p99_99_us: Annotated[int, Field(ge=0)]
    """
    99.99 %.
    """
    p99_9_us: Annotated[int, Field(ge=0)]
    """
    99.9 %.
    """
    p99_us: Annotated[int, Field(ge=0)]
    """
    99 %.
    """


OutcomesAdditionalProperty = TypeAliasType(
    "OutcomesAdditionalProperty", Annotated[int, Field(ge=0)]
)


class SliceTotal(BaseModel):
    """
    A whole slice as one.
    """

    co_factor: float | None = None
    """
    Corrected p99 over uncorrected p99; null in a closed loop and when nothing finished.
    """
    dropped: Annotated[int, Field(ge=0)]
    """
    Arrivals dropped by agents.
    """
    errors: Annotated[int, Field(ge=0)]
    """
    Finished calls that were not ok; by those rules also the last one of each task that raised,
    and one for each that raised without a call.
    """
    finished: Annotated[int, Field(ge=0)]
    """
    Finished calls; by rules 2 and unless calls or outcomes are picked out, also one for each
    task that raised without a call.
    """
    outcomes: dict[str, OutcomesAdditionalProperty]
    """
    How calls ended.
    """
    planned: Annotated[int | None, Field(ge=0)] = None
    """
    Arrivals planned; null as in [`Series::planned`].
    """
    response: Ladder | None = None
    """
    Response time; null when nothing finished.
    """
    service: Ladder | None = None
    """
    Service time.
    """
    started: Annotated[int, Field(ge=0)]
    """
    Arrivals started.
    """


class Series(BaseModel):
    """
    Figures of a slice, bucket by bucket: each list has one value a bucket.
    """

    bucket_us: Annotated[int, Field(ge=0)]
    """
    The grain of this answer in µs; the last bucket may be shorter.
    """
    dropped: list[DroppedItem]
    """
    Arrivals dropped, for whatever reason, by agents.
    """
    errors: list[Error]
    """
    Finished calls that were not ok; by those rules also the last one of each task that raised,
    and one for each that raised without a call.
    """
    finished: list[FinishedItem]
    """
    Finished calls; by rules 2 and unless calls or outcomes are picked out, also one for each
    task that raised without a call.
    """
    from_us: list[FromU]
    """
    Where each bucket begins, in µs after the start.
    """
    outcomes: dict[str, list[Outcome]]
    """
    How calls ended, the unfinished ones too; only outcomes that happened.
    """
    percentiles: list[float]
    """
    Which percentiles are told.
    """
    planned: list[PlannedItem | None]
    """
    Arrivals planned; null where agents, calls or outcomes are picked out, which no plan knows.
    """
    response: dict[str, list[ResponseItem | None]]
    """
    Response time in µs by percentile (`p50`, `p99_9`) and `max`; null when nothing finished.
    """
    run: str
    """
    Of which run.
    """
    service: dict[str, list[ServiceItem | None]]
    """
    Service time, likewise.
    """
    started: list[StartedItem]
    """
    Arrivals started.
    """
    tick_us: Annotated[int, Field(ge=0)]
    """
    The grain of the log in µs.
    """
    total: SliceTotal
    """
    The whole slice as one.
    """
