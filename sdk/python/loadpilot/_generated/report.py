"""Written by `./dev gen` from proto/schema: never edit it."""

from __future__ import annotations

from typing import Literal, NotRequired
from typing_extensions import TypedDict


class Breach(TypedDict):
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


class Bytes(TypedDict):
    """
    Bytes transferred.
    """

    received: int
    """
    Bytes read, headers included where the HTTP engine sees them.
    """
    received_per_sec: float
    """
    Bytes read per second of the measured time.
    """
    sent: int
    """
    Bytes written, headers included.
    """
    sent_per_sec: float
    """
    Bytes written per second of the measured time.
    """


class CallCounts(TypedDict):
    """
    Calls: `attempted = Σ outcomes`.
    """

    attempted: int
    """
    Number of calls dispatched.
    """
    causes: NotRequired[dict[str, dict[str, int]]]
    """
    Number of calls without a complete response, by outcome and cause.
    """
    in_flight: int
    """
    Number of calls in flight in an unfinished run; 0 once sealed.
    """
    outcomes: dict[str, int]
    """
    Number of calls by outcome.
    """


class Change2(TypedDict):
    """
    The run was paused.
    """

    type: Literal["paused"]


class Change3(TypedDict):
    """
    The run was resumed.
    """

    type: Literal["resumed"]


class Checks(TypedDict):
    """
    Number of checks that examined a response.
    """

    failed: int
    """
    Number of checks that failed.
    """
    passed: int
    """
    Number of checks that passed.
    """


class CounterReport(TypedDict):
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


class FeedFacts(TypedDict):
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
    rows: int
    """
    Number of rows.
    """
    stops: NotRequired[bool]
    """
    Whether the run ends where a row after the last would be taken.
    """
    taken: int
    """
    Number of planned arrivals that take a row, up to a stop; in a closed loop of arrivals that
    took one. Number of users, if that is greater.
    """
    unique: NotRequired[bool]
    """
    Whether no row may be used twice.
    """


class Holder(TypedDict):
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


class Knee(TypedDict):
    """
    Where the target stopped holding the load.
    """

    broke: int
    """
    Index in `levels` of the lowest level that did not hold.
    """
    held: int
    """
    Index in `levels` of the highest level below the break; every lower one held as well.
    """


class KneePoint(TypedDict):
    """
    The knee in one object: the highest level that held the load.
    """

    error_rate_pct: NotRequired[float | None]
    """
    Its errors in percent of finished calls; null without any.
    """
    max_rps: float
    """
    Highest rate of a level by the plan, in arrivals per second.
    """
    p99_ms: NotRequired[float | None]
    """
    Its 99th percentile of the response time in ms; null when no call finished.
    """
    rps: float
    """
    Its rate by the plan, in arrivals per second.
    """
    step: int
    """
    Number of the level in the order of time, from 1.
    """
    total_steps: int
    """
    Number of levels that the run reached.
    """


class Ladder(TypedDict):
    """
    Percentiles of a distribution, in µs.
    """

    count: int
    """
    Number of values.
    """
    max_us: int
    """
    Largest value.
    """
    mean_us: float
    """
    Arithmetic mean.
    """
    min_us: int
    """
    Smallest value.
    """
    p50_us: int
    """
    Median.
    """
    p75_us: int
    """
    75th percentile.
    """
    p90_us: int
    """
    90th percentile.
    """
    p95_us: int
    """
    95th percentile.
    """
    p99_99_us: int
    """
    99.99th percentile.
    """
    p99_9_us: int
    """
    99.9th percentile.
    """
    p99_us: int
    """
    99th percentile.
    """


class LevelLatency(TypedDict):
    """
    Percentiles of a level, of the merged histograms of its ticks.
    """

    p50_us: int
    """
    Median, in µs.
    """
    p99_us: int
    """
    99th percentile, in µs.
    """


class LoadLevel(TypedDict):
    """
    One level: the arrivals due in its whole ticks, without warm-up.
    """

    achieved_rps: float
    """
    Started arrivals per second.
    """
    error_rate_pct: NotRequired[float | None]
    """
    Errors in percent of `finished`; null without any.
    """
    errors: int
    """
    Number of errors, counted as in `errors_total`.
    """
    exceeded: list[Literal["achieved", "latency", "errors"]]
    """
    Limits that the level did not hold. Empty: it held the load.
    """
    finished: int
    """
    Number of finished calls, and of tasks that raised without a call.
    """
    from_us: int
    """
    Begin of its first whole tick, in µs after the start.
    """
    planned: int
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
    response: NotRequired[LevelLatency | None]
    """
    Response times, corrected; null when no call finished.
    """
    service: NotRequired[LevelLatency | None]
    """
    Service times, uncorrected; null when no call finished.
    """
    started: int
    """
    Number of those that started.
    """
    to_us: int
    """
    End of its last whole tick, in µs after the start.
    """


class LostInterval(TypedDict):
    """
    Arrivals that a holder did not report.
    """

    arrivals: int
    """
    Number of arrivals; in a closed loop those of its later totals, possibly 0.
    """
    from_tick: int
    """
    First due tick.
    """
    holder: Holder
    """
    Process that held them.
    """
    to_tick: int
    """
    Last due tick, inclusive.
    """


class Problem(TypedDict):
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


class Proxy(TypedDict, closed=True):
    """
    A proxy between agents and target.
    """

    credentials_secret: NotRequired[str | None]
    """
    Handle of `user:password`, a secret that the submitter provides. Absent: no credentials.
    """
    url: str
    """
    `http://host:port` (CONNECT) or `socks5://host:port`, without user. The proxy resolves the
    target's name.
    """


class Quarantined(TypedDict):
    """
    Stored event that was set aside.
    """

    reason: str
    """
    Why it was set aside.
    """
    seq: int
    """
    Stream sequence of the event.
    """
    subject: str
    """
    Subject of the event.
    """


class RateReport(TypedDict):
    """
    One rate metric.
    """

    count: int
    """
    Number of values; at least 1.
    """
    rate: float
    """
    Share of true values, in percent.
    """
    trues: int
    """
    Number of true values.
    """


class Rates(TypedDict):
    """
    Offered against planned arrivals, in the measured time.
    """

    achieved_rps: float
    """
    Started arrivals per second.
    """
    measured_us: int
    """
    Length of the measured time in µs.
    """
    planned: int
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
    started: int
    """
    Number of those that started.
    """


class Wait(TypedDict, closed=True):
    from_us: int
    """
    Minimum, in µs.
    """
    to_us: int
    """
    Maximum, in µs.
    """


class Rest1(TypedDict, closed=True):
    """
    Think time after each task, drawn from a uniform distribution by the seed.
    """

    wait: Wait


class Exponential(TypedDict, closed=True):
    median_us: int
    """
    Median, in µs; the mean is 1/ln 2 = 1.4427 times as long.
    """


class Rest2(TypedDict, closed=True):
    """
    Think time after each task, drawn from an exponential distribution by the seed; a day at
    most. From the second version of the format.
    """

    exponential: Exponential


class Lognormal(TypedDict, closed=True):
    median_us: int
    """
    Median, in µs.
    """
    p99_us: int
    """
    99th percentile, in µs; above the median.
    """


class Rest3(TypedDict, closed=True):
    """
    Think time after each task, drawn from a lognormal distribution by the seed; a day at most.
    From the second version of the format.
    """

    lognormal: Lognormal


class Pacing(TypedDict, closed=True):
    every_us: int
    """
    Interval, in µs.
    """


class Rest4(TypedDict, closed=True):
    """
    Fixed time between the starts of two tasks; a task that took longer is followed at once.
    """

    pacing: Pacing


class Reuse1(TypedDict, closed=True):
    """
    This share of the calls, in millionths; the seed selects them.
    """

    share_ppm: int


class RowsUsedUp(TypedDict):
    """
    End of a run before the end of its profile, as its plan says: a feed had no row left.
    """

    at_us: int
    """
    End of the run, in µs after the start: an arrival that had no row would have been due then.
    """
    feed: str
    """
    Name of the feed.
    """
    profile_us: int
    """
    Length of the profile in µs.
    """
    rows: int
    """
    Number of its rows, each of which one planned arrival took.
    """


class SessionCounts(TypedDict):
    """
    Sessions in the places of a closed loop, as the target sees them: after the loss of an agent the
    rest of a session counts as one of its own.
    """

    ended: int
    """
    Number of sessions that were over when the next one of their place began.
    """
    started: int
    """
    Number of sessions that began.
    """


class Between(TypedDict, closed=True):
    from_us: int
    """
    Minimum, in µs.
    """
    to_us: int
    """
    Maximum, in µs.
    """


class SessionLength1(TypedDict, closed=True):
    """
    Of a uniform distribution; constant where both ends are equal.
    """

    between: Between


class SessionLength2(TypedDict, closed=True):
    """
    Of an exponential distribution.
    """

    exponential: Exponential


class SessionLength3(TypedDict, closed=True):
    """
    Of a lognormal distribution.
    """

    lognormal: Lognormal


class StreamReport(TypedDict):
    """
    Streamed responses, in the measured time.
    """

    first_token: NotRequired[Ladder | None]
    """
    Time from due to the first token, corrected.
    """
    first_token_service: NotRequired[Ladder | None]
    """
    Time from dispatch to the first token, uncorrected.
    """
    token_gap: NotRequired[Ladder | None]
    """
    Time from one token to the next; null when no response had two.
    """
    tokens: int
    """
    Number of tokens received.
    """


class TailFacts(TypedDict):
    """
    Tail of a killed process.
    """

    indeterminate: int
    """
    Number of its calls that were in flight.
    """
    lost: NotRequired[str | None]
    """
    Why some of its counts could not be read; null when all could.
    """


class TaskRaises(TypedDict):
    """
    Number of arrivals whose task raised an error, by how their last call ended.
    """

    after_failed: NotRequired[int]
    """
    The last call had failed or was cut off; it is not counted a second time.
    """
    after_ok: NotRequired[int]
    """
    The last call was ok; it counts as failed (`task_error`).
    """
    without_call: NotRequired[int]
    """
    The task made no call; each counts as one more finished call that failed.
    """


class Text1(TypedDict):
    """
    Secret that the submitter provided.
    """

    secret: str
    """
    Handle of the secret.
    """


class ThresholdResult(TypedDict):
    """
    Result of one threshold.
    """

    actual: NotRequired[float | None]
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
    metric: Literal[
        "p50_ms",
        "p75_ms",
        "p90_ms",
        "p95_ms",
        "p99_ms",
        "p99_9_ms",
        "p99_99_ms",
        "max_ms",
        "mean_ms",
        "p50_first_token_ms",
        "p95_first_token_ms",
        "p99_first_token_ms",
        "p50_token_gap_ms",
        "p95_token_gap_ms",
        "p99_token_gap_ms",
        "error_rate",
        "task_errors",
        "dropped_rate",
        "shortfall",
        "achieved_rps",
        "checks",
        "own",
    ]
    """
    Metric that was measured.
    """
    operator: Literal["<=", ">=", "<", ">"]
    """
    Which side of the limit passes.
    """
    passed: bool
    """
    Whether it passed.
    """
    reason: NotRequired[str | None]
    """
    Why nothing was measured, as text for people.
    """
    task: NotRequired[str | None]
    """
    Name of the task, or of the user type, that was measured. Null: the whole run.
    """


class TickReport(TypedDict):
    """
    Results of one due tick.
    """

    dropped: int
    """
    Number of arrivals that agents dropped, for any reason.
    """
    errors: int
    """
    Number of errors, counted as in `errors_total`.
    """
    finished: int
    """
    Number of finished calls, counted as in [`TaskReport::finished`].
    """
    max_us: NotRequired[int | None]
    """
    Longest response time in µs; null when no call finished.
    """
    p50_us: NotRequired[int | None]
    """
    Median response time in µs; null when no call finished.
    """
    p90_us: NotRequired[int | None]
    """
    90th percentile of the response time in µs; null when no call finished.
    """
    p95_us: NotRequired[int | None]
    """
    95th percentile of the response time in µs; null when no call finished.
    """
    p99_us: NotRequired[int | None]
    """
    99th percentile of the response time in µs; null when no call finished.
    """
    planned: int
    """
    Number of arrivals planned.
    """
    started: int
    """
    Number of arrivals started.
    """
    tick: int
    """
    Number of the tick; it begins at `tick × tick_us` after the start.
    """


class TlsIdentity(TypedDict, closed=True):
    """
    Client certificate and the handle of its key.
    """

    certificate_pem: str
    """
    Certificate and its chain (PEM).
    """
    key_secret: str
    """
    Handle of the private key (PEM), a secret that the submitter provides.
    """


class TlsSettings(TypedDict, closed=True):
    """
    TLS settings beside the defaults.
    """

    identity: NotRequired[TlsIdentity | None]
    """
    Client certificate. Absent: none.
    """
    insecure: NotRequired[bool]
    """
    Whether the target's certificate is not verified. The report shows it.
    """
    roots_pem: NotRequired[str | None]
    """
    Trusted certificates (PEM) in place of those of the agent's machine.
    """


class TrendReport(TypedDict):
    """
    One trend: its values to four significant digits, in the unit of the scenario.
    """

    count: int
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


class Unanswered(TypedDict):
    """
    Calls of a run, all of which failed to connect.
    """

    calls: int
    """
    Number of calls since the start of the run.
    """
    causes: NotRequired[dict[str, int]]
    """
    Number of these calls by cause, where the cause is known.
    """


UserStage = TypedDict(
    "UserStage",
    {
        "duration_us": int,
        "from": int,
        "to": int,
    },
    closed=True,
)


class Verdict(TypedDict):
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


class WarmUp(TypedDict):
    """
    Arrivals and calls of the warm-up. Thresholds, percentiles, error rate and achieved rate leave
    them out.
    """

    arrivals: int
    """
    Number of arrivals due in it.
    """
    calls: int
    """
    Number of calls of those that ended.
    """
    warm_up_us: int
    """
    Length of the warm-up in µs.
    """


class ArrivalCounts(TypedDict):
    """
    Planned arrivals: `planned = started + Σ dropped + lost + waiting`. A closed loop plans none:
    there `planned = started + Σ dropped` as reported, and unreported intervals are in `gaps.lost`.
    """

    dropped: dict[str, int]
    """
    Number of arrivals that never started, by reason.
    """
    lost: int
    """
    Number of arrivals of holders that did not report them: see `gaps.lost`.
    """
    planned: int
    """
    Number of planned arrivals, computed from the log and never summed from agents.
    """
    sessions: NotRequired[SessionCounts | None]
    """
    Sessions of the users of a closed loop; absent without sessions, and of a task alone.
    """
    started: int
    """
    Number of arrivals whose first call was dispatched.
    """
    task_errors: int
    """
    Number of started arrivals that raised an error or had a call that was not ok.
    """
    waiting: int
    """
    Number of arrivals of an unfinished run that are not reported yet; 0 once sealed.
    """


class CallReport(TypedDict):
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
    response: NotRequired[Ladder | None]
    """
    Response time in the measured time.
    """
    service: NotRequired[Ladder | None]
    """
    Service time in the measured time.
    """
    status: dict[str, int]
    """
    Number of responses by status code in the measured time.
    """


class Change1(TypedDict):
    """
    The rate changed.
    """

    rate: int
    """
    Rate planned from there on.
    """
    type: Literal["rate"]
    was: int
    """
    Rate planned before.
    """


class Connections(TypedDict, closed=True):
    """
    Connection settings; the defaults are those of an ordinary HTTP client.
    """

    age_us_max: NotRequired[int | None]
    """
    Maximum age of a connection for a further request, in µs. Absent: no limit.
    """
    connect_to: NotRequired[str | None]
    """
    Address to connect to in place of the target, whose name stays in Host and in TLS:
    `host:port`, or `unix:/path` for a socket of the agent's machine.
    """
    http: NotRequired[Literal["1.1", "2", "auto"]]
    """
    Version of HTTP.
    """
    ip: NotRequired[Literal["4", "6"] | None]
    """
    Address family to connect to. Absent: both.
    """
    max: NotRequired[int | None]
    """
    Maximum number of open connections of one agent to the target; arrivals without a connection
    wait in the queue. Absent: no limit.
    """
    open_first: NotRequired[int | None]
    """
    Number of connections that each agent opens before the run starts. Absent: none.
    """
    other_targets: NotRequired[list[str]]
    """
    Base URLs beside the plan's target, of the same scheme. Arrivals take all of them in turn
    by their ordinals, the plan's target first; a user of a scenario stays with that of its own
    number, and each request of a list names its own.
    """
    proxy: NotRequired[Proxy | None]
    """
    Proxy through which all connections to the target are opened. Absent: none.
    """
    redirect_origins: NotRequired[list[str]]
    """
    Further origins that redirects may lead to, `https://login.example`, without headers with
    credentials and never from https to http. Absent: none.
    """
    redirects_max: NotRequired[int | None]
    """
    Maximum number of redirects that a call of a step follows, within the origin of its target
    and `redirect_origins`, before its time-out. Absent: none is followed.
    """
    requests_max: NotRequired[int | None]
    """
    Maximum number of requests of a connection; then it is closed. Absent: no limit.
    """
    resolve_us: NotRequired[int | None]
    """
    Maximum age of a name resolution, in µs; then the target's name is resolved again. Absent:
    once per run.
    """
    reuse: NotRequired[Literal["always"] | Literal["never"] | Reuse1]
    """
    Which calls may use an open connection.
    """
    sources: NotRequired[list[str]]
    """
    Addresses of the agent's machine to connect from, in turn, each with an optional range of
    ports: `10.0.0.5` or `10.0.0.5:20000-30000`.
    """
    streams_max: NotRequired[int | None]
    """
    Maximum number of concurrent requests on one HTTP/2 connection. Absent: 100.
    """
    tls: NotRequired[TlsSettings]
    """
    TLS settings of an https target.
    """


class ExchangeSeen(TypedDict):
    """
    One exchange: of the first arrivals of a run (see [`crate::plan::Plan::debug_requests`]), or one
    that failed.
    """

    answer: list[str]
    """
    Status line and header lines of the response, secrets masked, cut where they are too long;
    empty without a response.
    """
    arrival: int
    """
    Number of the arrival; in a closed loop of the user.
    """
    body: NotRequired[str]
    """
    Beginning of the response's body, secrets masked; only of an exchange that failed, and empty
    where it is no text.
    """
    call: int
    """
    Index of the call in the plan's list of calls.
    """
    cause: NotRequired[
        Literal[
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
        | None
    ]
    """
    Why there is no complete response. Absent: there is one, or the cause is unknown.
    """
    outcome: Literal[
        "ok",
        "http_4xx",
        "http_5xx",
        "check_failed",
        "connect",
        "tls",
        "timeout",
        "io",
        "local",
        "cancelled",
        "indeterminate",
    ]
    """
    How the call ended.
    """
    received_bytes: int
    """
    Bytes received, headers included where the HTTP engine sees them.
    """
    request: list[str]
    """
    Request line and header lines, secrets masked.
    """
    request_body_bytes: int
    """
    Size of the request's body in bytes.
    """
    response_us: int
    """
    Response time, end − due, in µs.
    """


class Failure(TypedDict):
    """
    Why a holder could not perform its shards.
    """

    cause: Literal["not_prepared", "scenario", "broken", "log_full", "log_refuses"]
    """
    Kind of the failure.
    """
    reason: str
    """
    Why, as text for people.
    """


class Finding(TypedDict):
    """
    One reason for doubt about the figures of a run.
    """

    evidence: str
    """
    Measured value and the limit that it crossed, as text for people.
    """
    grade: Literal["VALID", "DEGRADED", "INVALID"]
    """
    Severity of the finding.
    """
    kind: Literal[
        "schedule_lag",
        "generator_drops",
        "agent_cpu",
        "lost_interval",
        "excess",
        "local_resources",
        "clock_bound",
        "unfinished",
        "quarantined",
        "coverage",
        "feeder_wrap_around",
    ]
    """
    Subject of the finding.
    """


class Gaps(TypedDict):
    """
    Data that the log lacks, or has and does not count.
    """

    excess_arrivals: int
    """
    Number of arrivals of holders that had been superseded at the due tick.
    """
    excess_calls: int
    """
    Number of calls of those arrivals; outside of percentiles and verdict.
    """
    late_deltas: int
    """
    Number of deltas that arrived after the run was sealed.
    """
    lost: list[LostInterval]
    """
    Intervals of arrivals that a holder did not report.
    """
    lost_time_pct: NotRequired[float | None]
    """
    Closed loop only: user time without a report, in percent of all user time.
    """
    quarantined: list[Quarantined]
    """
    Events and deltas that were set aside, and why.
    """
    surplus_pct: NotRequired[float | None]
    """
    Arrivals and calls reported beyond the planned or possible number, in percent of that
    number. Absent: none.
    """


class GeneratorReport(TypedDict):
    """
    Health of the load generator.
    """

    busiest_core_permille: int
    """
    Maximum CPU use of a firing thread in any delta, in thousandths of its core.
    """
    busy_deltas_pct: float
    """
    Share of deltas in which a firing thread used more than 90 % of its core, in percent.
    """
    connections_opened: int
    """
    Number of connections opened.
    """
    connections_reused: int
    """
    Number of calls on a connection that was already open.
    """
    listen_overflows_max: NotRequired[int]
    """
    Number of connections during the run that found a full listener queue on one agent's
    machine; the maximum of all machines. Relevant when the target runs there.
    """
    queue: NotRequired[Ladder | None]
    """
    Time from there until dispatch.
    """
    redirects: NotRequired[int]
    """
    Number of redirects followed within the calls.
    """
    redirects_not_followed: NotRequired[int]
    """
    Number of calls that ended with a redirect, although the plan follows redirects: it was
    beyond the limit, or led to another origin.
    """
    resent: NotRequired[int]
    """
    Number of requests sent a second time because their first connection had closed: the target
    may have received them twice.
    """
    retransmits_max: NotRequired[int]
    """
    Number of TCP segments retransmitted during the run by one agent's machine, for all its
    processes; the maximum of all machines.
    """
    schedule_lag: NotRequired[Ladder | None]
    """
    Time from due until the pacer reached the arrival, in the measured time.
    """
    stall_us_max: int
    """
    Longest delay of a firing thread behind its own timer, in µs.
    """


class HoldWindow(TypedDict):
    """
    A part of a run at one rate, judged by the gates that are held.
    """

    actual: NotRequired[float | None]
    """
    Figure of the part, in the unit of the key. Null: nothing to measure.
    """
    calls: int
    """
    Number of their calls that had ended.
    """
    from_us: int
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
    planned: int
    """
    Number of arrivals planned in it.
    """
    rate: int
    """
    Rate of the part.
    """
    started: int
    """
    Number of those that started.
    """
    to_us: int
    """
    End of the judged due time, exclusive, in µs after the start.
    """


class HolderFacts(TypedDict):
    """
    Work of one process in the run.
    """

    calls: int
    """
    Number of calls ended.
    """
    clock_bound_us: NotRequired[int | None]
    """
    Maximum error of its clock's offset from the coordinator's, in µs.
    """
    deltas: int
    """
    Number of its deltas that were folded.
    """
    development: NotRequired[bool]
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
    lost: NotRequired[
        Literal["silent", "replaced", "left", "failed", "isolated", "not_ready"] | None
    ]
    """
    Why it lost its shards. Null: it did not.
    """
    shards: int
    """
    Maximum number of shards that it held at once.
    """
    started: int
    """
    Number of arrivals started.
    """
    tail: NotRequired[TailFacts | None]
    """
    Tail of a killed process, reported by a later process of its agent.
    """


class Holding(TypedDict):
    """
    Shards of one holder.

    It is read only as part of a whole map, which is checked before its strides are expanded.
    """

    holder: Holder
    """
    Process that holds the shards.
    """
    shards: list[int | tuple[int, int, int]]
    """
    Shards held, sorted: the arrivals with `n mod shards` in this list. Stored as shards and
    strides `[first, step, count]`.
    """


class LoadCurve(TypedDict):
    """
    Latency by level of the load. A level is a part of the plan with a constant rate.
    """

    knee: NotRequired[Knee | None]
    """
    Where the target stopped holding the load. Null: see `no_knee`.
    """
    levels: list[LoadLevel]
    """
    Levels that the run reached, in the order of time.
    """
    no_knee: NotRequired[Literal["few_levels", "all_held", "lowest_broke", "steered"] | None]
    """
    Why there is no knee. Null: there is one.
    """


class MetricsReport(TypedDict):
    """
    Own metrics of a scenario in the measured time, by name.
    """

    counters: NotRequired[dict[str, CounterReport]]
    """
    Counters.
    """
    rates: NotRequired[dict[str, RateReport]]
    """
    Rate metrics.
    """
    trends: NotRequired[dict[str, TrendReport]]
    """
    Trends.
    """


class Omission(TypedDict):
    """
    Percentile with the largest ratio of corrected to uncorrected, and the shares of the time
    between due and dispatch.
    """

    factor: float
    """
    Corrected / uncorrected at this percentile.
    """
    origin: Literal["negligible", "generator", "target"]
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
    response_us: int
    """
    Corrected latency at this percentile, in µs.
    """
    schedule_lag_pct: float
    """
    Share of schedule lag in the time from due to dispatch of all calls, in percent.
    """
    service_us: int
    """
    Uncorrected latency at this percentile, in µs.
    """


class Raised(TypedDict):
    """
    Error that a check or a task raised, with its count in the whole run.
    """

    by: Literal["check", "task", "blocking"]
    """
    Part of the scenario that raised it.
    """
    count: int
    """
    Number of times.
    """
    text: str
    """
    Type of the error, its message and its line.
    """
    trace: NotRequired[str | None]
    """
    Traceback of one of them: the user's lines, outermost first, such as `shop.py:40 in buy`,
    one per line. Absent: no agent reported one.
    """


class ShardMap(TypedDict):
    """
    Which holders had which shards from a tick on.
    """

    from_tick: int
    """
    First due tick of this map; it holds until a later map begins.
    """
    generation: int
    """
    Number of the assignment.
    """
    holdings: list[Holding]
    """
    Every shard that had a holder.
    """


class Steered(TypedDict):
    """
    One change that a user made to a running run.
    """

    at: int
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
    from_us: int
    """
    When it took effect, in µs after the start.
    """


class StoryLine(TypedDict):
    """
    One line of the timeline.
    """

    at: int
    """
    When it happened, by the writer's clock.
    """
    seq: int
    """
    Stream sequence in LP_CTL.
    """
    text: str
    """
    What happened, as text for people.
    """


class TaskReport(TypedDict):
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
    checks: NotRequired[Checks | None]
    """
    Its checks; null when none examined a response.
    """
    errors: int
    """
    Number of errors in the measured time, counted as in `errors_total`.
    """
    finished: int
    """
    Number of its finished calls in the measured time; by rules 2 plus one for each time that it
    raised without a call.
    """
    metrics: NotRequired[MetricsReport | None]
    """
    Its own metrics; null without any.
    """
    name: str
    """
    Name of the task.
    """
    raised: NotRequired[list[Raised]]
    """
    Errors that the task and its check raised in Python, the most frequent first.
    """
    response: NotRequired[Ladder | None]
    """
    Response time of its calls, each call by itself.
    """
    service: NotRequired[Ladder | None]
    """
    Service time of its calls, each call by itself.
    """
    streams: NotRequired[StreamReport | None]
    """
    Its streamed responses; null without any.
    """
    task_raises: NotRequired[TaskRaises | None]
    """
    Number of its arrivals of the measured time that raised an error; null without any, and by
    rules 1.
    """
    unconnected: NotRequired[int]
    """
    Number of its finished calls without a connection for a request, in the measured time.
    Absent: none, or rules 1.
    """
    weight: int
    """
    Weight of the task; in a mix among the tasks of its type.
    """


class UserTypeReport(TypedDict):
    """
    Results of one user type: those of its tasks together.
    """

    arrivals: ArrivalCounts
    """
    Its arrivals in the whole run.
    """
    checks: NotRequired[Checks | None]
    """
    Its checks; null when none examined a response.
    """
    errors: int
    """
    Number of errors in the measured time, counted as in `errors_total`.
    """
    finished: int
    """
    Number of its finished calls in the measured time, counted as those of a task.
    """
    metrics: NotRequired[MetricsReport | None]
    """
    Its own metrics; null without any.
    """
    name: str
    """
    Name of the type.
    """
    response: NotRequired[Ladder | None]
    """
    Response time of its calls, each call by itself.
    """
    rest: NotRequired[Rest1 | Rest2 | Rest3 | Rest4 | None]
    """
    Think time of those users between two tasks. Absent: none.
    """
    service: NotRequired[Ladder | None]
    """
    Service time of its calls, each call by itself.
    """
    session: NotRequired[SessionLength1 | SessionLength2 | SessionLength3 | None]
    """
    Length of the sessions of those users. Absent: each stays for the whole run.
    """
    share: int
    """
    Share of the type, out of the sum of all shares.
    """
    streams: NotRequired[StreamReport | None]
    """
    Its streamed responses; null without any.
    """
    task_raises: NotRequired[TaskRaises | None]
    """
    Number of its arrivals of the measured time that raised an error; null without any.
    """
    tasks: list[str]
    """
    Names of its tasks.
    """
    unconnected: NotRequired[int]
    """
    Number of its finished calls without a connection for a request, in the measured time.
    """
    users: NotRequired[int | None]
    """
    Number of its users in a closed loop. Absent: arrivals on schedule.
    """


class Certificate(TypedDict):
    """
    Whether the figures of a run can be trusted, with the evidence.
    """

    findings: list[Finding]
    """
    Findings; empty when VALID.
    """
    grade: Literal["VALID", "DEGRADED", "INVALID"]
    """
    Worst grade of all findings.
    """


class HeldRate(TypedDict):
    """
    The highest rate at which the gates hold that a run holds, and how it was found.
    """

    failed_rps: NotRequired[float | None]
    """
    The lowest rate that failed, or what the target answered under more; null: none.
    """
    gates: list[str]
    """
    The gates, such as `p99_ms <= 200`.
    """
    rps: NotRequired[float | None]
    """
    The highest rate that passed, in arrivals per second, unless it failed later. Null: none.
    """
    steps: list[HoldWindow]
    """
    What was measured before each change of the rate, in order.
    """


class Latency(TypedDict):
    """
    Latency, corrected and uncorrected.
    """

    co_factor: NotRequired[float | None]
    """
    CO factor: corrected p99 / uncorrected p99, the error of a tool that waits for responses.
    Null in a closed loop, which has no schedule.
    """
    omission: NotRequired[Omission | None]
    """
    Largest ratio of corrected to uncorrected, and its origin. Absent in a closed loop and by
    rules 1.
    """
    response: NotRequired[Ladder | None]
    """
    Response time, end − due: what a user on schedule would have waited. Null when no call
    finished.
    """
    response_failed: NotRequired[Ladder | None]
    """
    Response time of the calls that were not ok.
    """
    response_histogram: str
    """
    Whole distribution of the response time.
    """
    response_ok: NotRequired[Ladder | None]
    """
    Response time of the calls that were ok; a filtered subset is misleading by itself.
    """
    service: NotRequired[Ladder | None]
    """
    Service time, end − dispatch: the time of the target alone. Null when no call finished.
    """
    service_histogram: str
    """
    Whole distribution of the service time.
    """
    unconnected: NotRequired[int]
    """
    Number of finished calls without a connection for a request: their latency is no server's.
    Absent: none, or rules 1.
    """


class RunFacts(TypedDict):
    """
    Identity, conditions and ending of a run.
    """

    breach: NotRequired[Breach | None]
    """
    Gate whose breach stopped the run, at the request of `--abort-on-breach`.
    """
    connections: NotRequired[Connections]
    """
    Connection settings. Absent: the defaults.
    """
    created_at: int
    """
    When the run was created.
    """
    ending: NotRequired[
        Literal["completed", "stopped", "abandoned", "failed", "aborted", "log_full"] | None
    ]
    """
    How it ended, once sealed.
    """
    failure: NotRequired[Failure | None]
    """
    Failure of the first holder that could not perform its shards.
    """
    feeds: NotRequired[list[FeedFacts]]
    """
    Feeds of the scenario.
    """
    generation: int
    """
    Number of the last assignment.
    """
    held: NotRequired[HeldRate | None]
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
    maps: NotRequired[list[ShardMap]]
    """
    Shard maps over time. A holder has the arrivals n whose `n mod shards` is in its list.
    """
    max_in_flight: NotRequired[int | None]
    """
    Maximum number of arrivals in flight per agent by the plan; null: the agent's own default.
    """
    parameters: NotRequired[dict[str, str | Text1]]
    """
    Parameters that the scenario read when it was compiled, by name.
    """
    plan_hash: str
    """
    SHA-256 of the plan's canonical JSON, in lower-case hex.
    """
    profile_us: int
    """
    Length of the profile in µs; less where a feed without a row ends the run.
    """
    refused: list[Problem]
    """
    Why it was refused or cancelled.
    """
    rest: NotRequired[Rest1 | Rest2 | Rest3 | Rest4 | None]
    """
    Think time of those users between two tasks. Absent: none, or a mix, whose types have their
    own.
    """
    rows_used_up: NotRequired[RowsUsedUp | None]
    """
    Feed without a row left, where it ended the run. Absent: no feed did.
    """
    rules: NotRequired[Literal["1", "2", "3", "4"]]
    """
    Version of the rules by which the run is judged. Absent: rules 1.
    """
    seed: int
    """
    Random seed; with the plan it fixes every arrival.
    """
    session: NotRequired[SessionLength1 | SessionLength2 | SessionLength3 | None]
    """
    Length of the sessions of those users. Absent: each stays for the whole run, or a mix, whose
    types have their own.
    """
    shape: Literal[
        "ramp", "constant", "step", "spike", "stages", "closed", "replay", "burst", "sine"
    ]
    """
    Shape of the profile.
    """
    start_at: NotRequired[int | None]
    """
    When the run started. Null: it did not.
    """
    state: Literal[
        "requested", "waiting", "refused", "gathering", "preparing", "running", "stopping", "sealed"
    ]
    """
    State of the run; the report is complete only when `sealed` or `refused`.
    """
    steered: NotRequired[list[Steered]]
    """
    Changes that users made while it ran, in order: its figures are not those of its plan.
    """
    stopped_at_us: NotRequired[int | None]
    """
    When the run was stopped before its end, in µs after the start. Null: it was not.
    """
    tags: NotRequired[dict[str, str]]
    """
    Tags by which people distinguish runs.
    """
    tick_us: int
    """
    Length of a tick of `series` in µs.
    """
    unanswered: NotRequired[Unanswered | None]
    """
    Failed calls, where the run was stopped because no server responded.
    """
    user_stages: NotRequired[list[UserStage] | None]
    """
    Number of active users of that closed loop over time, of which `users` is the maximum.
    Absent: all are active for the whole run.
    """
    users: NotRequired[int | None]
    """
    Number of users of a closed loop, each of which starts its next task when its last one
    ended: latency is not counted from a schedule. Absent: arrivals on schedule.
    """


class Report(TypedDict):
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
    checks: NotRequired[Checks | None]
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
    error_rate_pct: NotRequired[float | None]
    """
    Errors in percent of finished calls; by rules 2 each task that raised without a call counts
    as one more finished call. Null without any.
    """
    errors_total: int
    """
    Number of finished calls that were not ok, in the measured time. By rules 2 including the
    last call of each task that raised, plus one for each task that raised without a call.
    """
    exchanges: NotRequired[list[ExchangeSeen]]
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
    knee_point: NotRequired[KneePoint | None]
    """
    The knee of the load curve as one object; null without a knee. Outside of the digest, too.
    """
    latency: Latency
    """
    Latency of all finished calls in the measured time.
    """
    load_curve: NotRequired[LoadCurve | None]
    """
    Latency by level of the load, and the knee; null when the plan holds fewer than two rates.
    Computed from the log, and outside of the digest: earlier versions did not have it.
    """
    max_ms: NotRequired[float | None]
    """
    Longest response time in ms; null when no call finished.
    """
    metrics: NotRequired[MetricsReport | None]
    """
    Own metrics of the scenario, in the measured time; null without any.
    """
    p50_ms: NotRequired[float | None]
    """
    Median response time in ms; null when no call finished.
    """
    p95_ms: NotRequired[float | None]
    """
    95th percentile of the response time in ms; null when no call finished.
    """
    p99_ms: NotRequired[float | None]
    """
    99th percentile of the response time in ms; null when no call finished.
    """
    rates: Rates
    """
    Offered against planned arrivals, in the measured time.
    """
    requests_total: int
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
    schema: Literal["loadpilot.report/1"]
    """
    Version of this format.
    """
    series: list[TickReport]
    """
    Results of each due tick, warm-up included.
    """
    status: dict[str, int]
    """
    Number of responses by status code in the measured time.
    """
    story: list[StoryLine]
    """
    Timeline: decisions and facts of the run in order, as text for people.
    """
    streams: NotRequired[StreamReport | None]
    """
    Streamed responses of all tasks, in the measured time; null without any.
    """
    target_url: str
    """
    Target of the load.
    """
    task_raises: NotRequired[TaskRaises | None]
    """
    Number of arrivals of the measured time that raised an error; null without any, and by rules
    1.
    """
    tasks: list[TaskReport]
    """
    Results of each task, in the order of the plan; calls and latency in the measured time.
    """
    types: NotRequired[list[UserTypeReport]]
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
