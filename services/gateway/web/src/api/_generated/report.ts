/* Written by `./dev web` from proto/schema: never edit it. */

/**
 * Why a call got no complete response.
 */
export type Cause =
  | "name_not_resolved"
  | "no_such_address"
  | "refused"
  | "reset"
  | "broken_pipe"
  | "unreachable"
  | "system_timeout"
  | "denied"
  | "no_such_socket"
  | "unanswered"
  | "truncated"
  | "not_http"
  | "too_long"
  | "http2"
  | "stream_reset"
  | "gone_away"
  | "certificate_untrusted"
  | "certificate_expired"
  | "certificate_other_name"
  | "certificate_invalid"
  | "client_certificate"
  | "tls_mismatch"
  | "tls_alert"
  | "not_tls"
  | "no_ports"
  | "no_fds"
  | "no_memory"
  | "while_resolving"
  | "while_connecting"
  | "while_securing"
  | "while_waiting_for_a_stream"
  | "while_sending"
  | "before_first_byte"
  | "before_last_byte"
  | "other"
  | "not_allowed"
  | "proxy_credentials"
  | "proxy_refused"
  | "proxy_no_connection"
  | "proxy_protocol";
/**
 * A limit that a level has to hold.
 */
export type LevelLimit = "achieved" | "latency" | "errors";
/**
 * Why a load curve has no knee.
 */
export type NoKnee = "few_levels" | "all_held" | "lowest_broke" | "steered";
/**
 * Address family.
 */
export type IpFamily = "4" | "6";
/**
 * How a run ended.
 */
export type Ending = "completed" | "stopped" | "abandoned" | "failed" | "aborted" | "log_full";
/**
 * Why a holder lost its shards.
 */
export type LossReason = "silent" | "replaced" | "left" | "failed" | "isolated" | "not_ready";
/**
 * One shard, or a stride of shards.
 */
export type Piece = number | [unknown, unknown, unknown];
/**
 * Text of a request or a parameter: a literal, or the handle of a secret that only agents resolve.
 */
export type Text =
  | string
  | {
      /**
       * Handle of the secret.
       */
      secret: string;
    };
/**
 * Think time of a user of a closed loop between two tasks. Users start spread evenly over the
 * first think time, of a distribution its median, so that they do not run in step.
 */
export type Rest =
  | {
      wait: {
        /**
         * Minimum, in µs.
         */
        from_us: number;
        /**
         * Maximum, in µs.
         */
        to_us: number;
      };
    }
  | {
      exponential: {
        /**
         * Median, in µs; the mean is 1/ln 2 = 1.4427 times as long.
         */
        median_us: number;
      };
    }
  | {
      lognormal: {
        /**
         * Median, in µs.
         */
        median_us: number;
        /**
         * 99th percentile, in µs; above the median.
         */
        p99_us: number;
      };
    }
  | {
      pacing: {
        /**
         * Interval, in µs.
         */
        every_us: number;
      };
    };
/**
 * Length of the sessions of a closed loop, drawn by the seed; a day at most. Each place among the
 * users holds one session after another: a user whose session is over ends its task and leaves,
 * and a new user takes its place at once. The run begins in the middle of the sessions, so that
 * new ones begin evenly from the start on.
 */
export type SessionLength =
  | {
      between: {
        /**
         * Minimum, in µs.
         */
        from_us: number;
        /**
         * Maximum, in µs.
         */
        to_us: number;
      };
    }
  | {
      exponential: {
        /**
         * Median, in µs; the mean is 1/ln 2 = 1.4427 times as long.
         */
        median_us: number;
      };
    }
  | {
      lognormal: {
        /**
         * Median, in µs.
         */
        median_us: number;
        /**
         * 99th percentile, in µs; above the median.
         */
        p99_us: number;
      };
    };
/**
 * Instant in µs since the Unix epoch, UTC.
 */
export type Timestamp = number;

/**
 * Results of one run.
 */
export interface Report {
  arrivals: ArrivalCounts;
  bytes: Bytes;
  calls: CallCounts;
  certificate: Certificate;
  /**
   * Checks of all tasks, in the measured time; null when no check examined a response.
   */
  checks?: Checks | null;
  /**
   * SHA-256 of the canonical JSON of this report with an empty digest, in lower-case hex.
   */
  digest: string;
  /**
   * Planned length of the run, or time until its stop, in seconds.
   */
  duration_secs: number;
  /**
   * Errors in percent of finished calls; by rules 2 each task that raised without a call counts
   * as one more finished call. Null without any.
   */
  error_rate_pct?: number | null;
  /**
   * Number of finished calls that were not ok, in the measured time. By rules 2 including the
   * last call of each task that raised, plus one for each task that raised without a call.
   */
  errors_total: number;
  /**
   * Debug exchanges, if the plan requests them.
   */
  exchanges?: ExchangeSeen[];
  gaps: Gaps;
  generator: GeneratorReport;
  /**
   * The knee of the load curve as one object; null without a knee. Outside of the digest, too.
   */
  knee_point?: KneePoint | null;
  latency: Latency;
  /**
   * Latency by level of the load, and the knee; null when the plan holds fewer than two rates.
   * Computed from the log, and outside of the digest: earlier versions did not have it.
   */
  load_curve?: LoadCurve | null;
  /**
   * Longest response time in ms; null when no call finished.
   */
  max_ms?: number | null;
  /**
   * Own metrics of the scenario, in the measured time; null without any.
   */
  metrics?: MetricsReport | null;
  /**
   * Median response time in ms; null when no call finished.
   */
  p50_ms?: number | null;
  /**
   * 95th percentile of the response time in ms; null when no call finished.
   */
  p95_ms?: number | null;
  /**
   * 99th percentile of the response time in ms; null when no call finished.
   */
  p99_ms?: number | null;
  rates: Rates;
  /**
   * Number of calls that ended, in the measured time.
   */
  requests_total: number;
  /**
   * Started arrivals per second over the measured time (without warm-up).
   */
  rps_actual: number;
  /**
   * Planned peak rate, in arrivals per second.
   */
  rps_target: number;
  run: RunFacts;
  /**
   * Name of the scenario.
   */
  scenario: string;
  /**
   * Version of this format.
   */
  schema: "loadpilot.report/1";
  /**
   * Results of each due tick, warm-up included.
   */
  series: TickReport[];
  /**
   * Number of responses by status code in the measured time.
   */
  status: {
    /**
     * This interface was referenced by `undefined`'s JSON-Schema definition
     * via the `patternProperty` "^\d+$".
     */
    [k: string]: number;
  };
  /**
   * Timeline: decisions and facts of the run in order, as text for people.
   */
  story: StoryLine[];
  /**
   * Streamed responses of all tasks, in the measured time; null without any.
   */
  streams?: StreamReport | null;
  /**
   * Target of the load.
   */
  target_url: string;
  /**
   * Number of arrivals of the measured time that raised an error; null without any, and by rules
   * 1.
   */
  task_raises?: TaskRaises | null;
  /**
   * Results of each task, in the order of the plan; calls and latency in the measured time.
   */
  tasks: TaskReport[];
  /**
   * Results of each user type of a mix, in the order of the plan; calls and latency in the
   * measured time. Absent: no mix.
   */
  types?: UserTypeReport[];
  verdict: Verdict;
  warm_up: WarmUp;
}
/**
 * Planned arrivals of the whole run, warm-up included.
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
 * Bytes transferred in the measured time.
 */
export interface Bytes {
  /**
   * Bytes read, headers included where the HTTP engine sees them.
   */
  received: number;
  /**
   * Bytes read per second of the measured time.
   */
  received_per_sec: number;
  /**
   * Bytes written, headers included.
   */
  sent: number;
  /**
   * Bytes written per second of the measured time.
   */
  sent_per_sec: number;
}
/**
 * Calls of the whole run, warm-up included.
 */
export interface CallCounts {
  /**
   * Number of calls dispatched.
   */
  attempted: number;
  /**
   * Number of calls without a complete response, by outcome and cause.
   */
  causes?: {
    [k: string]: {
      [k: string]: number;
    };
  };
  /**
   * Number of calls in flight in an unfinished run; 0 once sealed.
   */
  in_flight: number;
  /**
   * Number of calls by outcome.
   */
  outcomes: {
    [k: string]: number;
  };
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
 * Number of checks that examined a response.
 */
export interface Checks {
  /**
   * Number of checks that failed.
   */
  failed: number;
  /**
   * Number of checks that passed.
   */
  passed: number;
}
/**
 * One exchange: of the first arrivals of a run (see [`crate::plan::Plan::debug_requests`]), or one
 * that failed.
 */
export interface ExchangeSeen {
  /**
   * Status line and header lines of the response, secrets masked, cut where they are too long;
   * empty without a response.
   */
  answer: string[];
  /**
   * Number of the arrival; in a closed loop of the user.
   */
  arrival: number;
  /**
   * Beginning of the response's body, secrets masked; only of an exchange that failed, and empty
   * where it is no text.
   */
  body?: string;
  /**
   * Index of the call in the plan's list of calls.
   */
  call: number;
  /**
   * Why there is no complete response. Absent: there is one, or the cause is unknown.
   */
  cause?: Cause | null;
  /**
   * How the call ended.
   */
  outcome:
    | "ok"
    | "http_4xx"
    | "http_5xx"
    | "check_failed"
    | "connect"
    | "tls"
    | "timeout"
    | "io"
    | "local"
    | "cancelled"
    | "indeterminate";
  /**
   * Bytes received, headers included where the HTTP engine sees them.
   */
  received_bytes: number;
  /**
   * Request line and header lines, secrets masked.
   */
  request: string[];
  /**
   * Size of the request's body in bytes.
   */
  request_body_bytes: number;
  /**
   * Response time, end − due, in µs.
   */
  response_us: number;
}
/**
 * What the log does not contain, or contains and does not count.
 */
export interface Gaps {
  /**
   * Number of arrivals of holders that had been superseded at the due tick.
   */
  excess_arrivals: number;
  /**
   * Number of calls of those arrivals; outside of percentiles and verdict.
   */
  excess_calls: number;
  /**
   * Number of deltas that arrived after the run was sealed.
   */
  late_deltas: number;
  /**
   * Intervals of arrivals that a holder did not report.
   */
  lost: LostInterval[];
  /**
   * Closed loop only: user time without a report, in percent of all user time.
   */
  lost_time_pct?: number | null;
  /**
   * Events and deltas that were set aside, and why.
   */
  quarantined: Quarantined[];
  /**
   * Arrivals and calls reported beyond the planned or possible number, in percent of that
   * number. Absent: none.
   */
  surplus_pct?: number | null;
}
/**
 * Arrivals that a holder did not report.
 */
export interface LostInterval {
  /**
   * Number of arrivals; in a closed loop those of its later totals, possibly 0.
   */
  arrivals: number;
  /**
   * First due tick.
   */
  from_tick: number;
  holder: Holder;
  /**
   * Last due tick, inclusive.
   */
  to_tick: number;
}
/**
 * Process that held them.
 */
export interface Holder {
  /**
   * Agent of the process.
   */
  agent: string;
  /**
   * Process of the agent.
   */
  boot_id: string;
}
/**
 * Stored event that was set aside.
 */
export interface Quarantined {
  /**
   * Why it was set aside.
   */
  reason: string;
  /**
   * Stream sequence of the event.
   */
  seq: number;
  /**
   * Subject of the event.
   */
  subject: string;
}
/**
 * Health of the load generator.
 */
export interface GeneratorReport {
  /**
   * Maximum CPU use of a firing thread in any delta, in thousandths of its core.
   */
  busiest_core_permille: number;
  /**
   * Share of deltas in which a firing thread used more than 90 % of its core, in percent.
   */
  busy_deltas_pct: number;
  /**
   * Number of connections opened.
   */
  connections_opened: number;
  /**
   * Number of calls on a connection that was already open.
   */
  connections_reused: number;
  /**
   * Number of connections during the run that found a full listener queue on one agent's
   * machine; the maximum of all machines. Relevant when the target runs there.
   */
  listen_overflows_max?: number;
  /**
   * Time from there until dispatch.
   */
  queue?: Ladder | null;
  /**
   * Number of redirects followed within the calls.
   */
  redirects?: number;
  /**
   * Number of calls that ended with a redirect, although the plan follows redirects: it was
   * beyond the limit, or led to another origin.
   */
  redirects_not_followed?: number;
  /**
   * Number of requests sent a second time because their first connection had closed: the target
   * may have received them twice.
   */
  resent?: number;
  /**
   * Number of TCP segments retransmitted during the run by one agent's machine, for all its
   * processes; the maximum of all machines.
   */
  retransmits_max?: number;
  /**
   * Time from due until the pacer reached the arrival, in the measured time.
   */
  schedule_lag?: Ladder | null;
  /**
   * Longest delay of a firing thread behind its own timer, in µs.
   */
  stall_us_max: number;
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
 * The knee in one object: the highest level that held the load.
 */
export interface KneePoint {
  /**
   * Its errors in percent of finished calls; null without any.
   */
  error_rate_pct?: number | null;
  /**
   * Highest rate of a level by the plan, in arrivals per second.
   */
  max_rps: number;
  /**
   * Its 99th percentile of the response time in ms; null when no call finished.
   */
  p99_ms?: number | null;
  /**
   * Its rate by the plan, in arrivals per second.
   */
  rps: number;
  /**
   * Number of the level in the order of time, from 1.
   */
  step: number;
  /**
   * Number of levels that the run reached.
   */
  total_steps: number;
}
/**
 * Latency of all finished calls in the measured time.
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
 * Latency by level of the load. A level is a part of the plan with a constant rate.
 */
export interface LoadCurve {
  /**
   * Where the target stopped holding the load. Null: see `no_knee`.
   */
  knee?: Knee | null;
  /**
   * Levels that the run reached, in the order of time.
   */
  levels: LoadLevel[];
  /**
   * Why there is no knee. Null: there is one.
   */
  no_knee?: NoKnee | null;
}
/**
 * Where the target stopped holding the load.
 */
export interface Knee {
  /**
   * Index in `levels` of the lowest level that did not hold.
   */
  broke: number;
  /**
   * Index in `levels` of the highest level below the break; every lower one held as well.
   */
  held: number;
}
/**
 * One level: the arrivals due in its whole ticks, without warm-up.
 */
export interface LoadLevel {
  /**
   * Started arrivals per second.
   */
  achieved_rps: number;
  /**
   * Errors in percent of `finished`; null without any.
   */
  error_rate_pct?: number | null;
  /**
   * Number of errors, counted as in `errors_total`.
   */
  errors: number;
  /**
   * Limits that the level did not hold. Empty: it held the load.
   */
  exceeded: LevelLimit[];
  /**
   * Number of finished calls, and of tasks that raised without a call.
   */
  finished: number;
  /**
   * Begin of its first whole tick, in µs after the start.
   */
  from_us: number;
  /**
   * Number of arrivals planned.
   */
  planned: number;
  /**
   * Planned arrivals per second.
   */
  planned_rps: number;
  /**
   * Rate by the plan, in arrivals per second.
   */
  rate_rps: number;
  /**
   * Response times, corrected; null when no call finished.
   */
  response?: LevelLatency | null;
  /**
   * Service times, uncorrected; null when no call finished.
   */
  service?: LevelLatency | null;
  /**
   * Number of those that started.
   */
  started: number;
  /**
   * End of its last whole tick, in µs after the start.
   */
  to_us: number;
}
/**
 * Percentiles of a level, of the merged histograms of its ticks.
 */
export interface LevelLatency {
  /**
   * Median, in µs.
   */
  p50_us: number;
  /**
   * 99th percentile, in µs.
   */
  p99_us: number;
}
/**
 * Own metrics of a scenario in the measured time, by name.
 */
export interface MetricsReport {
  /**
   * Counters.
   */
  counters?: {
    [k: string]: CounterReport;
  };
  /**
   * Rate metrics.
   */
  rates?: {
    [k: string]: RateReport;
  };
  /**
   * Trends.
   */
  trends?: {
    [k: string]: TrendReport;
  };
}
/**
 * One counter.
 */
export interface CounterReport {
  /**
   * Sum of the amounts added, each to a millionth.
   */
  count: number;
  /**
   * Sum per second of the measured time.
   */
  rate: number;
}
/**
 * One rate metric.
 */
export interface RateReport {
  /**
   * Number of values; at least 1.
   */
  count: number;
  /**
   * Share of true values, in percent.
   */
  rate: number;
  /**
   * Number of true values.
   */
  trues: number;
}
/**
 * One trend: its values to four significant digits, in the unit of the scenario.
 */
export interface TrendReport {
  /**
   * Number of values; at least 1.
   */
  count: number;
  /**
   * Largest value.
   */
  max: number;
  /**
   * Arithmetic mean.
   */
  mean: number;
  /**
   * Smallest value.
   */
  min: number;
  /**
   * Median.
   */
  p50: number;
  /**
   * 90th percentile.
   */
  p90: number;
  /**
   * 95th percentile.
   */
  p95: number;
  /**
   * 99th percentile.
   */
  p99: number;
}
/**
 * Offered against planned arrivals, in the measured time.
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
 * Identity, conditions and ending of the run.
 */
export interface RunFacts {
  /**
   * Gate whose breach stopped the run, at the request of `--abort-on-breach`.
   */
  breach?: Breach | null;
  connections?: Connections;
  /**
   * When the run was created.
   */
  created_at: number;
  /**
   * How it ended, once sealed.
   */
  ending?: Ending | null;
  /**
   * Failure of the first holder that could not perform its shards.
   */
  failure?: Failure | null;
  /**
   * Feeds of the scenario.
   */
  feeds?: FeedFacts[];
  /**
   * Number of the last assignment.
   */
  generation: number;
  /**
   * The rate that was held. Absent: the run holds no gate.
   */
  held?: HeldRate | null;
  /**
   * Every process that held shards.
   */
  holders: HolderFacts[];
  /**
   * Id of the run.
   */
  id: string;
  /**
   * Shard maps over time. A holder has the arrivals n whose `n mod shards` is in its list.
   */
  maps?: ShardMap[];
  /**
   * Maximum number of arrivals in flight per agent by the plan; null: the agent's own default.
   */
  max_in_flight?: number | null;
  /**
   * Parameters that the scenario read when it was compiled, by name.
   */
  parameters?: {
    [k: string]: Text;
  };
  /**
   * SHA-256 of the plan's canonical JSON, in lower-case hex.
   */
  plan_hash: string;
  /**
   * Length of the profile in µs; less where a feed without a row ends the run.
   */
  profile_us: number;
  /**
   * Why it was refused or cancelled.
   */
  refused: Problem[];
  /**
   * Think time of those users between two tasks. Absent: none, or a mix, whose types have their
   * own.
   */
  rest?: Rest | null;
  /**
   * Feed without a row left, where it ended the run. Absent: no feed did.
   */
  rows_used_up?: RowsUsedUp | null;
  /**
   * Version of the rules by which the run is judged. Absent: rules 1.
   */
  rules?: "1" | "2" | "3" | "4";
  /**
   * Random seed; with the plan it fixes every arrival.
   */
  seed: number;
  /**
   * Length of the sessions of those users. Absent: each stays for the whole run, or a mix, whose
   * types have their own.
   */
  session?: SessionLength | null;
  /**
   * Shape of the profile.
   */
  shape: "ramp" | "constant" | "step" | "spike" | "stages" | "closed" | "replay" | "burst" | "sine";
  /**
   * When the run started. Null: it did not.
   */
  start_at?: Timestamp | null;
  /**
   * State of the run; the report is complete only when `sealed` or `refused`.
   */
  state:
    | "requested"
    | "waiting"
    | "refused"
    | "gathering"
    | "preparing"
    | "running"
    | "stopping"
    | "sealed";
  /**
   * Changes that users made while it ran, in order: its figures are not those of its plan.
   */
  steered?: Steered[];
  /**
   * When the run was stopped before its end, in µs after the start. Null: it was not.
   */
  stopped_at_us?: number | null;
  /**
   * Tags by which people distinguish runs.
   */
  tags?: {
    [k: string]: string;
  };
  /**
   * Length of a tick of `series` in µs.
   */
  tick_us: number;
  /**
   * Failed calls, where the run was stopped because no server responded.
   */
  unanswered?: Unanswered | null;
  /**
   * Number of active users of that closed loop over time, of which `users` is the maximum.
   * Absent: all are active for the whole run.
   */
  user_stages?: UserStage[] | null;
  /**
   * Number of users of a closed loop, each of which starts its next task when its last one
   * ended: latency is not counted from a schedule. Absent: arrivals on schedule.
   */
  users?: number | null;
}
/**
 * A gate that failed while the run went on.
 */
export interface Breach {
  /**
   * Figure of the run at that time, in the unit of the key.
   */
  actual: number;
  /**
   * Key of the gate, such as `p99_ms` or `browse:p99_ms`.
   */
  key: string;
  /**
   * Limit of the gate, in the unit of the key.
   */
  limit: number;
}
/**
 * Connection settings. Absent: the defaults.
 */
export interface Connections {
  /**
   * Maximum age of a connection for a further request, in µs. Absent: no limit.
   */
  age_us_max?: number | null;
  /**
   * Address to connect to in place of the target, whose name stays in Host and in TLS:
   * `host:port`, or `unix:/path` for a socket of the agent's machine.
   */
  connect_to?: string | null;
  /**
   * Version of HTTP.
   */
  http?: "1.1" | "2" | "auto";
  /**
   * Address family to connect to. Absent: both.
   */
  ip?: IpFamily | null;
  /**
   * Maximum number of open connections of one agent to the target; arrivals without a connection
   * wait in the queue. Absent: no limit.
   */
  max?: number | null;
  /**
   * Number of connections that each agent opens before the run starts. Absent: none.
   */
  open_first?: number | null;
  /**
   * Base URLs beside the plan's target, of the same scheme. Arrivals take all of them in turn
   * by their ordinals, the plan's target first; a user of a scenario stays with that of its own
   * number, and each request of a list names its own.
   */
  other_targets?: string[];
  /**
   * Proxy through which all connections to the target are opened. Absent: none.
   */
  proxy?: Proxy | null;
  /**
   * Further origins that redirects may lead to, `https://login.example`, without headers with
   * credentials and never from https to http. Absent: none.
   */
  redirect_origins?: string[];
  /**
   * Maximum number of redirects that a call of a step follows, within the origin of its target
   * and `redirect_origins`, before its time-out. Absent: none is followed.
   */
  redirects_max?: number | null;
  /**
   * Maximum number of requests of a connection; then it is closed. Absent: no limit.
   */
  requests_max?: number | null;
  /**
   * Maximum age of a name resolution, in µs; then the target's name is resolved again. Absent:
   * once per run.
   */
  resolve_us?: number | null;
  /**
   * Which calls may use an open connection.
   */
  reuse?:
    | "always"
    | "never"
    | {
        share_ppm: number;
      };
  /**
   * Addresses of the agent's machine to connect from, in turn, each with an optional range of
   * ports: `10.0.0.5` or `10.0.0.5:20000-30000`.
   */
  sources?: string[];
  /**
   * Maximum number of concurrent requests on one HTTP/2 connection. Absent: 100.
   */
  streams_max?: number | null;
  tls?: TlsSettings;
}
/**
 * A proxy between agents and target.
 */
export interface Proxy {
  /**
   * Handle of `user:password`, a secret that the submitter provides. Absent: no credentials.
   */
  credentials_secret?: string | null;
  /**
   * `http://host:port` (CONNECT) or `socks5://host:port`, without user. The proxy resolves the
   * target's name.
   */
  url: string;
}
/**
 * TLS settings of an https target.
 */
export interface TlsSettings {
  /**
   * Client certificate. Absent: none.
   */
  identity?: TlsIdentity | null;
  /**
   * Whether the target's certificate is not verified. The report shows it.
   */
  insecure?: boolean;
  /**
   * Trusted certificates (PEM) in place of those of the agent's machine.
   */
  roots_pem?: string | null;
}
/**
 * Client certificate and the handle of its key.
 */
export interface TlsIdentity {
  /**
   * Certificate and its chain (PEM).
   */
  certificate_pem: string;
  /**
   * Handle of the private key (PEM), a secret that the submitter provides.
   */
  key_secret: string;
}
/**
 * Why a holder could not perform its shards.
 */
export interface Failure {
  /**
   * Kind of the failure.
   */
  cause: "not_prepared" | "scenario" | "broken" | "log_full" | "log_refuses";
  /**
   * Why, as text for people.
   */
  reason: string;
}
/**
 * Use of a feed in a run.
 */
export interface FeedFacts {
  /**
   * Whether rows may be used again when there are no more.
   */
  cycles: boolean;
  /**
   * Name in the scenario.
   */
  name: string;
  /**
   * Number of rows.
   */
  rows: number;
  /**
   * Whether the run ends where a row after the last would be taken.
   */
  stops?: boolean;
  /**
   * Number of planned arrivals that take a row, up to a stop; in a closed loop of arrivals that
   * took one. Number of users, if that is greater.
   */
  taken: number;
  /**
   * Whether no row may be used twice.
   */
  unique?: boolean;
}
/**
 * The highest rate at which the gates hold that a run holds, and how it was found.
 */
export interface HeldRate {
  /**
   * The lowest rate that failed, or what the target answered under more; null: none.
   */
  failed_rps?: number | null;
  /**
   * The gates, such as `p99_ms <= 200`.
   */
  gates: string[];
  /**
   * The highest rate that passed, in arrivals per second, unless it failed later. Null: none.
   */
  rps?: number | null;
  /**
   * What was measured before each change of the rate, in order.
   */
  steps: HoldWindow[];
}
/**
 * A part of a run at one rate, judged by the gates that are held.
 */
export interface HoldWindow {
  /**
   * Figure of the part, in the unit of the key. Null: nothing to measure.
   */
  actual?: number | null;
  /**
   * Number of their calls that had ended.
   */
  calls: number;
  /**
   * Begin of the judged due time, in µs after the start.
   */
  from_us: number;
  /**
   * Key of the gate that decided, such as `p99_ms`.
   */
  key: string;
  /**
   * Its limit, in the unit of the key.
   */
  limit: number;
  /**
   * Whether the gates held, and the arrivals started.
   */
  passed: boolean;
  /**
   * Number of arrivals planned in it.
   */
  planned: number;
  /**
   * Rate of the part.
   */
  rate: number;
  /**
   * Number of those that started.
   */
  started: number;
  /**
   * End of the judged due time, exclusive, in µs after the start.
   */
  to_us: number;
}
/**
 * Work of one process in the run.
 */
export interface HolderFacts {
  /**
   * Number of calls ended.
   */
  calls: number;
  /**
   * Maximum error of its clock's offset from the coordinator's, in µs.
   */
  clock_bound_us?: number | null;
  /**
   * Number of its deltas that were folded.
   */
  deltas: number;
  /**
   * Whether it is a development build, which runs slower than a release.
   */
  development?: boolean;
  /**
   * Whether it reported its final count.
   */
  finished: boolean;
  holder: Holder1;
  /**
   * Why it lost its shards. Null: it did not.
   */
  lost?: LossReason | null;
  /**
   * Maximum number of shards that it held at once.
   */
  shards: number;
  /**
   * Number of arrivals started.
   */
  started: number;
  /**
   * Tail of a killed process, reported by a later process of its agent.
   */
  tail?: TailFacts | null;
}
/**
 * The process.
 */
export interface Holder1 {
  /**
   * Agent of the process.
   */
  agent: string;
  /**
   * Process of the agent.
   */
  boot_id: string;
}
/**
 * Tail of a killed process.
 */
export interface TailFacts {
  /**
   * Number of its calls that were in flight.
   */
  indeterminate: number;
  /**
   * Why some of its counts could not be read; null when all could.
   */
  lost?: string | null;
}
/**
 * Which holders had which shards from a tick on.
 */
export interface ShardMap {
  /**
   * First due tick of this map; it holds until a later map begins.
   */
  from_tick: number;
  /**
   * Number of the assignment.
   */
  generation: number;
  /**
   * Every shard that had a holder.
   */
  holdings: Holding[];
}
/**
 * Shards of one holder.
 *
 * It is read only as part of a whole map, which is checked before its strides are expanded.
 */
export interface Holding {
  holder: Holder2;
  /**
   * Shards held, sorted: the arrivals with `n mod shards` in this list. Stored as shards and
   * strides `[first, step, count]`.
   */
  shards: Piece[];
}
/**
 * Process that holds the shards.
 */
export interface Holder2 {
  /**
   * Agent of the process.
   */
  agent: string;
  /**
   * Process of the agent.
   */
  boot_id: string;
}
/**
 * One problem in a user's input.
 */
export interface Problem {
  /**
   * Path of the field, such as `tasks[0].steps[1].method`.
   */
  field: string;
  /**
   * Rule that the field violates, as a sentence without a subject ("must be …").
   */
  rule: string;
  /**
   * Value of the field, cut at [`crate::limits::PROBLEM_VALUE_CHARS_MAX`] characters.
   */
  value: string;
}
/**
 * End of a run before the end of its profile, as its plan says: a feed had no row left.
 */
export interface RowsUsedUp {
  /**
   * End of the run, in µs after the start: an arrival that had no row would have been due then.
   */
  at_us: number;
  /**
   * Name of the feed.
   */
  feed: string;
  /**
   * Length of the profile in µs.
   */
  profile_us: number;
  /**
   * Number of its rows, each of which one planned arrival took.
   */
  rows: number;
}
/**
 * One change that a user made to a running run.
 */
export interface Steered {
  /**
   * Instant in µs since the Unix epoch, UTC.
   */
  at: number;
  /**
   * Author of the request, as text for people.
   */
  by: string;
  /**
   * What changed.
   */
  change:
    | {
        /**
         * Rate planned from there on.
         */
        rate: number;
        type: "rate";
        /**
         * Rate planned before.
         */
        was: number;
      }
    | {
        type: "paused";
      }
    | {
        type: "resumed";
      };
  /**
   * When it took effect, in µs after the start.
   */
  from_us: number;
}
/**
 * Calls of a run, all of which failed to connect.
 */
export interface Unanswered {
  /**
   * Number of calls since the start of the run.
   */
  calls: number;
  /**
   * Number of these calls by cause, where the cause is known.
   */
  causes?: {
    [k: string]: number;
  };
}
/**
 * One stage of a closed loop: the number of active users is linear from its begin to its end.
 */
export interface UserStage {
  /**
   * Length in µs; at least 1.
   */
  duration_us: number;
  /**
   * Number of active users at its begin.
   */
  from: number;
  /**
   * Number of active users at its end.
   */
  to: number;
}
/**
 * Results of one due tick.
 */
export interface TickReport {
  /**
   * Number of arrivals that agents dropped, for any reason.
   */
  dropped: number;
  /**
   * Number of errors, counted as in `errors_total`.
   */
  errors: number;
  /**
   * Number of finished calls, counted as in [`TaskReport::finished`].
   */
  finished: number;
  /**
   * Longest response time in µs; null when no call finished.
   */
  max_us?: number | null;
  /**
   * Median response time in µs; null when no call finished.
   */
  p50_us?: number | null;
  /**
   * 90th percentile of the response time in µs; null when no call finished.
   */
  p90_us?: number | null;
  /**
   * 95th percentile of the response time in µs; null when no call finished.
   */
  p95_us?: number | null;
  /**
   * 99th percentile of the response time in µs; null when no call finished.
   */
  p99_us?: number | null;
  /**
   * Number of arrivals planned.
   */
  planned: number;
  /**
   * Number of arrivals started.
   */
  started: number;
  /**
   * Number of the tick; it begins at `tick × tick_us` after the start.
   */
  tick: number;
}
/**
 * One line of the timeline.
 */
export interface StoryLine {
  /**
   * Instant in µs since the Unix epoch, UTC.
   */
  at: number;
  /**
   * Stream sequence in LP_CTL.
   */
  seq: number;
  /**
   * What happened, as text for people.
   */
  text: string;
}
/**
 * Streamed responses, in the measured time.
 */
export interface StreamReport {
  /**
   * Time from due to the first token, corrected.
   */
  first_token?: Ladder | null;
  /**
   * Time from dispatch to the first token, uncorrected.
   */
  first_token_service?: Ladder | null;
  /**
   * Time from one token to the next; null when no response had two.
   */
  token_gap?: Ladder | null;
  /**
   * Number of tokens received.
   */
  tokens: number;
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
 * Results of one task.
 */
export interface TaskReport {
  arrivals: ArrivalCounts1;
  /**
   * Calls in the order of the plan; those of a task in Python, by name.
   */
  calls: CallReport[];
  /**
   * Its checks; null when none examined a response.
   */
  checks?: Checks | null;
  /**
   * Number of errors in the measured time, counted as in `errors_total`.
   */
  errors: number;
  /**
   * Number of its finished calls in the measured time; by rules 2 plus one for each time that it
   * raised without a call.
   */
  finished: number;
  /**
   * Its own metrics; null without any.
   */
  metrics?: MetricsReport | null;
  /**
   * Name of the task.
   */
  name: string;
  /**
   * Errors that the task and its check raised in Python, the most frequent first.
   */
  raised?: Raised[];
  /**
   * Response time of its calls, each call by itself.
   */
  response?: Ladder | null;
  /**
   * Service time of its calls, each call by itself.
   */
  service?: Ladder | null;
  /**
   * Its streamed responses; null without any.
   */
  streams?: StreamReport | null;
  /**
   * Number of its arrivals of the measured time that raised an error; null without any, and by
   * rules 1.
   */
  task_raises?: TaskRaises | null;
  /**
   * Number of its finished calls without a connection for a request, in the measured time.
   * Absent: none, or rules 1.
   */
  unconnected?: number;
  /**
   * Weight of the task; in a mix among the tasks of its type.
   */
  weight: number;
}
/**
 * Its arrivals in the whole run.
 */
export interface ArrivalCounts1 {
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
 * Results of one call of a task.
 */
export interface CallReport {
  /**
   * Time by phase, in the measured time.
   */
  anatomy: {
    [k: string]: Ladder;
  };
  counts: CallCounts1;
  /**
   * Name of the call.
   */
  name: string;
  /**
   * Response time in the measured time.
   */
  response?: Ladder | null;
  /**
   * Service time in the measured time.
   */
  service?: Ladder | null;
  /**
   * Number of responses by status code in the measured time.
   */
  status: {
    /**
     * This interface was referenced by `undefined`'s JSON-Schema definition
     * via the `patternProperty` "^\d+$".
     */
    [k: string]: number;
  };
}
/**
 * Number of its calls in the whole run, by outcome.
 */
export interface CallCounts1 {
  /**
   * Number of calls dispatched.
   */
  attempted: number;
  /**
   * Number of calls without a complete response, by outcome and cause.
   */
  causes?: {
    [k: string]: {
      [k: string]: number;
    };
  };
  /**
   * Number of calls in flight in an unfinished run; 0 once sealed.
   */
  in_flight: number;
  /**
   * Number of calls by outcome.
   */
  outcomes: {
    [k: string]: number;
  };
}
/**
 * Error that a check or a task raised, with its count in the whole run.
 */
export interface Raised {
  /**
   * Part of the scenario that raised it.
   */
  by: "check" | "task" | "blocking";
  /**
   * Number of times.
   */
  count: number;
  /**
   * Type of the error, its message and its line.
   */
  text: string;
  /**
   * Traceback of one of them: the user's lines, outermost first, such as `shop.py:40 in buy`,
   * one per line. Absent: no agent reported one.
   */
  trace?: string | null;
}
/**
 * Results of one user type: those of its tasks together.
 */
export interface UserTypeReport {
  arrivals: ArrivalCounts2;
  /**
   * Its checks; null when none examined a response.
   */
  checks?: Checks | null;
  /**
   * Number of errors in the measured time, counted as in `errors_total`.
   */
  errors: number;
  /**
   * Number of its finished calls in the measured time, counted as those of a task.
   */
  finished: number;
  /**
   * Its own metrics; null without any.
   */
  metrics?: MetricsReport | null;
  /**
   * Name of the type.
   */
  name: string;
  /**
   * Response time of its calls, each call by itself.
   */
  response?: Ladder | null;
  /**
   * Think time of those users between two tasks. Absent: none.
   */
  rest?: Rest | null;
  /**
   * Service time of its calls, each call by itself.
   */
  service?: Ladder | null;
  /**
   * Length of the sessions of those users. Absent: each stays for the whole run.
   */
  session?: SessionLength | null;
  /**
   * Share of the type, out of the sum of all shares.
   */
  share: number;
  /**
   * Its streamed responses; null without any.
   */
  streams?: StreamReport | null;
  /**
   * Number of its arrivals of the measured time that raised an error; null without any.
   */
  task_raises?: TaskRaises | null;
  /**
   * Names of its tasks.
   */
  tasks: string[];
  /**
   * Number of its finished calls without a connection for a request, in the measured time.
   */
  unconnected?: number;
  /**
   * Number of its users in a closed loop. Absent: arrivals on schedule.
   */
  users?: number | null;
}
/**
 * Its arrivals in the whole run.
 */
export interface ArrivalCounts2 {
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
/**
 * What the warm-up left out.
 */
export interface WarmUp {
  /**
   * Number of arrivals due in it.
   */
  arrivals: number;
  /**
   * Number of calls of those that ended.
   */
  calls: number;
  /**
   * Length of the warm-up in µs.
   */
  warm_up_us: number;
}
