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
    Process that can hold shards. A new boot of an agent is a new holder.
    """

    agent: str
    """
    Agent of the process.
    """
    boot_id: str
    """
    Process of the agent.
    """


class LossReason(StrEnum):
    """
    Why a holder lost its shards.
    """

    silent = "silent"
    """
    No heartbeat arrived for longer than the lost time.
    """
    replaced = "replaced"
    """
    A new process of the same agent appeared.
    """
    left = "left"
    """
    The agent announced that it leaves.
    """
    failed = "failed"
    """
    The agent reported that it cannot perform its shards.
    """
    isolated = "isolated"
    """
    The agent fenced itself.
    """
    not_ready = "not_ready"
    """
    The agent was not ready in time.
    """


class TailFacts(BaseModel):
    """
    Tail of a killed process.
    """

    indeterminate: Annotated[int, Field(ge=0)]
    """
    Number of its calls that were in flight.
    """
    lost: str | None = None
    """
    Why some of its counts could not be read; null when all could.
    """


class HolderFacts(BaseModel):
    """
    Work of one process in the run.
    """

    calls: Annotated[int, Field(ge=0)]
    """
    Number of calls ended.
    """
    clock_bound_us: Annotated[int | None, Field(ge=0)] = None
    """
    Maximum error of its clock's offset from the coordinator's, in µs.
    """
    deltas: Annotated[int, Field(ge=0)]
    """
    Number of its deltas that were folded.
    """
    development: bool | None = None
    """
    Whether it is a development build, which runs slower than a release.
    """
    finished: bool
    """
    Whether it reported its final count.
    """
    holder: Holder
    """
    The process.
    """
    lost: LossReason | None = None
    """
    Why it lost its shards. Null: it did not.
    """
    shards: Annotated[int, Field(ge=0)]
    """
    Maximum number of shards that it held at once.
    """
    started: Annotated[int, Field(ge=0)]
    """
    Number of arrivals started.
    """
    tail: TailFacts | None = None
    """
    Tail of a killed process, reported by a later process of its agent.
    """


class AgentOverTime(BaseModel):
    """
    One agent over time. Each list has one value per bucket, null where the agent reported nothing.
    """

    agent: str
    """
    Name of the agent.
    """
    busiest_core_permille: list[BusiestCorePermilleItem | None]
    """
    Maximum CPU use of a firing thread, in thousandths of its core.
    """
    cores: Annotated[int | None, Field(ge=0)] = None
    """
    Number of cores that it last offered.
    """
    cpu_millicores: list[CpuMillicore | None]
    """
    Maximum CPU use of one of its processes, in thousandths of one core.
    """
    finished: list[FinishedItem]
    """
    Number of calls finished, by due time.
    """
    holders: list[HolderFacts]
    """
    Its processes that held shards.
    """
    in_flight: list[InFlightItem | None]
    """
    Maximum number of arrivals in flight at the end of a tick.
    """
    lag_p99_us: list[LagP99U | None]
    """
    99th percentile of the schedule lag in µs, by due time.
    """
    stall_us: list[StallU | None]
    """
    Longest delay of a firing thread behind its own timer, in µs.
    """
    started: list[StartedItem]
    """
    Number of arrivals started, by due time.
    """
    version: str | None = None
    """
    Version of its build, as last reported.
    """


class Attendance(BaseModel):
    """
    Agents of a run over time.
    """

    agents: list[AgentOverTime]
    """
    Agents, by name.
    """
    bucket_us: Annotated[int, Field(ge=0)]
    """
    Length of a bucket in µs.
    """
    from_us: list[FromU]
    """
    Begin of each bucket, in µs after the start.
    """
    run: str
    """
    Id of the run.
    """
