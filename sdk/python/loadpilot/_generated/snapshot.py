"""Written by `./dev gen` from proto/schema: never edit it."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict


class Failing(TypedDict):
    """
    Most frequent cause of calls without a complete response so far.
    """

    calls: int
    """
    Number of calls that failed by it.
    """
    cause: Literal[
        "name_not_resolved",
        "no_such_address",
        "refused",
        "reset",
        "broken_pipe",
        "unreachable",
        "system_timeout",
        "denied",
        "no_such_socket",
        "unanswered",
        "truncated",
        "not_http",
        "too_long",
        "http2",
        "stream_reset",
        "gone_away",
        "certificate_untrusted",
        "certificate_expired",
        "certificate_other_name",
        "certificate_invalid",
        "client_certificate",
        "tls_mismatch",
        "tls_alert",
        "not_tls",
        "no_ports",
        "no_fds",
        "no_memory",
        "while_resolving",
        "while_connecting",
        "while_securing",
        "while_waiting_for_a_stream",
        "while_sending",
        "before_first_byte",
        "before_last_byte",
        "other",
        "not_allowed",
        "proxy_credentials",
        "proxy_refused",
        "proxy_no_connection",
        "proxy_protocol",
    ]
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


class FrequentFailure(TypedDict):
    """
    Most frequent reason of errors so far.
    """

    count: int
    """
    Number of errors for this reason.
    """
    why: str
    """
    The reason as text for people: a status, a failed check, a task error, else the cause.
    """


class Gathering(TypedDict):
    """
    Agents of a run that waits for them.
    """

    left_secs: float
    """
    Seconds until the end of the wait, on the reader's clock.
    """
    min: int
    """
    Number of agents that suffice when the wait is over.
    """
    ready: int
    """
    Number of agents that offered capacity.
    """
    want: int
    """
    Number of agents that the run waits for.
    """


class LatencyMs(TypedDict):
    """
    Latencies in ms; null when no call finished.
    """

    max_ms: NotRequired[float | None]
    """
    Maximum in ms.
    """
    mean_ms: NotRequired[float | None]
    """
    Arithmetic mean in ms.
    """
    min_ms: NotRequired[float | None]
    """
    Minimum in ms.
    """
    p50_ms: NotRequired[float | None]
    """
    Median in ms.
    """
    p95_ms: NotRequired[float | None]
    """
    95th percentile in ms.
    """
    p99_ms: NotRequired[float | None]
    """
    99th percentile in ms.
    """


class TaskSnapshot(TypedDict):
    """
    Figures of one task so far.
    """

    errors: int
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
    requests: int
    """
    Number of its ended calls.
    """


class Snapshot(TypedDict):
    """
    Live figures of a run at one instant.
    """

    active_workers: int
    """
    Number of holders that reported recently.
    """
    arrivals_dropped: int
    """
    Number of arrivals dropped so far, as reported.
    """
    arrivals_per_sec: NotRequired[float]
    """
    Started arrivals per second over the newest deltas.
    """
    arrivals_started: int
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
    errors_total: int
    """
    Number of errors so far, as reported: finished calls that were not ok and task errors,
    counted as in a report.
    """
    failing: NotRequired[Failing | None]
    """
    Most frequent cause of calls without a complete response. Absent: every call got one, or no
    cause is known.
    """
    gathering: NotRequired[Gathering | None]
    """
    Number of agents, while the run waits for them.
    """
    in_flight: int
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
    most_frequent_failure: NotRequired[FrequentFailure | None]
    """
    Most frequent reason of errors so far. Absent: no error, or of an older coordinator.
    """
    oldest_ms: float
    """
    Age of the oldest arrival in flight or waiting, as last reported, in ms.
    """
    opened_per_sec: NotRequired[float]
    """
    Connections opened per second over the newest deltas; with https these are handshakes.
    """
    paused: NotRequired[bool]
    """
    Whether the run is paused: nothing starts, and its time continues.
    """
    phase: Literal["waiting", "ramp_up", "steady", "ramp_down", "done"]
    """
    Direction of the offered rate.
    """
    planned_per_sec: NotRequired[float]
    """
    Planned arrivals per second over the same time; 0 in a closed loop.
    """
    queued: NotRequired[str | None]
    """
    Place and reason in words, while the run waits for its admission to a shared fleet.
    """
    raised_without_call: NotRequired[int]
    """
    Number of tasks so far that raised without a call: errors beside `requests_total`.
    """
    requests_total: int
    """
    Number of calls ended so far, as reported.
    """
    reused_pct: NotRequired[float | None]
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
    state: Literal[
        "requested", "waiting", "refused", "gathering", "preparing", "running", "stopping", "sealed"
    ]
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
    waiting: int
    """
    Number of arrivals waiting for a slot, as last reported.
    """
