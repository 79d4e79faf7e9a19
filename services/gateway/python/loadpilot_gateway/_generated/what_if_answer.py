"""Written by `./dev gen` from proto/schema: never edit it."""

from __future__ import annotations

from typing import Annotated
from pydantic import BaseModel, Field, RootModel
from typing_extensions import TypeAliasType
from enum import StrEnum


class BrokeAtU(RootModel[int | None]):
    root: Annotated[int | None, Field(ge=0)]


DroppedAdditionalProperty = TypeAliasType("DroppedAdditionalProperty", Annotated[int, Field(ge=0)])


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


class WhatIfAnswer(BaseModel):
    """
    How the run would have been judged.
    """

    arrivals: ArrivalCounts
    """
    Planned arrivals of the whole run, as in the report: thresholds on dropped arrivals use all
    of them.
    """
    broke_at_us: list[BrokeAtU | None]
    """
    For each threshold the due time, in µs after the start, from which it no longer held over
    the judged time so far. Null for a threshold that holds in the end, and for one on neither
    response time nor error rate.
    """
    certificate: Certificate
    """
    Whether the figures can be trusted.
    """
    error_rate_pct: float | None = None
    """
    Errors in percent of finished calls, as in the report.
    """
    errors_total: Annotated[int, Field(ge=0)]
    """
    Number of errors in the judged time, counted as in the report.
    """
    judged_from_us: Annotated[int, Field(ge=0)]
    """
    Begin of the judged time, in µs after the start.
    """
    judged_to_us: Annotated[int, Field(ge=0)]
    """
    End of the judged time, in µs after the start.
    """
    latency: Latency
    """
    Latency of all finished calls in the judged time.
    """
    rates: Rates
    """
    Offered against planned arrivals, in the judged time.
    """
    requests_total: Annotated[int, Field(ge=0)]
    """
    Number of calls that ended, in the judged time.
    """
    rules: Rules
    """
    Version of the rules of this answer: always the newest.
    """
    rules_of_run: Rules
    """
    Version of the rules of the run's report.
    """
    task_raises: TaskRaises | None = None
    """
    Number of arrivals of the judged time that raised an error; null without any. Of a log
    without the outcomes of the calls before, the least number that it proves.
    """
    verdict: Verdict
    """
    Pass or fail of the thresholds.
    """
