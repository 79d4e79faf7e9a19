"""Written by `./dev gen` from proto/schema: never edit it."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, RootModel, StringConstraints
from typing import Annotated, Literal
from typing_extensions import TypeAliasType
from enum import StrEnum


DroppedAdditionalProperty = TypeAliasType("DroppedAdditionalProperty", Annotated[int, Field(ge=0)])


class ArrivalCounts(BaseModel):
    """
    Every planned arrival: `planned = started + Σ dropped + lost + waiting`. A closed loop plans
    none: there `planned = started + Σ dropped` as reported, and what was not reported shows as
    intervals in `gaps.lost`.
    """

    dropped: dict[str, DroppedAdditionalProperty]
    """
    Never started, by reason.
    """
    lost: Annotated[int, Field(ge=0)]
    """
    Held by somebody who did not report them: see `gaps.lost`.
    """
    planned: Annotated[int, Field(ge=0)]
    """
    What the plan asked for, computed from the log and never summed from agents.
    """
    started: Annotated[int, Field(ge=0)]
    """
    Their first call was dispatched.
    """
    task_errors: Annotated[int, Field(ge=0)]
    """
    Started, and not every call of it was ok, or it raised an error.
    """
    waiting: Annotated[int, Field(ge=0)]
    """
    Not yet reported in a run that goes on; 0 once sealed.
    """


class Bytes(BaseModel):
    """
    Bytes moved.
    """

    received: Annotated[int, Field(ge=0)]
    """
    Read, headers included where the engine sees them.
    """
    received_per_sec: float
    """
    Read, per second of the measured time.
    """
    sent: Annotated[int, Field(ge=0)]
    """
    Written, headers included.
    """
    sent_per_sec: float
    """
    Written, per second of the measured time.
    """


CausesAdditionalProperty = TypeAliasType("CausesAdditionalProperty", Annotated[int, Field(ge=0)])


OutcomesAdditionalProperty = TypeAliasType(
    "OutcomesAdditionalProperty", Annotated[int, Field(ge=0)]
)


class CallCounts(BaseModel):
    """
    Every call: `attempted = Σ outcomes`.
    """

    attempted: Annotated[int, Field(ge=0)]
    """
    Calls that were dispatched.
    """
    causes: dict[str, dict[str, CausesAdditionalProperty]] | None = None
    """
    Why those without a complete answer had none.
    """
    in_flight: Annotated[int, Field(ge=0)]
    """
    In flight in a run that goes on; 0 once sealed.
    """
    outcomes: dict[str, OutcomesAdditionalProperty]
    """
    How they ended.
    """


class Cause(StrEnum):
    """
    Why a call got no complete answer.
    """

    name_not_resolved = "name_not_resolved"
    """
    The target's name was not resolved.
    """
    no_such_address = "no_such_address"
    """
    It has no address of the kind that was asked for.
    """
    refused = "refused"
    """
    Nobody listens, or the list of waiting connections is full (ECONNREFUSED).
    """
    reset = "reset"
    """
    The peer cut the connection off (ECONNRESET, ECONNABORTED).
    """
    broken_pipe = "broken_pipe"
    """
    Written to a connection that the peer had closed (EPIPE).
    """
    unreachable = "unreachable"
    """
    No way there (ENETUNREACH, EHOSTUNREACH, ENETDOWN, EHOSTDOWN).
    """
    system_timeout = "system_timeout"
    """
    The system gave up on a peer that acknowledged nothing (ETIMEDOUT).
    """
    denied = "denied"
    """
    The system or a firewall forbids it (EACCES, EPERM).
    """
    no_such_socket = "no_such_socket"
    """
    No socket at the path (ENOENT).
    """
    unanswered = "unanswered"
    """
    The peer closed before the first byte of an answer.
    """
    truncated = "truncated"
    """
    The peer closed inside an answer.
    """
    not_http = "not_http"
    """
    What came was not HTTP.
    """
    too_long = "too_long"
    """
    A head, trailers or a line of chunks beyond its limit.
    """
    http2 = "http2"
    """
    The peer broke the rules of HTTP/2, or says that we did.
    """
    stream_reset = "stream_reset"
    """
    The peer reset the stream of HTTP/2.
    """
    gone_away = "gone_away"
    """
    The peer closed the connection of HTTP/2 in an orderly way before the answer (GOAWAY).
    """
    certificate_untrusted = "certificate_untrusted"
    """
    Nobody we trust vouches for the certificate.
    """
    certificate_expired = "certificate_expired"
    """
    The certificate is out of its time.
    """
    certificate_other_name = "certificate_other_name"
    """
    The certificate is for another name.
    """
    certificate_invalid = "certificate_invalid"
    """
    The certificate is wrong in another way.
    """
    client_certificate = "client_certificate"
    """
    The target wants a client certificate, or another one.
    """
    tls_mismatch = "tls_mismatch"
    """
    No version, cipher or protocol in common.
    """
    tls_alert = "tls_alert"
    """
    The target ended TLS with another alert.
    """
    not_tls = "not_tls"
    """
    What came was not TLS.
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
    Cut off while the name was resolved.
    """
    while_connecting = "while_connecting"
    """
    Cut off while the connection was opened.
    """
    while_securing = "while_securing"
    """
    Cut off inside the TLS handshake.
    """
    while_waiting_for_a_stream = "while_waiting_for_a_stream"
    """
    Cut off while it waited for a stream of HTTP/2.
    """
    while_sending = "while_sending"
    """
    Cut off while the request was written.
    """
    before_first_byte = "before_first_byte"
    """
    Cut off before the first byte of the answer.
    """
    before_last_byte = "before_last_byte"
    """
    Cut off before the last byte of the answer.
    """
    other = "other"
    """
    Something else; the agent's log names it (`RUST_LOG=loadpilot_agent=debug`).
    """
    not_allowed = "not_allowed"
    """
    The agent may not connect there (`--allow-target`).
    """


class Change2(BaseModel):
    """
    Nothing is started.
    """

    type: Literal["paused"]


class Change3(BaseModel):
    """
    Arrivals are started again.
    """

    type: Literal["resumed"]


class Checks(BaseModel):
    """
    Checks that looked at an answer.
    """

    failed: Annotated[int, Field(ge=0)]
    """
    Those that failed.
    """
    passed: Annotated[int, Field(ge=0)]
    """
    Those that passed.
    """


class CounterReport(BaseModel):
    """
    One counter.
    """

    count: float
    """
    The sum of what was added, each to a millionth.
    """
    rate: float
    """
    That, per second of the measured time.
    """


class Ending(StrEnum):
    """
    How a run ended.
    """

    completed = "completed"
    """
    It offered its whole profile.
    """
    stopped = "stopped"
    """
    It was stopped by its user.
    """
    abandoned = "abandoned"
    """
    Its owner or all of its agents were gone.
    """
    failed = "failed"
    """
    It never started, though it was created.
    """
    aborted = "aborted"
    """
    A later local stack found it unfinished.
    """
    log_full = "log_full"
    """
    The log had no room left.
    """


class FailureCause(StrEnum):
    """
    Why a holder cannot go on.
    """

    not_prepared = "not_prepared"
    """
    It could not get ready: secrets, requests or threads.
    """
    scenario = "scenario"
    """
    The scenario cannot be loaded in Python, or its users could not be prepared.
    """
    broken = "broken"
    """
    Its firing threads broke down.
    """
    log_full = "log_full"
    """
    The log takes no more deltas: the run must end, whoever fires.
    """
    log_refuses = "log_refuses"
    """
    The log refuses a delta for another reason.
    """


class FeedFacts(BaseModel):
    """
    What became of a feed in a run.
    """

    cycles: bool
    """
    Rows are meant to be used again when there are no more.
    """
    name: str
    """
    What the scenario calls it.
    """
    rows: Annotated[int, Field(ge=0)]
    """
    How many rows there are.
    """
    taken: Annotated[int, Field(ge=0)]
    """
    How many arrivals were planned that take one, up to a stop, in a closed loop how many there
    were; or how many users, if they are more.
    """


class FindingKind(StrEnum):
    """
    What a finding is about.
    """

    schedule_lag = "schedule_lag"
    """
    The generator reached arrivals late.
    """
    generator_drops = "generator_drops"
    """
    The generator dropped arrivals.
    """
    agent_cpu = "agent_cpu"
    """
    An agent's processor was the limit.
    """
    lost_interval = "lost_interval"
    """
    Nobody reported some arrivals.
    """
    excess = "excess"
    """
    Arrivals were offered by a holder that had been superseded.
    """
    local_resources = "local_resources"
    """
    The generator ran out of ports or file descriptors.
    """
    clock_bound = "clock_bound"
    """
    Clocks are not known well enough.
    """
    unfinished = "unfinished"
    """
    The run is not sealed, or it ended otherwise than by its profile or its user.
    """
    quarantined = "quarantined"
    """
    Events or deltas were unreadable or contradicted the log.
    """
    coverage = "coverage"
    """
    Started arrivals whose calls did not all come to an end of their own.
    """
    feeder_wrap_around = "feeder_wrap_around"
    """
    Rows of a feed were used again, and nobody said that they may be.
    """


class Grade(StrEnum):
    """
    Whether the run can be trusted.
    """

    VALID = "VALID"
    """
    The figures are the target's.
    """
    DEGRADED = "DEGRADED"
    """
    The figures are usable, with the findings in mind.
    """
    INVALID = "INVALID"
    """
    The figures say more about the generator or the gaps than about the target.
    """


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


class Http(StrEnum):
    """
    Versions of HTTP.
    """

    field_1_1 = "1.1"
    """
    HTTP/1.1.
    """
    field_2 = "2"
    """
    HTTP/2: by ALPN over TLS, by prior knowledge in the clear.
    """
    auto = "auto"
    """
    What the target chooses by ALPN; HTTP/1.1 in the clear.
    """


class IpFamily(StrEnum):
    """
    Families of addresses.
    """

    field_4 = "4"
    """
    IPv4.
    """
    field_6 = "6"
    """
    IPv6.
    """


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


class LostInterval(BaseModel):
    """
    Arrivals that a holder did not report.
    """

    arrivals: Annotated[int, Field(ge=0)]
    """
    How many arrivals; in a closed loop those that its later totals name, which may be none.
    """
    from_tick: Annotated[int, Field(ge=0)]
    """
    First due tick.
    """
    holder: Holder
    """
    Who held them.
    """
    to_tick: Annotated[int, Field(ge=0)]
    """
    Last due tick, inclusive.
    """


class Metric1(StrEnum):
    """
    What a threshold measures. Latencies are corrected (counted from due) and cover every finished
    call outside the warm-up, failures and time-outs included.
    """

    p50_ms = "p50_ms"
    p75_ms = "p75_ms"
    p90_ms = "p90_ms"
    p95_ms = "p95_ms"
    p99_ms = "p99_ms"
    p99_9_ms = "p99_9_ms"
    p99_99_ms = "p99_99_ms"
    max_ms = "max_ms"
    mean_ms = "mean_ms"
    p95_first_token_ms = "p95_first_token_ms"
    p99_first_token_ms = "p99_first_token_ms"
    p95_token_gap_ms = "p95_token_gap_ms"
    p99_token_gap_ms = "p99_token_gap_ms"


class OmissionOrigin(StrEnum):
    """
    What makes corrected differ from uncorrected.
    """

    negligible = "negligible"
    """
    The difference is too small to matter.
    """
    generator = "generator"
    """
    The generator: it was late for most of the time.
    """
    target = "target"
    """
    The target: calls waited for a slot, since those before them were not answered. Only this
    is coordinated omission.
    """


class Operator(StrEnum):
    """
    Which side of the limit passes.
    """

    field__ = "<="
    """
    The measured value must not exceed the limit.
    """
    field___1 = ">="
    """
    The measured value must reach the limit.
    """
    field_ = "<"
    """
    The measured value must be less than the limit.
    """
    field__1 = ">"
    """
    The measured value must be more than the limit.
    """


class Outcome(StrEnum):
    """
    How one call ended. Transport beats check beats status.
    """

    ok = "ok"
    """
    Answered below 400, or a check passed.
    """
    http_4xx = "http_4xx"
    """
    Answered 400–499.
    """
    http_5xx = "http_5xx"
    """
    Answered 500–599.
    """
    check_failed = "check_failed"
    """
    A check of the scenario refused the answer.
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
    No complete answer within the time-out, counted from dispatch.
    """
    io = "io"
    """
    The connection broke or the answer was not HTTP.
    """
    local = "local"
    """
    The generator lacked ports, file descriptors or memory: not the target's fault.
    """
    cancelled = "cancelled"
    """
    Cut off by the end of the run or by an abort.
    """
    indeterminate = "indeterminate"
    """
    Sent, and the agent died before it knew the end.
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
    `[first, step, count]`: the shards first, first + step, … of which there are count.
    """


class Problem(BaseModel):
    """
    One thing that is wrong with what a user gave us.
    """

    field: str
    """
    Where: a path such as `tasks[0].steps[1].method`.
    """
    rule: str
    """
    What must hold there, as a sentence without a subject ("must be …").
    """
    value: str
    """
    What was found, shortened to [`crate::limits::PROBLEM_VALUE_CHARS_MAX`] characters.
    """


class Quarantined(BaseModel):
    """
    Something in the log that was set aside.
    """

    reason: str
    """
    Why.
    """
    seq: Annotated[int, Field(ge=0)]
    """
    Its stream sequence.
    """
    subject: str
    """
    Its subject.
    """


class RaisedBy(StrEnum):
    """
    Which part of a scenario in Python raised an error, or what else is to be said of it.
    """

    check = "check"
    """
    `check_…`: the call that it looked at counts as `check_failed`.
    """
    task = "task"
    """
    The task itself: its arrival counts among the task errors.
    """
    blocking = "blocking"
    """
    Neither raised anything, but the task kept every user of its agent waiting.
    """


class RateReport(BaseModel):
    """
    One rate.
    """

    count: Annotated[int, Field(ge=0)]
    """
    How many values; at least one.
    """
    rate: float
    """
    That, in percent.
    """
    trues: Annotated[int, Field(ge=0)]
    """
    How many of them were true.
    """


class Rates(BaseModel):
    """
    Offered against planned, in the measured time.
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
    Arrivals planned in the measured time; of a closed loop those reported.
    """
    planned_rps: float
    """
    Planned arrivals per second.
    """
    shortfall_pct: float
    """
    How far started falls short of planned, in percent.
    """
    started: Annotated[int, Field(ge=0)]
    """
    Arrivals started of those.
    """


class ReportSchema(StrEnum):
    """
    The version of the report format.
    """

    loadpilot_report_1 = "loadpilot.report/1"
    """
    The first one.
    """


class Wait(BaseModel):
    model_config = ConfigDict(
        extra="forbid",
    )
    from_us: Annotated[int, Field(ge=0)]
    """
    At least, in µs.
    """
    to_us: Annotated[int, Field(ge=0)]
    """
    At most, in µs.
    """


class Rest1(BaseModel):
    """
    Thinks for so long after a task, drawn evenly from the seed.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    wait: Wait


class Pacing(BaseModel):
    model_config = ConfigDict(
        extra="forbid",
    )
    every_us: Annotated[int, Field(ge=0)]
    """
    In µs.
    """


class Rest2(BaseModel):
    """
    Begins a task so long after it began the last one, or at once when that took longer.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    pacing: Pacing


class Reuse1(BaseModel):
    """
    This share of the calls, in millionths; which ones is drawn from the seed.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    share_ppm: Annotated[int, Field(ge=0)]


class Rules(StrEnum):
    """
    By which rules the figures and the verdict of a run come out. Ordered: later rules are greater.
    """

    field_1 = "1"
    """
    The first rules: those of every log that names none.
    """
    field_2 = "2"
    """
    A task that raised is an error, a run that offered less than 95 % of its plan fails, and
    what contradicts a holder's own totals is set aside.
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


class Shape(StrEnum):
    """
    The named shapes of a profile.
    """

    ramp = "ramp"
    """
    Linear from 0 to the rate, then steady.
    """
    constant = "constant"
    """
    The full rate at once.
    """
    step = "step"
    """
    Equal windows of rising rate.
    """
    spike = "spike"
    """
    Thirds of 20 %, 100 %, 20 %.
    """
    stages = "stages"
    """
    Any list of stages.
    """
    closed = "closed"
    """
    No rate at all: as fast as the users of a closed loop are answered.
    """


class StreamReport(BaseModel):
    """
    What streamed answers were like, in the measured time.
    """

    first_token: Ladder | None = None
    """
    From due to the first token, corrected.
    """
    first_token_service: Ladder | None = None
    """
    From dispatch to the first token, uncorrected.
    """
    token_gap: Ladder | None = None
    """
    From one token to the next; null when no answer had two.
    """
    tokens: Annotated[int, Field(ge=0)]
    """
    Tokens that came.
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


class TaskRaises(BaseModel):
    """
    Arrivals whose task raised an error, by how the last call of each had ended.
    """

    after_failed: Annotated[int | None, Field(ge=0)] = None
    """
    Its last call had failed or was cut off; it is not counted a second time.
    """
    after_ok: Annotated[int | None, Field(ge=0)] = None
    """
    Its last call was ok; that one counts as failed (`task_error`).
    """
    without_call: Annotated[int | None, Field(ge=0)] = None
    """
    It made no call: one more finished call that failed.
    """


class Text1(BaseModel):
    """
    The name under which the submitter handed over the value.
    """

    secret: str
    """
    The handle.
    """


class ThresholdResult(BaseModel):
    """
    How one threshold came out.
    """

    actual: float | None = None
    """
    What was measured; null when there was nothing to measure, which never passes.
    """
    key: str
    """
    As people write it.
    """
    limit: float
    """
    The limit.
    """
    metric: (
        Metric1
        | Literal["p50_first_token_ms"]
        | Literal["p50_token_gap_ms"]
        | Literal["error_rate"]
        | Literal["task_errors"]
        | Literal["dropped_rate"]
        | Literal["shortfall"]
        | Literal["achieved_rps"]
        | Literal["checks"]
        | Literal["own"]
    )
    """
    What was measured.
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
    Why nothing was measured, where that needs words.
    """
    task: str | None = None
    """
    For one task only.
    """


class TickReport(BaseModel):
    """
    One due tick.
    """

    dropped: Annotated[int, Field(ge=0)]
    """
    Arrivals dropped, for whatever reason, by agents.
    """
    errors: Annotated[int, Field(ge=0)]
    """
    Errors, as in `errors_total`.
    """
    finished: Annotated[int, Field(ge=0)]
    """
    Finished calls, as in [`TaskReport::finished`].
    """
    max_us: Annotated[int | None, Field(ge=0)] = None
    """
    Longest response time in µs.
    """
    p50_us: Annotated[int | None, Field(ge=0)] = None
    """
    Median response time in µs; null when nothing finished.
    """
    p90_us: Annotated[int | None, Field(ge=0)] = None
    """
    90th percentile of the response time in µs.
    """
    p95_us: Annotated[int | None, Field(ge=0)] = None
    """
    95th percentile of the response time in µs.
    """
    p99_us: Annotated[int | None, Field(ge=0)] = None
    """
    99th percentile of the response time in µs.
    """
    planned: Annotated[int, Field(ge=0)]
    """
    Arrivals planned.
    """
    started: Annotated[int, Field(ge=0)]
    """
    Arrivals started.
    """
    tick: Annotated[int, Field(ge=0)]
    """
    Its number; it begins at `tick × tick_us` after the start.
    """


class Timestamp(RootModel[int]):
    root: Annotated[int, Field(ge=0)]
    """
    An instant: microseconds since the Unix epoch, UTC.
    """


class TlsIdentity(BaseModel):
    """
    A client certificate and the handle of its key.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    certificate_pem: str
    """
    The certificate and its chain (PEM).
    """
    key_secret: str
    """
    The name under which the submitter handed over the private key (PEM).
    """


class TlsSettings(BaseModel):
    """
    What a TLS handshake uses beside the defaults.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    identity: TlsIdentity | None = None
    """
    The client's certificate.
    """
    insecure: bool | None = None
    """
    The target's certificate is not verified. The report says so.
    """
    roots_pem: str | None = None
    """
    Certificates (PEM) to trust instead of those of the agent's machine.
    """


class TrendReport(BaseModel):
    """
    One trend: its values to four significant digits, in the unit of the scenario.
    """

    count: Annotated[int, Field(ge=0)]
    """
    How many values; at least one.
    """
    max: float
    """
    The greatest.
    """
    mean: float
    """
    The arithmetic mean.
    """
    min: float
    """
    The least.
    """
    p50: float
    """
    50 %.
    """
    p90: float
    """
    90 %.
    """
    p95: float
    """
    95 %.
    """
    p99: float
    """
    99 %.
    """


class Unanswered(BaseModel):
    """
    Calls of a run, all of which failed to connect.
    """

    calls: Annotated[int, Field(ge=0)]
    """
    How many, from the first call of the run on.
    """
    causes: dict[str, CausesAdditionalProperty] | None = None
    """
    Why, where that is known.
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
    Why the verdict is a fail though no threshold failed (nothing was finished, …).
    """
    thresholds: list[ThresholdResult]
    """
    One line per threshold, in the order of the plan.
    """


class WarmUp(BaseModel):
    """
    What the warm-up left out of thresholds, ladder, error rate and achieved rate.
    """

    arrivals: Annotated[int, Field(ge=0)]
    """
    Arrivals that were due in it.
    """
    calls: Annotated[int, Field(ge=0)]
    """
    Calls of those that ended.
    """
    warm_up_us: Annotated[int, Field(ge=0)]
    """
    Its length in µs.
    """


class CallReport(BaseModel):
    """
    One call of a task.
    """

    anatomy: dict[str, Ladder]
    """
    Where its time went, in the measured time.
    """
    counts: CallCounts
    """
    How many times it was dispatched in the whole run, and how those ended.
    """
    name: str
    """
    Its name.
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
    Answers by status code in the measured time.
    """


class Change1(BaseModel):
    """
    Another rate.
    """

    rate: Annotated[int, Field(ge=0)]
    """
    What is planned from there on.
    """
    type: Literal["rate"]
    was: Annotated[int, Field(ge=0)]
    """
    What was planned.
    """


class Connections(BaseModel):
    """
    Everything about connections; the defaults are those of an ordinary HTTP client.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    age_us_max: Annotated[int | None, Field(ge=0)] = None
    """
    A connection that is older than this, in µs, takes no further request.
    """
    connect_to: str | None = None
    """
    Where to connect instead of to the target, whose name stays in Host and in TLS:
    `host:port`, or `unix:/path` for a socket of the agent's machine.
    """
    http: Http | None = None
    """
    Which HTTP is spoken.
    """
    ip: IpFamily | None = None
    """
    Only addresses of this family are connected to; all that the name stands for when absent.
    """
    max: Annotated[int | None, Field(ge=0)] = None
    """
    Most connections that one agent has open to the target at a time; arrivals that find none
    free wait in the queue. No limit of its own when absent.
    """
    open_first: Annotated[int | None, Field(ge=0)] = None
    """
    Connections that each agent opens before the run starts; none when absent.
    """
    requests_max: Annotated[int | None, Field(ge=0)] = None
    """
    A connection is closed after this many requests.
    """
    resolve_us: Annotated[int | None, Field(ge=0)] = None
    """
    The target's name is resolved again when the answer is older than this, in µs; once per run
    when absent.
    """
    reuse: Literal["always"] | Literal["never"] | Reuse1 | None = None
    """
    How many calls may use a connection that is open already.
    """
    sources: list[str] | None = None
    """
    Addresses of the agent's machine to connect from, in turn, each with a range of ports if
    the system is not to choose them: see [`Source`].
    """
    streams_max: Annotated[int | None, Field(ge=0)] = None
    """
    HTTP/2 only: most requests at a time on one connection; 100 when absent.
    """
    tls: TlsSettings | None = None
    """
    For https.
    """


class ExchangeSeen(BaseModel):
    """
    One exchange of the first arrivals of a run; see [`crate::plan::Plan::debug_requests`].
    """

    answer: list[str]
    """
    The status line and the header lines of the answer, secrets masked, cut where they are too
    long; none when none came.
    """
    arrival: Annotated[int, Field(ge=0)]
    """
    The arrival; in a closed loop the user.
    """
    call: Annotated[int, Field(ge=0, le=65535)]
    """
    The call, by its place in the plan's list of calls.
    """
    cause: Cause | None = None
    """
    Why there is no complete answer.
    """
    outcome: Outcome
    """
    How it ended.
    """
    received_bytes: Annotated[int, Field(ge=0)]
    """
    Bytes that came, headers included where the engine sees them.
    """
    request: list[str]
    """
    The request line and the header lines, secrets masked.
    """
    request_body_bytes: Annotated[int, Field(ge=0)]
    """
    Bytes of the request's body.
    """
    response_us: Annotated[int, Field(ge=0)]
    """
    End − due, in µs.
    """


class Failure(BaseModel):
    """
    Why a holder could not do its shards.
    """

    cause: FailureCause
    """
    What kind of reason it is.
    """
    reason: str
    """
    Why, for people to read.
    """


class Finding(BaseModel):
    """
    One reason not to trust the run blindly.
    """

    evidence: str
    """
    What was measured and the limit it crossed, for people.
    """
    grade: Grade
    """
    How bad it is.
    """
    kind: FindingKind
    """
    What it is about.
    """


class Gaps(BaseModel):
    """
    What the log does not know.
    """

    excess_arrivals: Annotated[int, Field(ge=0)]
    """
    Arrivals offered by holders that had been superseded at the due tick.
    """
    excess_calls: Annotated[int, Field(ge=0)]
    """
    Calls of those; outside percentiles and verdict.
    """
    late_deltas: Annotated[int, Field(ge=0)]
    """
    Deltas that came after the run was sealed.
    """
    lost: list[LostInterval]
    """
    Arrivals that a holder did not report.
    """
    lost_time_pct: float | None = None
    """
    Closed loop only: the time of users that nobody reported on, in percent of all their time.
    """
    quarantined: list[Quarantined]
    """
    Events and deltas that were set aside, and why.
    """
    surplus_pct: float | None = None
    """
    Arrivals and calls that were reported beyond what was planned or can have been made, in
    percent of that. Absent: none.
    """


class GeneratorReport(BaseModel):
    """
    How the generator itself fared.
    """

    busiest_core_permille: Annotated[int, Field(ge=0)]
    """
    The busiest firing thread of any delta, in thousandths of its core.
    """
    busy_deltas_pct: float
    """
    Share of deltas in which a firing thread was above 90 % of its core, in percent.
    """
    connections_opened: Annotated[int, Field(ge=0)]
    """
    Connections opened.
    """
    connections_reused: Annotated[int, Field(ge=0)]
    """
    Calls that used an open connection.
    """
    listen_overflows_max: Annotated[int | None, Field(ge=0)] = None
    """
    Connections that found the queue of a listener on an agent's machine full during the run,
    the most of any machine: of interest when the target is there.
    """
    queue: Ladder | None = None
    """
    From there until dispatch.
    """
    resent: Annotated[int | None, Field(ge=0)] = None
    """
    Requests that were sent a second time on another connection, because the first one turned
    out to be closed: the target may have seen them twice.
    """
    retransmits_max: Annotated[int | None, Field(ge=0)] = None
    """
    TCP segments that the kernel of one agent's machine sent again during the run, for whomever:
    the most of any machine.
    """
    schedule_lag: Ladder | None = None
    """
    From due until the pacer reached the arrival, in the measured time.
    """
    stall_us_max: Annotated[int, Field(ge=0)]
    """
    The longest that a firing thread was late for its own timer, in µs.
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


class Holding(BaseModel):
    """
    The shards of one holder.

    It is read as part of a whole map only, which is judged before it is unfolded.
    """

    holder: Holder
    """
    Who.
    """
    shards: list[Piece1 | Piece2]
    """
    Which arrivals: those with `n mod shards` in this list; sorted. Stored as shards and
    strides of them, `[first, step, count]`.
    """


class MetricsReport(BaseModel):
    """
    What a scenario measured itself in the measured time, by name.
    """

    counters: dict[str, CounterReport] | None = None
    """
    Its counters.
    """
    rates: dict[str, RateReport] | None = None
    """
    Its rates.
    """
    trends: dict[str, TrendReport] | None = None
    """
    Its trends.
    """


class Omission(BaseModel):
    """
    The percentile at which corrected is the largest multiple of uncorrected, and where the time
    between due and dispatch went.
    """

    factor: float
    """
    Corrected over uncorrected there.
    """
    origin: OmissionOrigin
    """
    Whose it is.
    """
    percentile: float
    """
    The percentile: of those with a difference that matters, if there is one.
    """
    queue_pct: float
    """
    Share of the wait for a slot in it, in percent. Connecting has none: it is in both.
    """
    response_us: Annotated[int, Field(ge=0)]
    """
    Corrected there, in µs.
    """
    schedule_lag_pct: float
    """
    Share of schedule lag in the time from due to dispatch of all calls, in percent.
    """
    service_us: Annotated[int, Field(ge=0)]
    """
    Uncorrected there, in µs.
    """


class Raised(BaseModel):
    """
    What a check or a task raised in the whole run.
    """

    by: RaisedBy
    """
    What of the task.
    """
    count: Annotated[int, Field(ge=0)]
    """
    How many times.
    """
    text: str
    """
    The kind of the error, its message and its place.
    """
    trace: str | None = None
    """
    The lines of the user's that led to one of them, the outermost first, `shop.py:40 in buy`,
    each on a line of its own; absent where no agent told any.
    """


class ShardMap(BaseModel):
    """
    Who owned which shards from a tick on.
    """

    from_tick: Annotated[int, Field(ge=0)]
    """
    The first due tick it is in force for, until a later one begins.
    """
    generation: Annotated[int, Field(ge=0)]
    """
    Its number.
    """
    holdings: list[Holding]
    """
    Every shard that somebody held.
    """


class Steered(BaseModel):
    """
    One change that a user made to a run that ran.
    """

    at: Annotated[int, Field(ge=0)]
    """
    When it was decided.
    """
    by: str
    """
    Who asked for it.
    """
    change: Change1 | Change2 | Change3
    """
    What it was.
    """
    from_us: Annotated[int, Field(ge=0)]
    """
    From when on, in µs after the start.
    """


class StoryLine(BaseModel):
    """
    One line of the story.
    """

    at: Annotated[int, Field(ge=0)]
    """
    When its writer says it happened.
    """
    seq: Annotated[int, Field(ge=0)]
    """
    Its stream sequence in LP_CTL.
    """
    text: str
    """
    What happened.
    """


class TaskReport(BaseModel):
    """
    One task.
    """

    arrivals: ArrivalCounts
    """
    Its arrivals in the whole run.
    """
    calls: list[CallReport]
    """
    Its calls, in order; those made in Python by name.
    """
    checks: Checks | None = None
    """
    Its checks; null when none looked at an answer.
    """
    errors: Annotated[int, Field(ge=0)]
    """
    Errors in the measured time, as in `errors_total`.
    """
    finished: Annotated[int, Field(ge=0)]
    """
    Finished calls of it in the measured time, by rules 2 also one for each time that it raised
    without a call.
    """
    metrics: MetricsReport | None = None
    """
    What it measured itself; null when it did not.
    """
    name: str
    """
    Its name.
    """
    raised: list[Raised] | None = None
    """
    What its checks and itself raised in Python, the most frequent first.
    """
    response: Ladder | None = None
    """
    Response time of all its calls, each on its own.
    """
    service: Ladder | None = None
    """
    Service time of all its calls, each on its own.
    """
    streams: StreamReport | None = None
    """
    Its streamed answers; null when it has none.
    """
    task_raises: TaskRaises | None = None
    """
    Its arrivals of the measured time that raised an error; null as in the report.
    """
    unconnected: Annotated[int | None, Field(ge=0)] = None
    """
    Finished calls of it that had no connection over which a request could be sent, in the
    measured time. Absent: none, or judged by the first rules.
    """
    weight: Annotated[int, Field(ge=0)]
    """
    Its weight.
    """


class Certificate(BaseModel):
    """
    Whether the run can be trusted, with the evidence.
    """

    findings: list[Finding]
    """
    What was found; empty when VALID.
    """
    grade: Grade
    """
    The worst grade of all findings.
    """


class Latency(BaseModel):
    """
    Latency, corrected and uncorrected.
    """

    co_factor: float | None = None
    """
    Corrected p99 over uncorrected p99: what a tool that waits would have left out. Null in a
    closed loop, which has no schedule to count from.
    """
    omission: Omission | None = None
    """
    How far corrected and uncorrected are apart at most, and by what. Absent in a closed loop,
    and where a run is judged by the first rules.
    """
    response: Ladder | None = None
    """
    End − due: what a user who came on schedule would have waited. Null when nothing finished.
    """
    response_failed: Ladder | None = None
    """
    Response time of the calls that were not ok only.
    """
    response_histogram: str
    """
    The whole distribution of the response time.
    """
    response_ok: Ladder | None = None
    """
    Response time of the calls that were ok only; a filtered subset misleads by itself.
    """
    service: Ladder | None = None
    """
    End − dispatch: what the target alone took.
    """
    service_histogram: str
    """
    The whole distribution of the service time.
    """
    unconnected: Annotated[int | None, Field(ge=0)] = None
    """
    Finished calls that had no connection over which a request could be sent: their latency is
    no server's. Absent: none, or judged by the first rules.
    """


class RunFacts(BaseModel):
    """
    What ran, when, and how it ended.
    """

    connections: Connections | None = None
    """
    How the target was spoken to, where that is not the ordinary way.
    """
    created_at: Annotated[int, Field(ge=0)]
    """
    When it was created.
    """
    ending: Ending | None = None
    """
    How it ended, once sealed.
    """
    failure: Failure | None = None
    """
    What the first holder said that could not do its shards.
    """
    feeds: list[FeedFacts] | None = None
    """
    The data of which its arrivals took rows.
    """
    generation: Annotated[int, Field(ge=0)]
    """
    The last assignment's number.
    """
    holders: list[HolderFacts]
    """
    Everybody who ever held shards.
    """
    id: str
    """
    Its id.
    """
    maps: list[ShardMap] | None = None
    """
    Who owned which shards when: the arrivals n with n mod shards in a list were the holder's.
    """
    max_in_flight: Annotated[int | None, Field(ge=0)] = None
    """
    Most arrivals in flight per agent that the plan allows; null: what each agent can hold.
    """
    parameters: dict[str, str | Text1] | None = None
    """
    What the scenario asked for by name, and what it was given.
    """
    plan_hash: str
    """
    SHA-256 of the plan's canonical JSON.
    """
    profile_us: Annotated[int, Field(ge=0)]
    """
    The length of its profile in µs.
    """
    refused: list[Problem]
    """
    Why it was refused or cancelled.
    """
    rest: Rest1 | Rest2 | None = None
    """
    What they did between two tasks. Absent: nothing.
    """
    rules: Rules | None = None
    """
    By which rules it is judged. Absent: the first ones.
    """
    seed: Annotated[int, Field(ge=0)]
    """
    Fixes, with the plan, every arrival.
    """
    shape: Shape
    """
    The shape of its profile.
    """
    start_at: Timestamp | None = None
    """
    When it started, if it did.
    """
    state: RunState
    """
    Where it stands; anything but `sealed` and `refused` is an incomplete report.
    """
    steered: list[Steered] | None = None
    """
    What users changed while it ran, in order: its figures are not those of its plan.
    """
    stopped_at_us: Annotated[int | None, Field(ge=0)] = None
    """
    When it was stopped before its end, in µs after the start.
    """
    tags: dict[str, str] | None = None
    """
    What people tell it from other runs by.
    """
    tick_us: Annotated[int, Field(ge=0)]
    """
    The grain of `series` in µs.
    """
    unanswered: Unanswered | None = None
    """
    What was found where it was stopped because nothing answered.
    """
    users: Annotated[int | None, Field(ge=0)] = None
    """
    Users of a closed loop, each starting its next task when its last one ended: its latency is
    not counted from a schedule. Absent: arrivals on schedule.
    """


class Report(BaseModel):
    """
    What happened in one run.
    """

    arrivals: ArrivalCounts
    """
    Every planned arrival of the whole run, warm-up included.
    """
    bytes: Bytes
    """
    Bytes moved in the measured time.
    """
    calls: CallCounts
    """
    Every call of the whole run, warm-up included.
    """
    certificate: Certificate
    """
    Whether the run can be trusted at all.
    """
    checks: Checks | None = None
    """
    Checks of all tasks, in the measured time; null when none looked at an answer.
    """
    digest: str
    """
    SHA-256 in hex of the canonical JSON of this report with an empty digest.
    """
    duration_secs: float
    """
    Planned length of the run, or until it was stopped, in seconds.
    """
    error_rate_pct: float | None = None
    """
    Errors in percent of finished calls, by rules 2 and of tasks that raised without a call;
    null when there were none of either.
    """
    errors_total: Annotated[int, Field(ge=0)]
    """
    Finished calls that were not ok, in the measured time; by rules 2 also the last call of a
    task that raised, and one for each task that raised without a call.
    """
    exchanges: list[ExchangeSeen] | None = None
    """
    The first exchanges, where the plan asked for them.
    """
    gaps: Gaps
    """
    What the log does not know.
    """
    generator: GeneratorReport
    """
    How the generator itself fared.
    """
    latency: Latency
    """
    Latency of all finished calls in the measured time.
    """
    max_ms: float | None = None
    """
    Longest response time in ms.
    """
    metrics: MetricsReport | None = None
    """
    What the scenario measured itself, in the measured time; null when it did not.
    """
    p50_ms: float | None = None
    """
    Median response time in ms; null when nothing finished.
    """
    p95_ms: float | None = None
    """
    95th percentile of the response time in ms.
    """
    p99_ms: float | None = None
    """
    99th percentile of the response time in ms.
    """
    rates: Rates
    """
    Offered against planned, in the measured time.
    """
    requests_total: Annotated[int, Field(ge=0)]
    """
    Calls that ended, in the measured time.
    """
    rps_actual: float
    """
    Started arrivals per second over the measured time (without warm-up).
    """
    rps_target: float
    """
    The peak rate that was planned, per second.
    """
    run: RunFacts
    """
    What ran, when, and how it ended.
    """
    scenario: str
    """
    The scenario's name.
    """
    schema_: Annotated[ReportSchema, Field(alias="schema")]
    """
    The version of this format.
    """
    series: list[TickReport]
    """
    Per due tick, warm-up included.
    """
    status: dict[Annotated[str, StringConstraints(pattern=r"^\d+$")], int]
    """
    Answers by status code in the measured time.
    """
    story: list[StoryLine]
    """
    Decisions and facts of the run in order, for people.
    """
    streams: StreamReport | None = None
    """
    Streamed answers of all tasks, in the measured time; null when there were none.
    """
    target_url: str
    """
    Where the load went.
    """
    task_raises: TaskRaises | None = None
    """
    Arrivals of the measured time whose task raised an error; null when there were none, and by
    rules 1.
    """
    tasks: list[TaskReport]
    """
    Per task, in the order of the plan; calls, latency in the measured time.
    """
    verdict: Verdict
    """
    Pass or fail of the thresholds.
    """
    warm_up: WarmUp
    """
    What the warm-up left out.
    """
