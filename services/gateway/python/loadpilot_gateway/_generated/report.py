"""Written by `./dev gen` from proto/schema: never edit it."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, RootModel, StringConstraints
from typing import Annotated, Literal
from typing_extensions import TypeAliasType
from enum import StrEnum


DroppedAdditionalProperty = TypeAliasType("DroppedAdditionalProperty", Annotated[int, Field(ge=0)])


class Breach(BaseModel):
    """
    A gate that failed while the run went on.
    """

    actual: float
    """
    Figure of the run at that time, in the unit of the key.
    """
    key: str
    """
    Key of the gate, such as `p99_ms` or `browse:p99_ms`.
    """
    limit: float
    """
    Limit of the gate, in the unit of the key.
    """


class Bytes(BaseModel):
    """
    Bytes transferred.
    """

    received: Annotated[int, Field(ge=0)]
    """
    Bytes read, headers included where the HTTP engine sees them.
    """
    received_per_sec: float
    """
    Bytes read per second of the measured time.
    """
    sent: Annotated[int, Field(ge=0)]
    """
    Bytes written, headers included.
    """
    sent_per_sec: float
    """
    Bytes written per second of the measured time.
    """


CausesAdditionalProperty = TypeAliasType("CausesAdditionalProperty", Annotated[int, Field(ge=0)])


OutcomesAdditionalProperty = TypeAliasType(
    "OutcomesAdditionalProperty", Annotated[int, Field(ge=0)]
)


class CallCounts(BaseModel):
    """
    Calls: `attempted = Σ outcomes`.
    """

    attempted: Annotated[int, Field(ge=0)]
    """
    Number of calls dispatched.
    """
    causes: dict[str, dict[str, CausesAdditionalProperty]] | None = None
    """
    Number of calls without a complete response, by outcome and cause.
    """
    in_flight: Annotated[int, Field(ge=0)]
    """
    Number of calls in flight in an unfinished run; 0 once sealed.
    """
    outcomes: dict[str, OutcomesAdditionalProperty]
    """
    Number of calls by outcome.
    """


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


class Change2(BaseModel):
    """
    The run was paused.
    """

    type: Literal["paused"]


class Change3(BaseModel):
    """
    The run was resumed.
    """

    type: Literal["resumed"]


class Checks(BaseModel):
    """
    Number of checks that examined a response.
    """

    failed: Annotated[int, Field(ge=0)]
    """
    Number of checks that failed.
    """
    passed: Annotated[int, Field(ge=0)]
    """
    Number of checks that passed.
    """


class CounterReport(BaseModel):
    """
    One counter.
    """

    count: float
    """
    Sum of the amounts added, each to a millionth.
    """
    rate: float
    """
    Sum per second of the measured time.
    """


class Ending(StrEnum):
    """
    How a run ended.
    """

    completed = "completed"
    """
    The run offered its whole profile.
    """
    stopped = "stopped"
    """
    A user stopped the run.
    """
    abandoned = "abandoned"
    """
    The owner or all agents of the run were gone.
    """
    failed = "failed"
    """
    The run was created and never started.
    """
    aborted = "aborted"
    """
    A later local stack found the run unfinished.
    """
    log_full = "log_full"
    """
    The log had no room left.
    """


class FailureCause(StrEnum):
    """
    Why a holder cannot continue.
    """

    not_prepared = "not_prepared"
    """
    The preparation failed: secrets, requests or threads.
    """
    scenario = "scenario"
    """
    The Python scenario cannot be loaded, or the preparation of its users failed.
    """
    broken = "broken"
    """
    Its firing threads failed.
    """
    log_full = "log_full"
    """
    The log stores no more deltas: the run must end, on every agent.
    """
    log_refuses = "log_refuses"
    """
    The log refuses a delta for another reason.
    """


class FeedFacts(BaseModel):
    """
    Use of a feed in a run.
    """

    cycles: bool
    """
    Whether rows may be used again when there are no more.
    """
    name: str
    """
    Name in the scenario.
    """
    rows: Annotated[int, Field(ge=0)]
    """
    Number of rows.
    """
    stops: bool | None = None
    """
    Whether the run ends where a row after the last would be taken.
    """
    taken: Annotated[int, Field(ge=0)]
    """
    Number of planned arrivals that take a row, up to a stop; in a closed loop of arrivals that
    took one. Number of users, if that is greater.
    """
    unique: bool | None = None
    """
    Whether no row may be used twice.
    """


class FindingKind(StrEnum):
    """
    Subject of a finding.
    """

    schedule_lag = "schedule_lag"
    """
    The load generator reached arrivals late.
    """
    generator_drops = "generator_drops"
    """
    The load generator dropped arrivals.
    """
    agent_cpu = "agent_cpu"
    """
    The processor of an agent was the limit.
    """
    lost_interval = "lost_interval"
    """
    Some arrivals were not reported.
    """
    excess = "excess"
    """
    A superseded holder offered arrivals.
    """
    local_resources = "local_resources"
    """
    The load generator ran out of ports or file descriptors.
    """
    clock_bound = "clock_bound"
    """
    The offsets of clocks are not known precisely enough.
    """
    unfinished = "unfinished"
    """
    The run is not sealed, or neither its profile nor its user ended it.
    """
    quarantined = "quarantined"
    """
    Events or deltas were unreadable or contradicted the log.
    """
    coverage = "coverage"
    """
    Some calls of started arrivals did not end by themselves.
    """
    feeder_wrap_around = "feeder_wrap_around"
    """
    Feed rows were used again without permission (`cycles`).
    """


class Grade(StrEnum):
    """
    Whether the figures of a run can be trusted.
    """

    VALID = "VALID"
    """
    The figures describe the target.
    """
    DEGRADED = "DEGRADED"
    """
    The figures are usable, with the findings in mind.
    """
    INVALID = "INVALID"
    """
    The figures describe the load generator or the gaps more than the target.
    """


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


class Http(StrEnum):
    """
    Version of HTTP.
    """

    field_1_1 = "1.1"
    """
    HTTP/1.1.
    """
    field_2 = "2"
    """
    HTTP/2: by ALPN over TLS, by prior knowledge without TLS.
    """
    auto = "auto"
    """
    The target's choice by ALPN; HTTP/1.1 without TLS.
    """


class IpFamily(StrEnum):
    """
    Address family.
    """

    field_4 = "4"
    """
    IPv4.
    """
    field_6 = "6"
    """
    IPv6.
    """


class Knee(BaseModel):
    """
    Where the target stopped holding the load.
    """

    broke: Annotated[int, Field(ge=0)]
    """
    Index in `levels` of the lowest level that did not hold.
    """
    held: Annotated[int, Field(ge=0)]
    """
    Index in `levels` of the highest level below the break; every lower one held as well.
    """


class KneePoint(BaseModel):
    """
    The knee in one object: the highest level that held the load.
    """

    error_rate_pct: float | None = None
    """
    Its errors in percent of finished calls; null without any.
    """
    max_rps: float
    """
    Highest rate of a level by the plan, in arrivals per second.
    """
    p99_ms: float | None = None
    """
    Its 99th percentile of the response time in ms; null when no call finished.
    """
    rps: float
    """
    Its rate by the plan, in arrivals per second.
    """
    step: Annotated[int, Field(ge=0)]
    """
    Number of the level in the order of time, from 1.
    """
    total_steps: Annotated[int, Field(ge=0)]
    """
    Number of levels that the run reached.
    """


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


class LevelLatency(BaseModel):
    """
    Percentiles of a level, of the merged histograms of its ticks.
    """

    p50_us: Annotated[int, Field(ge=0)]
    """
    Median, in µs.
    """
    p99_us: Annotated[int, Field(ge=0)]
    """
    99th percentile, in µs.
    """


class LevelLimit(StrEnum):
    """
    A limit that a level has to hold.
    """

    achieved = "achieved"
    """
    At least 95 % of the planned arrivals started.
    """
    latency = "latency"
    """
    A call finished, and the corrected p99 is at most 3 times that of the lowest level or less
    than 10 ms above it.
    """
    errors = "errors"
    """
    The error rate is at most 1 percentage point above that of the lowest level.
    """


class LoadLevel(BaseModel):
    """
    One level: the arrivals due in its whole ticks, without warm-up.
    """

    achieved_rps: float
    """
    Started arrivals per second.
    """
    error_rate_pct: float | None = None
    """
    Errors in percent of `finished`; null without any.
    """
    errors: Annotated[int, Field(ge=0)]
    """
    Number of errors, counted as in `errors_total`.
    """
    exceeded: list[LevelLimit]
    """
    Limits that the level did not hold. Empty: it held the load.
    """
    finished: Annotated[int, Field(ge=0)]
    """
    Number of finished calls, and of tasks that raised without a call.
    """
    from_us: Annotated[int, Field(ge=0)]
    """
    Begin of its first whole tick, in µs after the start.
    """
    planned: Annotated[int, Field(ge=0)]
    """
    Number of arrivals planned.
    """
    planned_rps: float
    """
    Planned arrivals per second.
    """
    rate_rps: float
    """
    Rate by the plan, in arrivals per second.
    """
    response: LevelLatency | None = None
    """
    Response times, corrected; null when no call finished.
    """
    service: LevelLatency | None = None
    """
    Service times, uncorrected; null when no call finished.
    """
    started: Annotated[int, Field(ge=0)]
    """
    Number of those that started.
    """
    to_us: Annotated[int, Field(ge=0)]
    """
    End of its last whole tick, in µs after the start.
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


class LostInterval(BaseModel):
    """
    Arrivals that a holder did not report.
    """

    arrivals: Annotated[int, Field(ge=0)]
    """
    Number of arrivals; in a closed loop those of its later totals, possibly 0.
    """
    from_tick: Annotated[int, Field(ge=0)]
    """
    First due tick.
    """
    holder: Holder
    """
    Process that held them.
    """
    to_tick: Annotated[int, Field(ge=0)]
    """
    Last due tick, inclusive.
    """


class Metric(StrEnum):
    """
    What a threshold measures. Latencies are corrected (counted from due) and cover every finished
    call outside the warm-up, failures and timeouts included.
    """

    p50_ms = "p50_ms"
    """
    Median response time in ms.
    """
    p75_ms = "p75_ms"
    """
    75th percentile of the response time in ms.
    """
    p90_ms = "p90_ms"
    """
    90th percentile of the response time in ms.
    """
    p95_ms = "p95_ms"
    """
    95th percentile of the response time in ms.
    """
    p99_ms = "p99_ms"
    """
    99th percentile of the response time in ms.
    """
    p99_9_ms = "p99_9_ms"
    """
    99.9th percentile of the response time in ms.
    """
    p99_99_ms = "p99_99_ms"
    """
    99.99th percentile of the response time in ms.
    """
    max_ms = "max_ms"
    """
    Longest response time in ms.
    """
    mean_ms = "mean_ms"
    """
    Arithmetic mean of the response time in ms.
    """
    p50_first_token_ms = "p50_first_token_ms"
    """
    Median time from due to the first token of a streamed response, in ms.
    """
    p95_first_token_ms = "p95_first_token_ms"
    """
    95th percentile of the time from due to the first token, in ms.
    """
    p99_first_token_ms = "p99_first_token_ms"
    """
    99th percentile of the time from due to the first token, in ms.
    """
    p50_token_gap_ms = "p50_token_gap_ms"
    """
    Median time from one token of a streamed response to the next, in ms.
    """
    p95_token_gap_ms = "p95_token_gap_ms"
    """
    95th percentile of the time from one token to the next, in ms.
    """
    p99_token_gap_ms = "p99_token_gap_ms"
    """
    99th percentile of the time from one token to the next, in ms.
    """
    error_rate = "error_rate"
    """
    Percentage of finished calls that were not ok. The last call of a task that raised counts as
    not ok; a task that raised without a call adds one such call.
    """
    task_errors = "task_errors"
    """
    Number of arrivals whose task raised an error.
    """
    dropped_rate = "dropped_rate"
    """
    Percentage of planned arrivals that were dropped, for any reason.
    """
    shortfall = "shortfall"
    """
    Percentage by which started arrivals fell short of planned ones.
    """
    achieved_rps = "achieved_rps"
    """
    Started arrivals per second: more is better.
    """
    checks = "checks"
    """
    Percentage of checks that passed, of those that examined a response: more is better.
    """
    own = "own"
    """
    Figure of an own metric, named by [`Threshold::own`].
    """


class NoKnee(StrEnum):
    """
    Why a load curve has no knee.
    """

    few_levels = "few_levels"
    """
    The run reached fewer than three different rates.
    """
    all_held = "all_held"
    """
    Every level held.
    """
    lowest_broke = "lowest_broke"
    """
    The lowest level did not hold.
    """
    steered = "steered"
    """
    The rate was changed or paused during the run: its levels are not those of the plan.
    """


class OmissionOrigin(StrEnum):
    """
    Origin of the difference between corrected and uncorrected.
    """

    negligible = "negligible"
    """
    The difference is too small to matter.
    """
    generator = "generator"
    """
    The load generator: most of the time was schedule lag.
    """
    target = "target"
    """
    The target: calls waited for a slot because earlier calls had no response yet. Only this is
    coordinated omission.
    """


class Operator(StrEnum):
    """
    Which side of the limit passes.
    """

    field__ = "<="
    """
    The measured value does not exceed the limit.
    """
    field___1 = ">="
    """
    The measured value reaches the limit.
    """
    field_ = "<"
    """
    The measured value is less than the limit.
    """
    field__1 = ">"
    """
    The measured value is more than the limit.
    """


class Outcome(StrEnum):
    """
    How one call ended. A transport error takes precedence over a check, a check over a status.
    """

    ok = "ok"
    """
    Status below 400, or a check passed.
    """
    http_4xx = "http_4xx"
    """
    Status 400–499.
    """
    http_5xx = "http_5xx"
    """
    Status 500 or above.
    """
    check_failed = "check_failed"
    """
    A check of the scenario rejected the response.
    """
    connect = "connect"
    """
    No connection: refused, unreachable, name not found.
    """
    tls = "tls"
    """
    The TLS handshake failed.
    """
    timeout = "timeout"
    """
    No complete response within the timeout, counted from dispatch.
    """
    io = "io"
    """
    The connection broke or the response was not HTTP.
    """
    local = "local"
    """
    The load generator lacked ports, file descriptors or memory: not the target's fault.
    """
    cancelled = "cancelled"
    """
    Cut off by the end of the run or by an abort.
    """
    indeterminate = "indeterminate"
    """
    Sent, and the agent died before the end of the call.
    """


class Piece1(RootModel[int]):
    root: Annotated[int, Field(ge=0)]
    """
    One shard.
    """


class Piece2Item(RootModel[int]):
    root: Annotated[int, Field(ge=0)]


class Piece2(RootModel[tuple[Piece2Item, Piece2Item, Piece2Item]]):
    root: Annotated[tuple[Piece2Item, Piece2Item, Piece2Item], Field(max_length=3, min_length=3)]
    """
    Stride `[first, step, count]`: the `count` shards first, first + step, …
    """


class Problem(BaseModel):
    """
    One problem in a user's input.
    """

    field: str
    """
    Path of the field, such as `tasks[0].steps[1].method`.
    """
    rule: str
    """
    Rule that the field violates, as a sentence without a subject ("must be …").
    """
    value: str
    """
    Value of the field, cut at [`crate::limits::PROBLEM_VALUE_CHARS_MAX`] characters.
    """


class Proxy(BaseModel):
    """
    A proxy between agents and target.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    credentials_secret: str | None = None
    """
    Handle of `user:password`, a secret that the submitter provides. Absent: no credentials.
    """
    url: str
    """
    `http://host:port` (CONNECT) or `socks5://host:port`, without user. The proxy resolves the
    target's name.
    """


class Quarantined(BaseModel):
    """
    Stored event that was set aside.
    """

    reason: str
    """
    Why it was set aside.
    """
    seq: Annotated[int, Field(ge=0)]
    """
    Stream sequence of the event.
    """
    subject: str
    """
    Subject of the event.
    """


class RaisedBy(StrEnum):
    """
    Part of a Python scenario that raised an error, or another remark about it.
    """

    check = "check"
    """
    `check_…`: the call that it examined counts as `check_failed`.
    """
    task = "task"
    """
    The task itself: its arrival counts as a task error.
    """
    blocking = "blocking"
    """
    No error: the task blocked every user of its agent.
    """


class RateReport(BaseModel):
    """
    One rate metric.
    """

    count: Annotated[int, Field(ge=0)]
    """
    Number of values; at least 1.
    """
    rate: float
    """
    Share of true values, in percent.
    """
    trues: Annotated[int, Field(ge=0)]
    """
    Number of true values.
    """


class Rates(BaseModel):
    """
    Offered against planned arrivals, in the measured time.
    """

    achieved_rps: float
    """
    Started arrivals per second.
    """
    measured_us: Annotated[int, Field(ge=0)]
    """
    Length of the measured time in µs.
    """
    planned: Annotated[int, Field(ge=0)]
    """
    Number of arrivals planned; of a closed loop reported.
    """
    planned_rps: float
    """
    Planned arrivals per second.
    """
    shortfall_pct: float
    """
    Share of planned arrivals that did not start, in percent.
    """
    started: Annotated[int, Field(ge=0)]
    """
    Number of those that started.
    """


class ReportSchema(StrEnum):
    """
    Version of the report format.
    """

    loadpilot_report_1 = "loadpilot.report/1"
    """
    The first version.
    """


class Wait(BaseModel):
    model_config = ConfigDict(
        extra="forbid",
    )
    from_us: Annotated[int, Field(ge=0)]
    """
    Minimum, in µs.
    """
    to_us: Annotated[int, Field(ge=0)]
    """
    Maximum, in µs.
    """


class Rest1(BaseModel):
    """
    Think time after each task, drawn from a uniform distribution by the seed.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    wait: Wait


class Exponential(BaseModel):
    model_config = ConfigDict(
        extra="forbid",
    )
    median_us: Annotated[int, Field(ge=0)]
    """
    Median, in µs; the mean is 1/ln 2 = 1.4427 times as long.
    """


class Rest2(BaseModel):
    """
    Think time after each task, drawn from an exponential distribution by the seed; a day at
    most. From the second version of the format.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    exponential: Exponential


class Lognormal(BaseModel):
    model_config = ConfigDict(
        extra="forbid",
    )
    median_us: Annotated[int, Field(ge=0)]
    """
    Median, in µs.
    """
    p99_us: Annotated[int, Field(ge=0)]
    """
    99th percentile, in µs; above the median.
    """


class Rest3(BaseModel):
    """
    Think time after each task, drawn from a lognormal distribution by the seed; a day at most.
    From the second version of the format.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    lognormal: Lognormal


class Pacing(BaseModel):
    model_config = ConfigDict(
        extra="forbid",
    )
    every_us: Annotated[int, Field(ge=0)]
    """
    Interval, in µs.
    """


class Rest4(BaseModel):
    """
    Fixed time between the starts of two tasks; a task that took longer is followed at once.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    pacing: Pacing


class Reuse1(BaseModel):
    """
    This share of the calls, in millionths; the seed selects them.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    share_ppm: Annotated[int, Field(ge=0)]


class RowsUsedUp(BaseModel):
    """
    End of a run before the end of its profile, as its plan says: a feed had no row left.
    """

    at_us: Annotated[int, Field(ge=0)]
    """
    End of the run, in µs after the start: an arrival that had no row would have been due then.
    """
    feed: str
    """
    Name of the feed.
    """
    profile_us: Annotated[int, Field(ge=0)]
    """
    Length of the profile in µs.
    """
    rows: Annotated[int, Field(ge=0)]
    """
    Number of its rows, each of which one planned arrival took.
    """


class Rules(StrEnum):
    """
    Version of the rules for figures and verdict of a run. Later versions are greater.
    """

    field_1 = "1"
    """
    The first rules: those of every log without a version.
    """
    field_2 = "2"
    """
    A task that raised is an error, a run that offered less than 95 % of its plan fails, and
    rows that contradict a holder's own totals are set aside.
    """
    field_3 = "3"
    """
    The target is not the reason of a run that started no arrival.
    """
    field_4 = "4"
    """
    Neither is it the reason of arrivals that were lost. A late load generator degrades a closed
    loop, whose latency includes the delay.
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


class SessionCounts(BaseModel):
    """
    Sessions in the places of a closed loop, as the target sees them: after the loss of an agent the
    rest of a session counts as one of its own.
    """

    ended: Annotated[int, Field(ge=0)]
    """
    Number of sessions that were over when the next one of their place began.
    """
    started: Annotated[int, Field(ge=0)]
    """
    Number of sessions that began.
    """


class Between(BaseModel):
    model_config = ConfigDict(
        extra="forbid",
    )
    from_us: Annotated[int, Field(ge=0)]
    """
    Minimum, in µs.
    """
    to_us: Annotated[int, Field(ge=0)]
    """
    Maximum, in µs.
    """


class SessionLength1(BaseModel):
    """
    Of a uniform distribution; constant where both ends are equal.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    between: Between


class SessionLength2(BaseModel):
    """
    Of an exponential distribution.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    exponential: Exponential


class SessionLength3(BaseModel):
    """
    Of a lognormal distribution.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    lognormal: Lognormal


class Shape(StrEnum):
    """
    Named shape of a profile.
    """

    ramp = "ramp"
    """
    Linear from 0 to the rate, then steady.
    """
    constant = "constant"
    """
    The full rate from the start.
    """
    step = "step"
    """
    Windows of equal length and rising rate.
    """
    spike = "spike"
    """
    Thirds at 20 %, 100 % and 20 % of the rate.
    """
    stages = "stages"
    """
    Any list of stages.
    """
    closed = "closed"
    """
    No rate: the users of a closed loop set the pace.
    """
    replay = "replay"
    """
    The arrivals of a recorded load, second by second. From the second version of the format.
    """
    burst = "burst"
    """
    A baseline, a burst at the full rate, the baseline again. From the second version.
    """
    sine = "sine"
    """
    Waves between a baseline and the full rate, as short lines. From the second version.
    """


class StreamReport(BaseModel):
    """
    Streamed responses, in the measured time.
    """

    first_token: Ladder | None = None
    """
    Time from due to the first token, corrected.
    """
    first_token_service: Ladder | None = None
    """
    Time from dispatch to the first token, uncorrected.
    """
    token_gap: Ladder | None = None
    """
    Time from one token to the next; null when no response had two.
    """
    tokens: Annotated[int, Field(ge=0)]
    """
    Number of tokens received.
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


class TaskRaises(BaseModel):
    """
    Number of arrivals whose task raised an error, by how their last call ended.
    """

    after_failed: Annotated[int | None, Field(ge=0)] = None
    """
    The last call had failed or was cut off; it is not counted a second time.
    """
    after_ok: Annotated[int | None, Field(ge=0)] = None
    """
    The last call was ok; it counts as failed (`task_error`).
    """
    without_call: Annotated[int | None, Field(ge=0)] = None
    """
    The task made no call; each counts as one more finished call that failed.
    """


class Text1(BaseModel):
    """
    Secret that the submitter provided.
    """

    secret: str
    """
    Handle of the secret.
    """


class ThresholdResult(BaseModel):
    """
    Result of one threshold.
    """

    actual: float | None = None
    """
    Measured value, in the unit of the metric; null without data, which never passes.
    """
    key: str
    """
    Key as people write it.
    """
    limit: float
    """
    Limit, in the unit of the metric.
    """
    metric: Metric
    """
    Metric that was measured.
    """
    operator: Operator
    """
    Which side of the limit passes.
    """
    passed: bool
    """
    Whether it passed.
    """
    reason: str | None = None
    """
    Why nothing was measured, as text for people.
    """
    task: str | None = None
    """
    Name of the task, or of the user type, that was measured. Null: the whole run.
    """


class TickReport(BaseModel):
    """
    Results of one due tick.
    """

    dropped: Annotated[int, Field(ge=0)]
    """
    Number of arrivals that agents dropped, for any reason.
    """
    errors: Annotated[int, Field(ge=0)]
    """
    Number of errors, counted as in `errors_total`.
    """
    finished: Annotated[int, Field(ge=0)]
    """
    Number of finished calls, counted as in [`TaskReport::finished`].
    """
    max_us: Annotated[int | None, Field(ge=0)] = None
    """
    Longest response time in µs; null when no call finished.
    """
    p50_us: Annotated[int | None, Field(ge=0)] = None
    """
    Median response time in µs; null when no call finished.
    """
    p90_us: Annotated[int | None, Field(ge=0)] = None
    """
    90th percentile of the response time in µs; null when no call finished.
    """
    p95_us: Annotated[int | None, Field(ge=0)] = None
    """
    95th percentile of the response time in µs; null when no call finished.
    """
    p99_us: Annotated[int | None, Field(ge=0)] = None
    """
    99th percentile of the response time in µs; null when no call finished.
    """
    planned: Annotated[int, Field(ge=0)]
    """
    Number of arrivals planned.
    """
    started: Annotated[int, Field(ge=0)]
    """
    Number of arrivals started.
    """
    tick: Annotated[int, Field(ge=0)]
    """
    Number of the tick; it begins at `tick × tick_us` after the start.
    """


class Timestamp(RootModel[int]):
    root: Annotated[int, Field(ge=0)]
    """
    Instant in µs since the Unix epoch, UTC.
    """


class TlsIdentity(BaseModel):
    """
    Client certificate and the handle of its key.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    certificate_pem: str
    """
    Certificate and its chain (PEM).
    """
    key_secret: str
    """
    Handle of the private key (PEM), a secret that the submitter provides.
    """


class TlsSettings(BaseModel):
    """
    TLS settings beside the defaults.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    identity: TlsIdentity | None = None
    """
    Client certificate. Absent: none.
    """
    insecure: bool | None = None
    """
    Whether the target's certificate is not verified. The report shows it.
    """
    roots_pem: str | None = None
    """
    Trusted certificates (PEM) in place of those of the agent's machine.
    """


class TrendReport(BaseModel):
    """
    One trend: its values to four significant digits, in the unit of the scenario.
    """

    count: Annotated[int, Field(ge=0)]
    """
    Number of values; at least 1.
    """
    max: float
    """
    Largest value.
    """
    mean: float
    """
    Arithmetic mean.
    """
    min: float
    """
    Smallest value.
    """
    p50: float
    """
    Median.
    """
    p90: float
    """
    90th percentile.
    """
    p95: float
    """
    95th percentile.
    """
    p99: float
    """
    99th percentile.
    """


class Unanswered(BaseModel):
    """
    Calls of a run, all of which failed to connect.
    """

    calls: Annotated[int, Field(ge=0)]
    """
    Number of calls since the start of the run.
    """
    causes: dict[str, CausesAdditionalProperty] | None = None
    """
    Number of these calls by cause, where the cause is known.
    """


class UserStage(BaseModel):
    """
    One stage of a closed loop: the number of active users is linear from its begin to its end.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    duration_us: Annotated[int, Field(ge=0)]
    """
    Length in µs; at least 1.
    """
    from_: Annotated[int, Field(alias="from", ge=0)]
    """
    Number of active users at its begin.
    """
    to: Annotated[int, Field(ge=0)]
    """
    Number of active users at its end.
    """


class Verdict(BaseModel):
    """
    Pass or fail of the thresholds.
    """

    passed: bool
    """
    Whether every threshold passed; a run without thresholds passes if it offered anything.
    """
    reasons: list[str]
    """
    Why the verdict is a fail although no threshold failed (no call finished, …).
    """
    thresholds: list[ThresholdResult]
    """
    Results of the thresholds, in the order of the plan.
    """


class WarmUp(BaseModel):
    """
    Arrivals and calls of the warm-up. Thresholds, percentiles, error rate and achieved rate leave
    them out.
    """

    arrivals: Annotated[int, Field(ge=0)]
    """
    Number of arrivals due in it.
    """
    calls: Annotated[int, Field(ge=0)]
    """
    Number of calls of those that ended.
    """
    warm_up_us: Annotated[int, Field(ge=0)]
    """
    Length of the warm-up in µs.
    """


class ArrivalCounts(BaseModel):
    """
    Planned arrivals: `planned = started + Σ dropped + lost + waiting`. A closed loop plans none:
    there `planned = started + Σ dropped` as reported, and unreported intervals are in `gaps.lost`.
    """

    dropped: dict[str, DroppedAdditionalProperty]
    """
    Number of arrivals that never started, by reason.
    """
    lost: Annotated[int, Field(ge=0)]
    """
    Number of arrivals of holders that did not report them: see `gaps.lost`.
    """
    planned: Annotated[int, Field(ge=0)]
    """
    Number of planned arrivals, computed from the log and never summed from agents.
    """
    sessions: SessionCounts | None = None
    """
    Sessions of the users of a closed loop; absent without sessions, and of a task alone.
    """
    started: Annotated[int, Field(ge=0)]
    """
    Number of arrivals whose first call was dispatched.
    """
    task_errors: Annotated[int, Field(ge=0)]
    """
    Number of started arrivals that raised an error or had a call that was not ok.
    """
    waiting: Annotated[int, Field(ge=0)]
    """
    Number of arrivals of an unfinished run that are not reported yet; 0 once sealed.
    """


class CallReport(BaseModel):
    """
    Results of one call of a task.
    """

    anatomy: dict[str, Ladder]
    """
    Time by phase, in the measured time.
    """
    counts: CallCounts
    """
    Number of its calls in the whole run, by outcome.
    """
    name: str
    """
    Name of the call.
    """
    response: Ladder | None = None
    """
    Response time in the measured time.
    """
    service: Ladder | None = None
    """
    Service time in the measured time.
    """
    status: dict[Annotated[str, StringConstraints(pattern=r"^\d+$")], int]
    """
    Number of responses by status code in the measured time.
    """


class Change1(BaseModel):
    """
    The rate changed.
    """

    rate: Annotated[int, Field(ge=0)]
    """
    Rate planned from there on.
    """
    type: Literal["rate"]
    was: Annotated[int, Field(ge=0)]
    """
    Rate planned before.
    """


class Connections(BaseModel):
    """
    Connection settings; the defaults are those of an ordinary HTTP client.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    age_us_max: Annotated[int | None, Field(ge=0)] = None
    """
    Maximum age of a connection for a further request, in µs. Absent: no limit.
    """
    connect_to: str | None = None
    """
    Address to connect to in place of the target, whose name stays in Host and in TLS:
    `host:port`, or `unix:/path` for a socket of the agent's machine.
    """
    http: Http | None = None
    """
    Version of HTTP.
    """
    ip: IpFamily | None = None
    """
    Address family to connect to. Absent: both.
    """
    max: Annotated[int | None, Field(ge=0)] = None
    """
    Maximum number of open connections of one agent to the target; arrivals without a connection
    wait in the queue. Absent: no limit.
    """
    open_first: Annotated[int | None, Field(ge=0)] = None
    """
    Number of connections that each agent opens before the run starts. Absent: none.
    """
    other_targets: list[str] | None = None
    """
    Base URLs beside the plan's target, of the same scheme. Arrivals take all of them in turn
    by their ordinals, the plan's target first; a user of a scenario stays with that of its own
    number, and each request of a list names its own.
    """
    proxy: Proxy | None = None
    """
    Proxy through which all connections to the target are opened. Absent: none.
    """
    redirect_origins: list[str] | None = None
    """
    Further origins that redirects may lead to, `https://login.example`, without headers with
    credentials and never from https to http. Absent: none.
    """
    redirects_max: Annotated[int | None, Field(ge=0)] = None
    """
    Maximum number of redirects that a call of a step follows, within the origin of its target
    and `redirect_origins`, before its time-out. Absent: none is followed.
    """
    requests_max: Annotated[int | None, Field(ge=0)] = None
    """
    Maximum number of requests of a connection; then it is closed. Absent: no limit.
    """
    resolve_us: Annotated[int | None, Field(ge=0)] = None
    """
    Maximum age of a name resolution, in µs; then the target's name is resolved again. Absent:
    once per run.
    """
    reuse: Literal["always"] | Literal["never"] | Reuse1 | None = None
    """
    Which calls may use an open connection.
    """
    sources: list[str] | None = None
    """
    Addresses of the agent's machine to connect from, in turn, each with an optional range of
    ports: `10.0.0.5` or `10.0.0.5:20000-30000`.
    """
    streams_max: Annotated[int | None, Field(ge=0)] = None
    """
    Maximum number of concurrent requests on one HTTP/2 connection. Absent: 100.
    """
    tls: TlsSettings | None = None
    """
    TLS settings of an https target.
    """


class ExchangeSeen(BaseModel):
    """
    One exchange: of the first arrivals of a run (see [`crate::plan::Plan::debug_requests`]), or one
    that failed.
    """

    answer: list[str]
    """
    Status line and header lines of the response, secrets masked, cut where they are too long;
    empty without a response.
    """
    arrival: Annotated[int, Field(ge=0)]
    """
    Number of the arrival; in a closed loop of the user.
    """
    body: str | None = None
    """
    Beginning of the response's body, secrets masked; only of an exchange that failed, and empty
    where it is no text.
    """
    call: Annotated[int, Field(ge=0, le=65535)]
    """
    Index of the call in the plan's list of calls.
    """
    cause: Cause | None = None
    """
    Why there is no complete response. Absent: there is one, or the cause is unknown.
    """
    outcome: Outcome
    """
    How the call ended.
    """
    received_bytes: Annotated[int, Field(ge=0)]
    """
    Bytes received, headers included where the HTTP engine sees them.
    """
    request: list[str]
    """
    Request line and header lines, secrets masked.
    """
    request_body_bytes: Annotated[int, Field(ge=0)]
    """
    Size of the request's body in bytes.
    """
    response_us: Annotated[int, Field(ge=0)]
    """
    Response time, end − due, in µs.
    """


class Failure(BaseModel):
    """
    Why a holder could not perform its shards.
    """

    cause: FailureCause
    """
    Kind of the failure.
    """
    reason: str
    """
    Why, as text for people.
    """


class Finding(BaseModel):
    """
    One reason for doubt about the figures of a run.
    """

    evidence: str
    """
    Measured value and the limit that it crossed, as text for people.
    """
    grade: Grade
    """
    Severity of the finding.
    """
    kind: FindingKind
    """
    Subject of the finding.
    """


class Gaps(BaseModel):
    """
    Data that the log lacks, or has and does not count.
    """

    excess_arrivals: Annotated[int, Field(ge=0)]
    """
    Number of arrivals of holders that had been superseded at the due tick.
    """
    excess_calls: Annotated[int, Field(ge=0)]
    """
    Number of calls of those arrivals; outside of percentiles and verdict.
    """
    late_deltas: Annotated[int, Field(ge=0)]
    """
    Number of deltas that arrived after the run was sealed.
    """
    lost: list[LostInterval]
    """
    Intervals of arrivals that a holder did not report.
    """
    lost_time_pct: float | None = None
    """
    Closed loop only: user time without a report, in percent of all user time.
    """
    quarantined: list[Quarantined]
    """
    Events and deltas that were set aside, and why.
    """
    surplus_pct: float | None = None
    """
    Arrivals and calls reported beyond the planned or possible number, in percent of that
    number. Absent: none.
    """


class GeneratorReport(BaseModel):
    """
    Health of the load generator.
    """

    busiest_core_permille: Annotated[int, Field(ge=0)]
    """
    Maximum CPU use of a firing thread in any delta, in thousandths of its core.
    """
    busy_deltas_pct: float
    """
    Share of deltas in which a firing thread used more than 90 % of its core, in percent.
    """
    connections_opened: Annotated[int, Field(ge=0)]
    """
    Number of connections opened.
    """
    connections_reused: Annotated[int, Field(ge=0)]
    """
    Number of calls on a connection that was already open.
    """
    listen_overflows_max: Annotated[int | None, Field(ge=0)] = None
    """
    Number of connections during the run that found a full listener queue on one agent's
    machine; the maximum of all machines. Relevant when the target runs there.
    """
    queue: Ladder | None = None
    """
    Time from there until dispatch.
    """
    redirects: Annotated[int | None, Field(ge=0)] = None
    """
    Number of redirects followed within the calls.
    """
    redirects_not_followed: Annotated[int | None, Field(ge=0)] = None
    """
    Number of calls that ended with a redirect, although the plan follows redirects: it was
    beyond the limit, or led to another origin.
    """
    resent: Annotated[int | None, Field(ge=0)] = None
    """
    Number of requests sent a second time because their first connection had closed: the target
    may have received them twice.
    """
    retransmits_max: Annotated[int | None, Field(ge=0)] = None
    """
    Number of TCP segments retransmitted during the run by one agent's machine, for all its
    processes; the maximum of all machines.
    """
    schedule_lag: Ladder | None = None
    """
    Time from due until the pacer reached the arrival, in the measured time.
    """
    stall_us_max: Annotated[int, Field(ge=0)]
    """
    Longest delay of a firing thread behind its own timer, in µs.
    """


class HoldWindow(BaseModel):
    """
    A part of a run at one rate, judged by the gates that are held.
    """

    actual: float | None = None
    """
    Figure of the part, in the unit of the key. Null: nothing to measure.
    """
    calls: Annotated[int, Field(ge=0)]
    """
    Number of their calls that had ended.
    """
    from_us: Annotated[int, Field(ge=0)]
    """
    Begin of the judged due time, in µs after the start.
    """
    key: str
    """
    Key of the gate that decided, such as `p99_ms`.
    """
    limit: float
    """
    Its limit, in the unit of the key.
    """
    passed: bool
    """
    Whether the gates held, and the arrivals started.
    """
    planned: Annotated[int, Field(ge=0)]
    """
    Number of arrivals planned in it.
    """
    rate: Annotated[int, Field(ge=0)]
    """
    Rate of the part.
    """
    started: Annotated[int, Field(ge=0)]
    """
    Number of those that started.
    """
    to_us: Annotated[int, Field(ge=0)]
    """
    End of the judged due time, exclusive, in µs after the start.
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


class Holding(BaseModel):
    """
    Shards of one holder.

    It is read only as part of a whole map, which is checked before its strides are expanded.
    """

    holder: Holder
    """
    Process that holds the shards.
    """
    shards: list[Piece1 | Piece2]
    """
    Shards held, sorted: the arrivals with `n mod shards` in this list. Stored as shards and
    strides `[first, step, count]`.
    """


class LoadCurve(BaseModel):
    """
    Latency by level of the load. A level is a part of the plan with a constant rate.
    """

    knee: Knee | None = None
    """
    Where the target stopped holding the load. Null: see `no_knee`.
    """
    levels: list[LoadLevel]
    """
    Levels that the run reached, in the order of time.
    """
    no_knee: NoKnee | None = None
    """
    Why there is no knee. Null: there is one.
    """


class MetricsReport(BaseModel):
    """
    Own metrics of a scenario in the measured time, by name.
    """

    counters: dict[str, CounterReport] | None = None
    """
    Counters.
    """
    rates: dict[str, RateReport] | None = None
    """
    Rate metrics.
    """
    trends: dict[str, TrendReport] | None = None
    """
    Trends.
    """


class Omission(BaseModel):
    """
    Percentile with the largest ratio of corrected to uncorrected, and the shares of the time
    between due and dispatch.
    """

    factor: float
    """
    Corrected / uncorrected at this percentile.
    """
    origin: OmissionOrigin
    """
    Origin of the difference.
    """
    percentile: float
    """
    Percentile, among those with a relevant difference if there are any.
    """
    queue_pct: float
    """
    Share of the wait for a slot in that time, in percent. Connecting has no share: it is in
    both latencies.
    """
    response_us: Annotated[int, Field(ge=0)]
    """
    Corrected latency at this percentile, in µs.
    """
    schedule_lag_pct: float
    """
    Share of schedule lag in the time from due to dispatch of all calls, in percent.
    """
    service_us: Annotated[int, Field(ge=0)]
    """
    Uncorrected latency at this percentile, in µs.
    """


class Raised(BaseModel):
    """
    Error that a check or a task raised, with its count in the whole run.
    """

    by: RaisedBy
    """
    Part of the scenario that raised it.
    """
    count: Annotated[int, Field(ge=0)]
    """
    Number of times.
    """
    text: str
    """
    Type of the error, its message and its line.
    """
    trace: str | None = None
    """
    Traceback of one of them: the user's lines, outermost first, such as `shop.py:40 in buy`,
    one per line. Absent: no agent reported one.
    """


class ShardMap(BaseModel):
    """
    Which holders had which shards from a tick on.
    """

    from_tick: Annotated[int, Field(ge=0)]
    """
    First due tick of this map; it holds until a later map begins.
    """
    generation: Annotated[int, Field(ge=0)]
    """
    Number of the assignment.
    """
    holdings: list[Holding]
    """
    Every shard that had a holder.
    """


class Steered(BaseModel):
    """
    One change that a user made to a running run.
    """

    at: Annotated[int, Field(ge=0)]
    """
    When it was decided.
    """
    by: str
    """
    Author of the request, as text for people.
    """
    change: Change1 | Change2 | Change3
    """
    What changed.
    """
    from_us: Annotated[int, Field(ge=0)]
    """
    When it took effect, in µs after the start.
    """


class StoryLine(BaseModel):
    """
    One line of the timeline.
    """

    at: Annotated[int, Field(ge=0)]
    """
    When it happened, by the writer's clock.
    """
    seq: Annotated[int, Field(ge=0)]
    """
    Stream sequence in LP_CTL.
    """
    text: str
    """
    What happened, as text for people.
    """


class TaskReport(BaseModel):
    """
    Results of one task.
    """

    arrivals: ArrivalCounts
    """
    Its arrivals in the whole run.
    """
    calls: list[CallReport]
    """
    Calls in the order of the plan; those of a task in Python, by name.
    """
    checks: Checks | None = None
    """
    Its checks; null when none examined a response.
    """
    errors: Annotated[int, Field(ge=0)]
    """
    Number of errors in the measured time, counted as in `errors_total`.
    """
    finished: Annotated[int, Field(ge=0)]
    """
    Number of its finished calls in the measured time; by rules 2 plus one for each time that it
    raised without a call.
    """
    metrics: MetricsReport | None = None
    """
    Its own metrics; null without any.
    """
    name: str
    """
    Name of the task.
    """
    raised: list[Raised] | None = None
    """
    Errors that the task and its check raised in Python, the most frequent first.
    """
    response: Ladder | None = None
    """
    Response time of its calls, each call by itself.
    """
    service: Ladder | None = None
    """
    Service time of its calls, each call by itself.
    """
    streams: StreamReport | None = None
    """
    Its streamed responses; null without any.
    """
    task_raises: TaskRaises | None = None
    """
    Number of its arrivals of the measured time that raised an error; null without any, and by
    rules 1.
    """
    unconnected: Annotated[int | None, Field(ge=0)] = None
    """
    Number of its finished calls without a connection for a request, in the measured time.
    Absent: none, or rules 1.
    """
    weight: Annotated[int, Field(ge=0)]
    """
    Weight of the task; in a mix among the tasks of its type.
    """


class UserTypeReport(BaseModel):
    """
    Results of one user type: those of its tasks together.
    """

    arrivals: ArrivalCounts
    """
    Its arrivals in the whole run.
    """
    checks: Checks | None = None
    """
    Its checks; null when none examined a response.
    """
    errors: Annotated[int, Field(ge=0)]
    """
    Number of errors in the measured time, counted as in `errors_total`.
    """
    finished: Annotated[int, Field(ge=0)]
    """
    Number of its finished calls in the measured time, counted as those of a task.
    """
    metrics: MetricsReport | None = None
    """
    Its own metrics; null without any.
    """
    name: str
    """
    Name of the type.
    """
    response: Ladder | None = None
    """
    Response time of its calls, each call by itself.
    """
    rest: Rest1 | Rest2 | Rest3 | Rest4 | None = None
    """
    Think time of those users between two tasks. Absent: none.
    """
    service: Ladder | None = None
    """
    Service time of its calls, each call by itself.
    """
    session: SessionLength1 | SessionLength2 | SessionLength3 | None = None
    """
    Length of the sessions of those users. Absent: each stays for the whole run.
    """
    share: Annotated[int, Field(ge=0)]
    """
    Share of the type, out of the sum of all shares.
    """
    streams: StreamReport | None = None
    """
    Its streamed responses; null without any.
    """
    task_raises: TaskRaises | None = None
    """
    Number of its arrivals of the measured time that raised an error; null without any.
    """
    tasks: list[str]
    """
    Names of its tasks.
    """
    unconnected: Annotated[int | None, Field(ge=0)] = None
    """
    Number of its finished calls without a connection for a request, in the measured time.
    """
    users: Annotated[int | None, Field(ge=0)] = None
    """
    Number of its users in a closed loop. Absent: arrivals on schedule.
    """


class Certificate(BaseModel):
    """
    Whether the figures of a run can be trusted, with the evidence.
    """

    findings: list[Finding]
    """
    Findings; empty when VALID.
    """
    grade: Grade
    """
    Worst grade of all findings.
    """


class HeldRate(BaseModel):
    """
    The highest rate at which the gates hold that a run holds, and how it was found.
    """

    failed_rps: float | None = None
    """
    The lowest rate that failed, or what the target answered under more; null: none.
    """
    gates: list[str]
    """
    The gates, such as `p99_ms <= 200`.
    """
    rps: float | None = None
    """
    The highest rate that passed, in arrivals per second, unless it failed later. Null: none.
    """
    steps: list[HoldWindow]
    """
    What was measured before each change of the rate, in order.
    """


class Latency(BaseModel):
    """
    Latency, corrected and uncorrected.
    """

    co_factor: float | None = None
    """
    CO factor: corrected p99 / uncorrected p99, the error of a tool that waits for responses.
    Null in a closed loop, which has no schedule.
    """
    omission: Omission | None = None
    """
    Largest ratio of corrected to uncorrected, and its origin. Absent in a closed loop and by
    rules 1.
    """
    response: Ladder | None = None
    """
    Response time, end − due: what a user on schedule would have waited. Null when no call
    finished.
    """
    response_failed: Ladder | None = None
    """
    Response time of the calls that were not ok.
    """
    response_histogram: str
    """
    Whole distribution of the response time.
    """
    response_ok: Ladder | None = None
    """
    Response time of the calls that were ok; a filtered subset is misleading by itself.
    """
    service: Ladder | None = None
    """
    Service time, end − dispatch: the time of the target alone. Null when no call finished.
    """
    service_histogram: str
    """
    Whole distribution of the service time.
    """
    unconnected: Annotated[int | None, Field(ge=0)] = None
    """
    Number of finished calls without a connection for a request: their latency is no server's.
    Absent: none, or rules 1.
    """


class RunFacts(BaseModel):
    """
    Identity, conditions and ending of a run.
    """

    breach: Breach | None = None
    """
    Gate whose breach stopped the run, at the request of `--abort-on-breach`.
    """
    connections: Connections | None = None
    """
    Connection settings. Absent: the defaults.
    """
    created_at: Annotated[int, Field(ge=0)]
    """
    When the run was created.
    """
    ending: Ending | None = None
    """
    How it ended, once sealed.
    """
    failure: Failure | None = None
    """
    Failure of the first holder that could not perform its shards.
    """
    feeds: list[FeedFacts] | None = None
    """
    Feeds of the scenario.
    """
    generation: Annotated[int, Field(ge=0)]
    """
    Number of the last assignment.
    """
    held: HeldRate | None = None
    """
    The rate that was held. Absent: the run holds no gate.
    """
    holders: list[HolderFacts]
    """
    Every process that held shards.
    """
    id: str
    """
    Id of the run.
    """
    maps: list[ShardMap] | None = None
    """
    Shard maps over time. A holder has the arrivals n whose `n mod shards` is in its list.
    """
    max_in_flight: Annotated[int | None, Field(ge=0)] = None
    """
    Maximum number of arrivals in flight per agent by the plan; null: the agent's own default.
    """
    parameters: dict[str, str | Text1] | None = None
    """
    Parameters that the scenario read when it was compiled, by name.
    """
    plan_hash: str
    """
    SHA-256 of the plan's canonical JSON, in lower-case hex.
    """
    profile_us: Annotated[int, Field(ge=0)]
    """
    Length of the profile in µs; less where a feed without a row ends the run.
    """
    refused: list[Problem]
    """
    Why it was refused or cancelled.
    """
    rest: Rest1 | Rest2 | Rest3 | Rest4 | None = None
    """
    Think time of those users between two tasks. Absent: none, or a mix, whose types have their
    own.
    """
    rows_used_up: RowsUsedUp | None = None
    """
    Feed without a row left, where it ended the run. Absent: no feed did.
    """
    rules: Rules | None = None
    """
    Version of the rules by which the run is judged. Absent: rules 1.
    """
    seed: Annotated[int, Field(ge=0)]
    """
    Random seed; with the plan it fixes every arrival.
    """
    session: SessionLength1 | SessionLength2 | SessionLength3 | None = None
    """
    Length of the sessions of those users. Absent: each stays for the whole run, or a mix, whose
    types have their own.
    """
    shape: Shape
    """
    Shape of the profile.
    """
    start_at: Timestamp | None = None
    """
    When the run started. Null: it did not.
    """
    state: RunState
    """
    State of the run; the report is complete only when `sealed` or `refused`.
    """
    steered: list[Steered] | None = None
    """
    Changes that users made while it ran, in order: its figures are not those of its plan.
    """
    stopped_at_us: Annotated[int | None, Field(ge=0)] = None
    """
    When the run was stopped before its end, in µs after the start. Null: it was not.
    """
    tags: dict[str, str] | None = None
    """
    Tags by which people distinguish runs.
    """
    tick_us: Annotated[int, Field(ge=0)]
    """
    Length of a tick of `series` in µs.
    """
    unanswered: Unanswered | None = None
    """
    Failed calls, where the run was stopped because no server responded.
    """
    user_stages: list[UserStage] | None = None
    """
    Number of active users of that closed loop over time, of which `users` is the maximum.
    Absent: all are active for the whole run.
    """
    users: Annotated[int | None, Field(ge=0)] = None
    """
    Number of users of a closed loop, each of which starts its next task when its last one
    ended: latency is not counted from a schedule. Absent: arrivals on schedule.
    """


class Report(BaseModel):
    """
    Results of one run.
    """

    arrivals: ArrivalCounts
    """
    Planned arrivals of the whole run, warm-up included.
    """
    bytes: Bytes
    """
    Bytes transferred in the measured time.
    """
    calls: CallCounts
    """
    Calls of the whole run, warm-up included.
    """
    certificate: Certificate
    """
    Whether the figures can be trusted.
    """
    checks: Checks | None = None
    """
    Checks of all tasks, in the measured time; null when no check examined a response.
    """
    digest: str
    """
    SHA-256 of the canonical JSON of this report with an empty digest, in lower-case hex.
    """
    duration_secs: float
    """
    Planned length of the run, or time until its stop, in seconds.
    """
    error_rate_pct: float | None = None
    """
    Errors in percent of finished calls; by rules 2 each task that raised without a call counts
    as one more finished call. Null without any.
    """
    errors_total: Annotated[int, Field(ge=0)]
    """
    Number of finished calls that were not ok, in the measured time. By rules 2 including the
    last call of each task that raised, plus one for each task that raised without a call.
    """
    exchanges: list[ExchangeSeen] | None = None
    """
    Debug exchanges, if the plan requests them.
    """
    gaps: Gaps
    """
    What the log does not contain, or contains and does not count.
    """
    generator: GeneratorReport
    """
    Health of the load generator.
    """
    knee_point: KneePoint | None = None
    """
    The knee of the load curve as one object; null without a knee. Outside of the digest, too.
    """
    latency: Latency
    """
    Latency of all finished calls in the measured time.
    """
    load_curve: LoadCurve | None = None
    """
    Latency by level of the load, and the knee; null when the plan holds fewer than two rates.
    Computed from the log, and outside of the digest: earlier versions did not have it.
    """
    max_ms: float | None = None
    """
    Longest response time in ms; null when no call finished.
    """
    metrics: MetricsReport | None = None
    """
    Own metrics of the scenario, in the measured time; null without any.
    """
    p50_ms: float | None = None
    """
    Median response time in ms; null when no call finished.
    """
    p95_ms: float | None = None
    """
    95th percentile of the response time in ms; null when no call finished.
    """
    p99_ms: float | None = None
    """
    99th percentile of the response time in ms; null when no call finished.
    """
    rates: Rates
    """
    Offered against planned arrivals, in the measured time.
    """
    requests_total: Annotated[int, Field(ge=0)]
    """
    Number of calls that ended, in the measured time.
    """
    rps_actual: float
    """
    Started arrivals per second over the measured time (without warm-up).
    """
    rps_target: float
    """
    Planned peak rate, in arrivals per second.
    """
    run: RunFacts
    """
    Identity, conditions and ending of the run.
    """
    scenario: str
    """
    Name of the scenario.
    """
    schema_: Annotated[ReportSchema, Field(alias="schema")]
    """
    Version of this format.
    """
    series: list[TickReport]
    """
    Results of each due tick, warm-up included.
    """
    status: dict[Annotated[str, StringConstraints(pattern=r"^\d+$")], int]
    """
    Number of responses by status code in the measured time.
    """
    story: list[StoryLine]
    """
    Timeline: decisions and facts of the run in order, as text for people.
    """
    streams: StreamReport | None = None
    """
    Streamed responses of all tasks, in the measured time; null without any.
    """
    target_url: str
    """
    Target of the load.
    """
    task_raises: TaskRaises | None = None
    """
    Number of arrivals of the measured time that raised an error; null without any, and by rules
    1.
    """
    tasks: list[TaskReport]
    """
    Results of each task, in the order of the plan; calls and latency in the measured time.
    """
    types: list[UserTypeReport] | None = None
    """
    Results of each user type of a mix, in the order of the plan; calls and latency in the
    measured time. Absent: no mix.
    """
    verdict: Verdict
    """
    Pass or fail of the thresholds.
    """
    warm_up: WarmUp
    """
    What the warm-up left out.
    """
