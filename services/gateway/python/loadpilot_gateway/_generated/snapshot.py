"""Written by `./dev gen` from proto/schema: never edit it."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated
from pydantic import BaseModel, Field


class Cause(StrEnum):
    """
    Why a call got no complete response.
    """

    name_not_resolved = "name_not_resolved"
    """
    The target's name was not resolved.
    """
    no_such_address = "no_such_address"
    """
    The target has no address of the required family.
    """
    refused = "refused"
    """
    No process listens, or the listener's queue is full (ECONNREFUSED).
    """
    reset = "reset"
    """
    The peer reset the connection (ECONNRESET, ECONNABORTED).
    """
    broken_pipe = "broken_pipe"
    """
    The agent wrote to a connection that the peer had closed (EPIPE).
    """
    unreachable = "unreachable"
    """
    No route to the target (ENETUNREACH, EHOSTUNREACH, ENETDOWN, EHOSTDOWN).
    """
    system_timeout = "system_timeout"
    """
    The peer acknowledged nothing and the system gave up (ETIMEDOUT).
    """
    denied = "denied"
    """
    The system or a firewall denies the connection (EACCES, EPERM).
    """
    no_such_socket = "no_such_socket"
    """
    No socket at the path (ENOENT).
    """
    unanswered = "unanswered"
    """
    The peer closed the connection before the first byte of a response.
    """
    truncated = "truncated"
    """
    The peer closed the connection inside a response.
    """
    not_http = "not_http"
    """
    The response was not HTTP.
    """
    too_long = "too_long"
    """
    A response head, trailers or a chunk line exceeds its limit.
    """
    http2 = "http2"
    """
    The peer violated HTTP/2, or reports that the agent did.
    """
    stream_reset = "stream_reset"
    """
    The peer reset the HTTP/2 stream.
    """
    gone_away = "gone_away"
    """
    The peer closed the HTTP/2 connection in an orderly way before the response (GOAWAY).
    """
    certificate_untrusted = "certificate_untrusted"
    """
    No trusted authority signed the certificate.
    """
    certificate_expired = "certificate_expired"
    """
    The certificate has expired or is not valid yet.
    """
    certificate_other_name = "certificate_other_name"
    """
    The certificate is for another name.
    """
    certificate_invalid = "certificate_invalid"
    """
    The certificate is invalid for another reason.
    """
    client_certificate = "client_certificate"
    """
    The target requires a client certificate, or another one.
    """
    tls_mismatch = "tls_mismatch"
    """
    No TLS version, cipher or protocol in common.
    """
    tls_alert = "tls_alert"
    """
    The target ended TLS with another alert.
    """
    not_tls = "not_tls"
    """
    The peer's bytes were not TLS.
    """
    no_ports = "no_ports"
    """
    No local port left (EADDRNOTAVAIL, EADDRINUSE).
    """
    no_fds = "no_fds"
    """
    No file descriptor left (EMFILE, ENFILE).
    """
    no_memory = "no_memory"
    """
    No memory left (ENOMEM, ENOBUFS).
    """
    while_resolving = "while_resolving"
    """
    Cut off during the resolution of the name.
    """
    while_connecting = "while_connecting"
    """
    Cut off during the connect.
    """
    while_securing = "while_securing"
    """
    Cut off during the TLS handshake.
    """
    while_waiting_for_a_stream = "while_waiting_for_a_stream"
    """
    Cut off while the call waited for an HTTP/2 stream.
    """
    while_sending = "while_sending"
    """
    Cut off while the request was written.
    """
    before_first_byte = "before_first_byte"
    """
    Cut off before the first byte of the response.
    """
    before_last_byte = "before_last_byte"
    """
    Cut off before the last byte of the response.
    """
    other = "other"
    """
    Another cause; the agent's log names it (`RUST_LOG=loadpilot_agent=debug`).
    """
    not_allowed = "not_allowed"
    """
    The agent may not connect there (`--allow-target`).
    """
    proxy_credentials = "proxy_credentials"
    """
    The proxy requires credentials, or others.
    """
    proxy_refused = "proxy_refused"
    """
    The proxy refuses to connect to the target.
    """
    proxy_no_connection = "proxy_no_connection"
    """
    The proxy did not reach the target.
    """
    proxy_protocol = "proxy_protocol"
    """
    The proxy closed the connection, or its answer was none of its protocol.
    """


class Failing(BaseModel):
    """
    Most frequent cause of calls without a complete response so far.
    """

    calls: Annotated[int, Field(ge=0)]
    """
    Number of calls that failed by it.
    """
    cause: Cause
    """
    The cause.
    """
    unreached: bool
    """
    Whether no call has reached a server so far.
    """
    why: str
    """
    The cause as text for people.
    """


class FrequentFailure(BaseModel):
    """
    Most frequent reason of errors so far.
    """

    count: Annotated[int, Field(ge=0)]
    """
    Number of errors for this reason.
    """
    why: str
    """
    The reason as text for people: a status, a failed check, a task error, else the cause.
    """


class Gathering(BaseModel):
    """
    Agents of a run that waits for them.
    """

    left_secs: float
    """
    Seconds until the end of the wait, on the reader's clock.
    """
    min: Annotated[int, Field(ge=0)]
    """
    Number of agents that suffice when the wait is over.
    """
    ready: Annotated[int, Field(ge=0)]
    """
    Number of agents that offered capacity.
    """
    want: Annotated[int, Field(ge=0)]
    """
    Number of agents that the run waits for.
    """


class LatencyMs(BaseModel):
    """
    Latencies in ms; null when no call finished.
    """

    max_ms: float | None = None
    """
    Maximum in ms.
    """
    mean_ms: float | None = None
    """
    Arithmetic mean in ms.
    """
    min_ms: float | None = None
    """
    Minimum in ms.
    """
    p50_ms: float | None = None
    """
    Median in ms.
    """
    p95_ms: float | None = None
    """
    95th percentile in ms.
    """
    p99_ms: float | None = None
    """
    99th percentile in ms.
    """


class LoadPhase(StrEnum):
    """
    Direction of the offered rate.
    """

    waiting = "waiting"
    """
    The run has not started.
    """
    ramp_up = "ramp_up"
    """
    The rate rises.
    """
    steady = "steady"
    """
    The rate is constant.
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
    State of a run.
    """

    requested = "requested"
    """
    Requested, and not decided.
    """
    waiting = "waiting"
    """
    Waiting until the shared fleet admits it.
    """
    refused = "refused"
    """
    Refused: nothing was started.
    """
    gathering = "gathering"
    """
    Waiting for agents to offer capacity.
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
    Stopping: calls in flight finish.
    """
    sealed = "sealed"
    """
    Over; the report is final.
    """


class TaskSnapshot(BaseModel):
    """
    Figures of one task so far.
    """

    errors: Annotated[int, Field(ge=0)]
    """
    Number of its errors, counted as in a report.
    """
    latency: LatencyMs
    """
    Response time of its calls.
    """
    name: str
    """
    Name of the task.
    """
    requests: Annotated[int, Field(ge=0)]
    """
    Number of its ended calls.
    """


class Snapshot(BaseModel):
    """
    Live figures of a run at one instant.
    """

    active_workers: Annotated[int, Field(ge=0)]
    """
    Number of holders that reported recently.
    """
    arrivals_dropped: Annotated[int, Field(ge=0)]
    """
    Number of arrivals dropped so far, as reported.
    """
    arrivals_per_sec: float = 0.0
    """
    Started arrivals per second over the newest deltas.
    """
    arrivals_started: Annotated[int, Field(ge=0)]
    """
    Number of arrivals started so far, as reported.
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
    Number of errors so far, as reported: finished calls that were not ok and task errors,
    counted as in a report.
    """
    failing: Failing | None = None
    """
    Most frequent cause of calls without a complete response. Absent: every call got one, or no
    cause is known.
    """
    gathering: Gathering | None = None
    """
    Number of agents, while the run waits for them.
    """
    in_flight: Annotated[int, Field(ge=0)]
    """
    Number of arrivals in flight, as last reported.
    """
    latency: LatencyMs
    """
    Response time of what finished in the newest delta of each agent.
    """
    latency_cumulative: LatencyMs
    """
    Response time of everything that has finished so far.
    """
    most_frequent_failure: FrequentFailure | None = None
    """
    Most frequent reason of errors so far. Absent: no error, or of an older coordinator.
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
    Whether the run is paused: nothing starts, and its time continues.
    """
    phase: LoadPhase
    """
    Direction of the offered rate.
    """
    planned_per_sec: float = 0.0
    """
    Planned arrivals per second over the same time; 0 in a closed loop.
    """
    queued: str | None = None
    """
    Place and reason in words, while the run waits for its admission to a shared fleet.
    """
    raised_without_call: Annotated[int | None, Field(ge=0)] = None
    """
    Number of tasks so far that raised without a call: errors beside `requests_total`.
    """
    requests_total: Annotated[int, Field(ge=0)]
    """
    Number of calls ended so far, as reported.
    """
    reused_pct: float | None = None
    """
    Calls of the newest deltas on a connection that was already open, in percent of those with a
    connection; null without any.
    """
    service: LatencyMs
    """
    Service time of what finished in the newest delta of each agent.
    """
    service_cumulative: LatencyMs
    """
    Service time of everything that has finished so far.
    """
    state: RunState
    """
    State of the run.
    """
    target_rps: float
    """
    Planned rate at this instant, in arrivals per second.
    """
    tasks: list[TaskSnapshot]
    """
    Figures of each task so far.
    """
    timestamp_secs: float
    """
    The instant, in seconds since the Unix epoch, on the reader's clock.
    """
    waiting: Annotated[int, Field(ge=0)]
    """
    Number of arrivals waiting for a slot, as last reported.
    """
