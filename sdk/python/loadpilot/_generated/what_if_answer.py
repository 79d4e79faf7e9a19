"""Written by `./dev gen` from proto/schema: never edit it."""

from __future__ import annotations

from typing import Annotated, Literal
from pydantic import BaseModel, Field, RootModel
from typing_extensions import TypeAliasType
from enum import StrEnum


class BrokeAtU(RootModel[int | None]):
    root: Annotated[int | None, Field(ge=0)]


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


class WhatIfAnswer(BaseModel):
    """
    How the run would have been judged.
    """

    arrivals: ArrivalCounts
    """
    Every planned arrival of the whole run, as in the report: gates of dropped arrivals look at
    all of them.
    """
    broke_at_us: list[BrokeAtU | None]
    """
    For each gate the due time, in µs after the start, from which on it did not hold any more
    over the judged time so far. Null where it holds in the end, and for gates that look at
    neither response time nor error rate.
    """
    certificate: Certificate
    """
    Whether the run can be trusted at all.
    """
    error_rate_pct: float | None = None
    """
    Errors in percent of finished calls, as in the report.
    """
    errors_total: Annotated[int, Field(ge=0)]
    """
    Errors in the judged time, as in the report.
    """
    judged_from_us: Annotated[int, Field(ge=0)]
    """
    Where the judged time begins, in µs after the start.
    """
    judged_to_us: Annotated[int, Field(ge=0)]
    """
    Where it ends.
    """
    latency: Latency
    """
    Latency of all finished calls in the judged time.
    """
    rates: Rates
    """
    Offered against planned, in the judged time.
    """
    requests_total: Annotated[int, Field(ge=0)]
    """
    Calls that ended, in the judged time.
    """
    rules: Rules
    """
    By which rules it is judged here: always the newest.
    """
    rules_of_run: Rules
    """
    By which rules its report is judged.
    """
    task_raises: TaskRaises | None = None
    """
    Arrivals of the judged time whose task raised an error; null when there were none. Of a log
    that does not tell how the calls before had ended, the least number that it proves.
    """
    verdict: Verdict
    """
    Pass or fail of the gates.
    """
