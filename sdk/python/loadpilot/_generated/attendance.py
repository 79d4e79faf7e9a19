"""Written by `./dev gen` from proto/schema: never edit it."""

from __future__ import annotations

from typing import Annotated
from pydantic import BaseModel, Field, RootModel
from enum import StrEnum


class FromU(RootModel[int]):
    root: Annotated[int, Field(ge=0)]


class BusiestCorePermilleItem(RootModel[int | None]):
    root: Annotated[int | None, Field(ge=0)]


class CpuMillicore(RootModel[int | None]):
    root: Annotated[int | None, Field(ge=0)]


class FinishedItem(RootModel[int]):
    root: Annotated[int, Field(ge=0)]


class InFlightItem(RootModel[int | None]):
    root: Annotated[int | None, Field(ge=0)]


class LagP99U(RootModel[int | None]):
    root: Annotated[int | None, Field(ge=0)]


class StallU(RootModel[int | None]):
    root: Annotated[int | None, Field(ge=0)]


class StartedItem(RootModel[int]):
    root: Annotated[int, Field(ge=0)]


class Holder(BaseModel):
    """
    A process that can hold shards. A new boot of an agent is a new holder.
    """

    agent: str
    """
    Whose process.
    """
    boot_id: str
    """
    Which process.
    """


class LossReason(StrEnum):
    """
    Why a holder no longer holds anything.
    """

    silent = "silent"
    """
    Nothing was heard from it for the lost time.
    """
    replaced = "replaced"
    """
    A new process of the same agent appeared.
    """
    left = "left"
    """
    It said that it leaves.
    """
    failed = "failed"
    """
    It said that it cannot do its shards.
    """
    isolated = "isolated"
    """
    It fenced itself.
    """
    not_ready = "not_ready"
    """
    It was not ready in time.
    """


class TailFacts(BaseModel):
    """
    What a killed process left.
    """

    indeterminate: Annotated[int, Field(ge=0)]
    """
    Its calls that were in flight.
    """
    lost: str | None = None
    """
    Why some of what it counted could not be read; null when all of it could.
    """


class HolderFacts(BaseModel):
    """
    What one process did in the run.
    """

    calls: Annotated[int, Field(ge=0)]
    """
    Calls it ended.
    """
    clock_bound_us: Annotated[int | None, Field(ge=0)] = None
    """
    Its clock's distance from the coordinator's is known to within this many µs.
    """
    deltas: Annotated[int, Field(ge=0)]
    """
    Deltas that were folded.
    """
    finished: bool
    """
    Whether it said its last words.
    """
    holder: Holder
    """
    Who.
    """
    lost: LossReason | None = None
    """
    Why it lost its shards, if it did.
    """
    shards: Annotated[int, Field(ge=0)]
    """
    The most shards it held at once.
    """
    started: Annotated[int, Field(ge=0)]
    """
    Arrivals it started.
    """
    tail: TailFacts | None = None
    """
    What it left when it was killed, as a later process of its agent reported it.
    """


class AgentOverTime(BaseModel):
    """
    One agent. Each list has one value a bucket, null where it reported nothing.
    """

    agent: str
    """
    Its name.
    """
    busiest_core_permille: list[BusiestCorePermilleItem | None]
    """
    The most that a firing thread used, in thousandths of its core.
    """
    cores: Annotated[int | None, Field(ge=0)] = None
    """
    How many cores it offered last.
    """
    cpu_millicores: list[CpuMillicore | None]
    """
    The most CPU time that a process of it used, in thousandths of one core.
    """
    finished: list[FinishedItem]
    """
    Calls finished, by due time.
    """
    holders: list[HolderFacts]
    """
    Its processes that held shards.
    """
    in_flight: list[InFlightItem | None]
    """
    The most arrivals in flight at the end of a tick.
    """
    lag_p99_us: list[LagP99U | None]
    """
    99th percentile of the schedule lag in µs, by due time.
    """
    stall_us: list[StallU | None]
    """
    The longest that a firing thread was late for its own timer, in µs.
    """
    started: list[StartedItem]
    """
    Arrivals started, by due time.
    """
    version: str | None = None
    """
    The version of its program, as it said last.
    """


class Attendance(BaseModel):
    """
    The agents of a run.
    """

    agents: list[AgentOverTime]
    """
    By name.
    """
    bucket_us: Annotated[int, Field(ge=0)]
    """
    The grain of the lists below in µs.
    """
    from_us: list[FromU]
    """
    Where each bucket begins, in µs after the start.
    """
    run: str
    """
    Of which run.
    """
