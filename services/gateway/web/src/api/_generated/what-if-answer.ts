/* Written by `./dev web` from proto/schema: never edit it. */

/**
 * How the run would have been judged.
 */
export interface WhatIfAnswer {
  arrivals: ArrivalCounts;
  /**
   * For each threshold the due time, in µs after the start, from which it no longer held over
   * the judged time so far. Null for a threshold that holds in the end, and for one on neither
   * response time nor error rate.
   */
  broke_at_us: (number | null)[];
  certificate: Certificate;
  /**
   * Errors in percent of finished calls, as in the report.
   */
  error_rate_pct?: number | null;
  /**
   * Number of errors in the judged time, counted as in the report.
   */
  errors_total: number;
  /**
   * Begin of the judged time, in µs after the start.
   */
  judged_from_us: number;
  /**
   * End of the judged time, in µs after the start.
   */
  judged_to_us: number;
  latency: Latency;
  rates: Rates;
  /**
   * Number of calls that ended, in the judged time.
   */
  requests_total: number;
  /**
   * Version of the rules of this answer: always the newest.
   */
  rules: "1" | "2" | "3" | "4";
  /**
   * Version of the rules of the run's report.
   */
  rules_of_run: "1" | "2" | "3" | "4";
  /**
   * Number of arrivals of the judged time that raised an error; null without any. Of a log
   * without the outcomes of the calls before, the least number that it proves.
   */
  task_raises?: TaskRaises | null;
  verdict: Verdict;
}
/**
 * Planned arrivals of the whole run, as in the report: thresholds on dropped arrivals use all
 * of them.
 */
export interface ArrivalCounts {
  /**
   * Number of arrivals that never started, by reason.
   */
  dropped: {
    [k: string]: number;
  };
  /**
   * Number of arrivals of holders that did not report them: see `gaps.lost`.
   */
  lost: number;
  /**
   * Number of planned arrivals, computed from the log and never summed from agents.
   */
  planned: number;
  /**
   * Sessions of the users of a closed loop; absent without sessions, and of a task alone.
   */
  sessions?: SessionCounts | null;
  /**
   * Number of arrivals whose first call was dispatched.
   */
  started: number;
  /**
   * Number of started arrivals that raised an error or had a call that was not ok.
   */
  task_errors: number;
  /**
   * Number of arrivals of an unfinished run that are not reported yet; 0 once sealed.
   */
  waiting: number;
}
/**
 * Sessions in the places of a closed loop, as the target sees them: after the loss of an agent the
 * rest of a session counts as one of its own.
 */
export interface SessionCounts {
  /**
   * Number of sessions that were over when the next one of their place began.
   */
  ended: number;
  /**
   * Number of sessions that began.
   */
  started: number;
}
/**
 * Whether the figures can be trusted.
 */
export interface Certificate {
  /**
   * Findings; empty when VALID.
   */
  findings: Finding[];
  /**
   * Worst grade of all findings.
   */
  grade: "VALID" | "DEGRADED" | "INVALID";
}
/**
 * One reason for doubt about the figures of a run.
 */
export interface Finding {
  /**
   * Measured value and the limit that it crossed, as text for people.
   */
  evidence: string;
  /**
   * Severity of the finding.
   */
  grade: "VALID" | "DEGRADED" | "INVALID";
  /**
   * Subject of the finding.
   */
  kind:
    | "schedule_lag"
    | "generator_drops"
    | "agent_cpu"
    | "lost_interval"
    | "excess"
    | "local_resources"
    | "clock_bound"
    | "unfinished"
    | "quarantined"
    | "coverage"
    | "feeder_wrap_around";
}
/**
 * Latency of all finished calls in the judged time.
 */
export interface Latency {
  /**
   * CO factor: corrected p99 / uncorrected p99, the error of a tool that waits for responses.
   * Null in a closed loop, which has no schedule.
   */
  co_factor?: number | null;
  /**
   * Largest ratio of corrected to uncorrected, and its origin. Absent in a closed loop and by
   * rules 1.
   */
  omission?: Omission | null;
  /**
   * Response time, end − due: what a user on schedule would have waited. Null when no call
   * finished.
   */
  response?: Ladder | null;
  /**
   * Response time of the calls that were not ok.
   */
  response_failed?: Ladder | null;
  /**
   * Whole distribution of the response time.
   */
  response_histogram: string;
  /**
   * Response time of the calls that were ok; a filtered subset is misleading by itself.
   */
  response_ok?: Ladder | null;
  /**
   * Service time, end − dispatch: the time of the target alone. Null when no call finished.
   */
  service?: Ladder | null;
  /**
   * Whole distribution of the service time.
   */
  service_histogram: string;
  /**
   * Number of finished calls without a connection for a request: their latency is no server's.
   * Absent: none, or rules 1.
   */
  unconnected?: number;
}
/**
 * Percentile with the largest ratio of corrected to uncorrected, and the shares of the time
 * between due and dispatch.
 */
export interface Omission {
  /**
   * Corrected / uncorrected at this percentile.
   */
  factor: number;
  /**
   * Origin of the difference.
   */
  origin: "negligible" | "generator" | "target";
  /**
   * Percentile, among those with a relevant difference if there are any.
   */
  percentile: number;
  /**
   * Share of the wait for a slot in that time, in percent. Connecting has no share: it is in
   * both latencies.
   */
  queue_pct: number;
  /**
   * Corrected latency at this percentile, in µs.
   */
  response_us: number;
  /**
   * Share of schedule lag in the time from due to dispatch of all calls, in percent.
   */
  schedule_lag_pct: number;
  /**
   * Uncorrected latency at this percentile, in µs.
   */
  service_us: number;
}
/**
 * Percentiles of a distribution, in µs.
 */
export interface Ladder {
  /**
   * Number of values.
   */
  count: number;
  /**
   * Largest value.
   */
  max_us: number;
  /**
   * Arithmetic mean.
   */
  mean_us: number;
  /**
   * Smallest value.
   */
  min_us: number;
  /**
   * Median.
   */
  p50_us: number;
  /**
   * 75th percentile.
   */
  p75_us: number;
  /**
   * 90th percentile.
   */
  p90_us: number;
  /**
   * 95th percentile.
   */
  p95_us: number;
  /**
   * 99.99th percentile.
   */
  p99_99_us: number;
  /**
   * 99.9th percentile.
   */
  p99_9_us: number;
  /**
   * 99th percentile.
   */
  p99_us: number;
}
/**
 * Offered against planned arrivals, in the judged time.
 */
export interface Rates {
  /**
   * Started arrivals per second.
   */
  achieved_rps: number;
  /**
   * Length of the measured time in µs.
   */
  measured_us: number;
  /**
   * Number of arrivals planned; of a closed loop reported.
   */
  planned: number;
  /**
   * Planned arrivals per second.
   */
  planned_rps: number;
  /**
   * Share of planned arrivals that did not start, in percent.
   */
  shortfall_pct: number;
  /**
   * Number of those that started.
   */
  started: number;
}
/**
 * Number of arrivals whose task raised an error, by how their last call ended.
 */
export interface TaskRaises {
  /**
   * The last call had failed or was cut off; it is not counted a second time.
   */
  after_failed?: number;
  /**
   * The last call was ok; it counts as failed (`task_error`).
   */
  after_ok?: number;
  /**
   * The task made no call; each counts as one more finished call that failed.
   */
  without_call?: number;
}
/**
 * Pass or fail of the thresholds.
 */
export interface Verdict {
  /**
   * Whether every threshold passed; a run without thresholds passes if it offered anything.
   */
  passed: boolean;
  /**
   * Why the verdict is a fail although no threshold failed (no call finished, …).
   */
  reasons: string[];
  /**
   * Results of the thresholds, in the order of the plan.
   */
  thresholds: ThresholdResult[];
}
/**
 * Result of one threshold.
 */
export interface ThresholdResult {
  /**
   * Measured value, in the unit of the metric; null without data, which never passes.
   */
  actual?: number | null;
  /**
   * Key as people write it.
   */
  key: string;
  /**
   * Limit, in the unit of the metric.
   */
  limit: number;
  /**
   * Metric that was measured.
   */
  metric:
    | "p50_ms"
    | "p75_ms"
    | "p90_ms"
    | "p95_ms"
    | "p99_ms"
    | "p99_9_ms"
    | "p99_99_ms"
    | "max_ms"
    | "mean_ms"
    | "p50_first_token_ms"
    | "p95_first_token_ms"
    | "p99_first_token_ms"
    | "p50_token_gap_ms"
    | "p95_token_gap_ms"
    | "p99_token_gap_ms"
    | "error_rate"
    | "task_errors"
    | "dropped_rate"
    | "shortfall"
    | "achieved_rps"
    | "checks"
    | "own";
  /**
   * Which side of the limit passes.
   */
  operator: "<=" | ">=" | "<" | ">";
  /**
   * Whether it passed.
   */
  passed: boolean;
  /**
   * Why nothing was measured, as text for people.
   */
  reason?: string | null;
  /**
   * Name of the task, or of the user type, that was measured. Null: the whole run.
   */
  task?: string | null;
}
