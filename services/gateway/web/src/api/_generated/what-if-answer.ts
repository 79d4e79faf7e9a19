/* Written by `./dev web` from proto/schema: never edit it. */

/**
 * How the run would have been judged.
 */
export interface WhatIfAnswer {
  arrivals: ArrivalCounts;
  /**
   * For each gate the due time, in µs after the start, from which on it did not hold any more
   * over the judged time so far. Null where it holds in the end, and for gates that look at
   * neither response time nor error rate.
   */
  broke_at_us: (number | null)[];
  certificate: Certificate;
  /**
   * Errors in percent of finished calls, as in the report.
   */
  error_rate_pct?: number | null;
  /**
   * Errors in the judged time, as in the report.
   */
  errors_total: number;
  /**
   * Where the judged time begins, in µs after the start.
   */
  judged_from_us: number;
  /**
   * Where it ends.
   */
  judged_to_us: number;
  latency: Latency;
  rates: Rates;
  /**
   * Calls that ended, in the judged time.
   */
  requests_total: number;
  /**
   * By which rules it is judged here: always the newest.
   */
  rules: "1" | "2";
  /**
   * By which rules its report is judged.
   */
  rules_of_run: "1" | "2";
  /**
   * Arrivals of the judged time whose task raised an error; null when there were none. Of a log
   * that does not tell how the calls before had ended, the least number that it proves.
   */
  task_raises?: TaskRaises | null;
  verdict: Verdict;
}
/**
 * Every planned arrival of the whole run, as in the report: gates of dropped arrivals look at
 * all of them.
 */
export interface ArrivalCounts {
  /**
   * Never started, by reason.
   */
  dropped: {
    [k: string]: number;
  };
  /**
   * Held by somebody who did not report them: see `gaps.lost`.
   */
  lost: number;
  /**
   * What the plan asked for, computed from the log and never summed from agents.
   */
  planned: number;
  /**
   * Their first call was dispatched.
   */
  started: number;
  /**
   * Started, and not every call of it was ok, or it raised an error.
   */
  task_errors: number;
  /**
   * Not yet reported in a run that goes on; 0 once sealed.
   */
  waiting: number;
}
/**
 * Whether the run can be trusted at all.
 */
export interface Certificate {
  /**
   * What was found; empty when VALID.
   */
  findings: Finding[];
  /**
   * The worst grade of all findings.
   */
  grade: "VALID" | "DEGRADED" | "INVALID";
}
/**
 * One reason not to trust the run blindly.
 */
export interface Finding {
  /**
   * What was measured and the limit it crossed, for people.
   */
  evidence: string;
  /**
   * How bad it is.
   */
  grade: "VALID" | "DEGRADED" | "INVALID";
  /**
   * What it is about.
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
   * Corrected p99 over uncorrected p99: what a tool that waits would have left out. Null in a
   * closed loop, which has no schedule to count from.
   */
  co_factor?: number | null;
  /**
   * How far corrected and uncorrected are apart at most, and by what. Absent in a closed loop,
   * and where a run is judged by the first rules.
   */
  omission?: Omission | null;
  /**
   * End − due: what a user who came on schedule would have waited. Null when nothing finished.
   */
  response?: Ladder | null;
  /**
   * Response time of the calls that were not ok only.
   */
  response_failed?: Ladder | null;
  /**
   * The whole distribution of the response time.
   */
  response_histogram: string;
  /**
   * Response time of the calls that were ok only; a filtered subset misleads by itself.
   */
  response_ok?: Ladder | null;
  /**
   * End − dispatch: what the target alone took.
   */
  service?: Ladder | null;
  /**
   * The whole distribution of the service time.
   */
  service_histogram: string;
  /**
   * Finished calls that had no connection over which a request could be sent: their latency is
   * no server's. Absent: none, or judged by the first rules.
   */
  unconnected?: number;
}
/**
 * The percentile at which corrected is the largest multiple of uncorrected, and where the time
 * between due and dispatch went.
 */
export interface Omission {
  /**
   * Corrected over uncorrected there.
   */
  factor: number;
  /**
   * Whose it is.
   */
  origin: "negligible" | "generator" | "target";
  /**
   * The percentile: of those with a difference that matters, if there is one.
   */
  percentile: number;
  /**
   * Share of the wait for a slot in it, in percent. Connecting has none: it is in both.
   */
  queue_pct: number;
  /**
   * Corrected there, in µs.
   */
  response_us: number;
  /**
   * Share of schedule lag in the time from due to dispatch of all calls, in percent.
   */
  schedule_lag_pct: number;
  /**
   * Uncorrected there, in µs.
   */
  service_us: number;
}
/**
 * Points of a distribution, in µs.
 */
export interface Ladder {
  /**
   * How many values.
   */
  count: number;
  /**
   * The greatest.
   */
  max_us: number;
  /**
   * The arithmetic mean.
   */
  mean_us: number;
  /**
   * The least.
   */
  min_us: number;
  /**
   * 50 %.
   */
  p50_us: number;
  /**
   * 75 %.
   */
  p75_us: number;
  /**
   * 90 %.
   */
  p90_us: number;
  /**
   * 95 %.
   */
  p95_us: number;
  /**
   * 99.99 %.
   */
  p99_99_us: number;
  /**
   * 99.9 %.
   */
  p99_9_us: number;
  /**
   * 99 %.
   */
  p99_us: number;
}
/**
 * Offered against planned, in the judged time.
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
   * Arrivals planned in the measured time; of a closed loop those reported.
   */
  planned: number;
  /**
   * Planned arrivals per second.
   */
  planned_rps: number;
  /**
   * How far started falls short of planned, in percent.
   */
  shortfall_pct: number;
  /**
   * Arrivals started of those.
   */
  started: number;
}
/**
 * Arrivals whose task raised an error, by how the last call of each had ended.
 */
export interface TaskRaises {
  /**
   * Its last call had failed or was cut off; it is not counted a second time.
   */
  after_failed?: number;
  /**
   * Its last call was ok; that one counts as failed (`task_error`).
   */
  after_ok?: number;
  /**
   * It made no call: one more finished call that failed.
   */
  without_call?: number;
}
/**
 * Pass or fail of the gates.
 */
export interface Verdict {
  /**
   * Whether every threshold passed; a run without thresholds passes if it offered anything.
   */
  passed: boolean;
  /**
   * Why the verdict is a fail though no threshold failed (nothing was finished, …).
   */
  reasons: string[];
  /**
   * One line per threshold, in the order of the plan.
   */
  thresholds: ThresholdResult[];
}
/**
 * How one threshold came out.
 */
export interface ThresholdResult {
  /**
   * What was measured; null when there was nothing to measure, which never passes.
   */
  actual?: number | null;
  /**
   * As people write it.
   */
  key: string;
  /**
   * The limit.
   */
  limit: number;
  /**
   * What was measured.
   */
  metric:
    | (
        | "p50_ms"
        | "p75_ms"
        | "p90_ms"
        | "p95_ms"
        | "p99_ms"
        | "p99_9_ms"
        | "p99_99_ms"
        | "max_ms"
        | "mean_ms"
        | "p95_first_token_ms"
        | "p99_first_token_ms"
        | "p95_token_gap_ms"
        | "p99_token_gap_ms"
      )
    | "p50_first_token_ms"
    | "p50_token_gap_ms"
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
   * Why nothing was measured, where that needs words.
   */
  reason?: string | null;
  /**
   * For one task only.
   */
  task?: string | null;
}
