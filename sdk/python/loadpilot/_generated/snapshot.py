"""Written by `./dev gen` from proto/schema: never edit it."""

from __future__ import annotations

from typing import Annotated
from pydantic import BaseModel, Field
from enum import StrEnum


class Gathering(BaseModel):
    """
    A run that waits for its agents.
    """

    left_secs: float
    """
    Seconds until then, on the reader's clock.
    """
    min: Annotated[int, Field(ge=0)]
    """
    Agents that suffice when the wait is over.
    """
    ready: Annotated[int, Field(ge=0)]
    """
    Agents that offered capacity.
    """
    want: Annotated[int, Field(ge=0)]
    """
    Agents that it waits for.
    """


class LatencyMs(BaseModel):
    """
    Response times in ms, corrected; null when nothing finished.
    """

    max_ms: float | None = None
    mean_ms: float | None = None
    min_ms: float | None = None
    p50_ms: float | None = None
    p95_ms: float | None = None
    p99_ms: float | None = None


class LoadPhase(StrEnum):
    """
    Where the offered rate is heading.
    """

    waiting = "waiting"
    """
    Not started yet.
    """
    ramp_up = "ramp_up"
    """
    The rate rises.
    """
    steady = "steady"
    """
    The rate holds.
    """
    ramp_down = "ramp_down"
    """
    The rate falls.
    """
    done = "done"
    """
    The profile is over.
    """


class RunState(StrEnum):
    """
    Where a run stands.
    """

    requested = "requested"
    """
    Asked for, not decided.
    """
    refused = "refused"
    """
    Refused: nothing was started.
    """
    gathering = "gathering"
    """
    Waiting for agents to offer.
    """
    preparing = "preparing"
    """
    Waiting for holders to be ready.
    """
    running = "running"
    """
    Scheduled or running.
    """
    stopping = "stopping"
    """
    Stopping: in-flight calls finish.
    """
    sealed = "sealed"
    """
    Over; the report is final.
    """


class TaskSnapshot(BaseModel):
    """
    One task so far.
    """

    errors: Annotated[int, Field(ge=0)]
    """
    Those that finished and were not ok.
    """
    latency: LatencyMs
    """
    Their response time.
    """
    name: str
    """
    Its name.
    """
    requests: Annotated[int, Field(ge=0)]
    """
    Its ended calls.
    """


class Snapshot(BaseModel):
    """
    The run as of one instant.
    """

    active_workers: Annotated[int, Field(ge=0)]
    """
    Holders that reported lately.
    """
    arrivals_dropped: Annotated[int, Field(ge=0)]
    """
    Arrivals dropped so far, as reported.
    """
    arrivals_started: Annotated[int, Field(ge=0)]
    """
    Arrivals started so far, as reported.
    """
    current_rps: float
    """
    Finished calls per second over the newest deltas.
    """
    duration_secs: float
    """
    Length of the profile in seconds.
    """
    elapsed_secs: float
    """
    Seconds since the start; 0 before it.
    """
    errors_total: Annotated[int, Field(ge=0)]
    """
    Finished calls that were not ok so far, as reported.
    """
    gathering: Gathering | None = None
    """
    While it waits for agents: how many there are.
    """
    in_flight: Annotated[int, Field(ge=0)]
    """
    Arrivals in flight, as last reported.
    """
    latency: LatencyMs
    """
    Response time of what finished in the newest delta of each agent.
    """
    latency_cumulative: LatencyMs
    """
    Response time of everything that has finished so far.
    """
    oldest_ms: float
    """
    Age of the oldest arrival in flight or waiting, as last reported, in ms.
    """
    opened_per_sec: float = 0.0
    """
    Connections opened per second over the newest deltas; with https these are handshakes.
    """
    paused: bool | None = None
    """
    Whether it is paused: nothing is started, and its time goes on.
    """
    phase: LoadPhase
    """
    Where the offered rate is heading.
    """
    requests_total: Annotated[int, Field(ge=0)]
    """
    Calls ended so far, as reported.
    """
    reused_pct: float | None = None
    """
    Calls of the newest deltas that used an open connection, in percent of those that got one;
    null when none did.
    """
    state: RunState
    """
    Where the run stands.
    """
    target_rps: float
    """
    The planned rate at this instant, arrivals per second.
    """
    tasks: list[TaskSnapshot]
    """
    Per task, everything so far.
    """
    timestamp_secs: float
    """
    The instant, in seconds since the Unix epoch, on the reader's clock.
    """
    waiting: Annotated[int, Field(ge=0)]
    """
    Arrivals waiting for a slot, as last reported.
    """
