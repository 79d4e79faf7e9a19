/* Written by `./dev web` from proto/schema: never edit it. */

/**
 * Why a call got no complete answer.
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
  | "not_allowed";
/**
 * Families of addresses.
 */
export type IpFamily = "4" | "6";
/**
 * How a run ended.
 */
export type Ending = "completed" | "stopped" | "abandoned" | "failed" | "aborted" | "log_full";
/**
 * Why a holder no longer holds anything.
 */
export type LossReason = "silent" | "replaced" | "left" | "failed" | "isolated" | "not_ready";
/**
 * A piece of a list of shards.
 */
export type Piece = number | [unknown, unknown, unknown];
/**
 * Text of a request or a parameter: written out, or a handle to a secret that only agents
 * resolve.
 */
export type Text =
  | string
  | {
      /**
       * The handle.
       */
      secret: string;
    };
/**
 * What a user of a closed loop does between two tasks. Users begin evenly over the first rest, so
 * that they do not march in step.
 */
export type Rest =
  | {
      wait: {
        /**
         * At least, in µs.
         */
        from_us: number;
        /**
         * At most, in µs.
         */
        to_us: number;
      };
    }
  | {
      pacing: {
        /**
         * In µs.
         */
        every_us: number;
      };
    };
/**
 * An instant: microseconds since the Unix epoch, UTC.
 */
export type Timestamp = number;

/**
 * What happened in one run.
 */
export interface Report {
  arrivals: ArrivalCounts;
  bytes: Bytes;
  calls: CallCounts;
  certificate: Certificate;
  /**
   * Checks of all tasks, in the measured time; null when none looked at an answer.
   */
  checks?: Checks | null;
  /**
   * SHA-256 in hex of the canonical JSON of this report with an empty digest.
   */
  digest: string;
  /**
   * Planned length of the run, or until it was stopped, in seconds.
   */
  duration_secs: number;
  /**
   * Errors in percent of finished calls, by rules 2 and of tasks that raised without a call;
   * null when there were none of either.
   */
  error_rate_pct?: number | null;
  /**
   * Finished calls that were not ok, in the measured time; by rules 2 also the last call of a
   * task that raised, and one for each task that raised without a call.
   */
  errors_total: number;
  /**
   * The first exchanges, where the plan asked for them.
   */
  exchanges?: ExchangeSeen[];
  gaps: Gaps;
  generator: GeneratorReport;
  latency: Latency;
  /**
   * Longest response time in ms.
   */
  max_ms?: number | null;
  /**
   * What the scenario measured itself, in the measured time; null when it did not.
   */
  metrics?: MetricsReport | null;
  /**
   * Median response time in ms; null when nothing finished.
   */
  p50_ms?: number | null;
  /**
   * 95th percentile of the response time in ms.
   */
  p95_ms?: number | null;
  /**
   * 99th percentile of the response time in ms.
   */
  p99_ms?: number | null;
  rates: Rates;
  /**
   * Calls that ended, in the measured time.
   */
  requests_total: number;
  /**
   * Started arrivals per second over the measured time (without warm-up).
   */
  rps_actual: number;
  /**
   * The peak rate that was planned, per second.
   */
  rps_target: number;
  run: RunFacts;
  /**
   * The scenario's name.
   */
  scenario: string;
  /**
   * The version of this format.
   */
  schema: "loadpilot.report/1";
  /**
   * Per due tick, warm-up included.
   */
  series: TickReport[];
  /**
   * Answers by status code in the measured time.
   */
  status: {
    /**
     * This interface was referenced by `undefined`'s JSON-Schema definition
     * via the `patternProperty` "^\d+$".
     */
    [k: string]: number;
  };
  /**
   * Decisions and facts of the run in order, for people.
   */
  story: StoryLine[];
  /**
   * Streamed answers of all tasks, in the measured time; null when there were none.
   */
  streams?: StreamReport | null;
  /**
   * Where the load went.
   */
  target_url: string;
  /**
   * Arrivals of the measured time whose task raised an error; null when there were none, and by
   * rules 1.
   */
  task_raises?: TaskRaises | null;
  /**
   * Per task, in the order of the plan; calls, latency in the measured time.
   */
  tasks: TaskReport[];
  verdict: Verdict;
  warm_up: WarmUp;
}
/**
 * Every planned arrival of the whole run, warm-up included.
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
 * Bytes moved in the measured time.
 */
export interface Bytes {
  /**
   * Read, headers included where the engine sees them.
   */
  received: number;
  /**
   * Read, per second of the measured time.
   */
  received_per_sec: number;
  /**
   * Written, headers included.
   */
  sent: number;
  /**
   * Written, per second of the measured time.
   */
  sent_per_sec: number;
}
/**
 * Every call of the whole run, warm-up included.
 */
export interface CallCounts {
  /**
   * Calls that were dispatched.
   */
  attempted: number;
  /**
   * Why those without a complete answer had none.
   */
  causes?: {
    [k: string]: {
      [k: string]: number;
    };
  };
  /**
   * In flight in a run that goes on; 0 once sealed.
   */
  in_flight: number;
  /**
   * How they ended.
   */
  outcomes: {
    [k: string]: number;
  };
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
 * Checks that looked at an answer.
 */
export interface Checks {
  /**
   * Those that failed.
   */
  failed: number;
  /**
   * Those that passed.
   */
  passed: number;
}
/**
 * One exchange of the first arrivals of a run; see [`crate::plan::Plan::debug_requests`].
 */
export interface ExchangeSeen {
  /**
   * The status line and the header lines of the answer, secrets masked, cut where they are too
   * long; none when none came.
   */
  answer: string[];
  /**
   * The arrival; in a closed loop the user.
   */
  arrival: number;
  /**
   * The call, by its place in the plan's list of calls.
   */
  call: number;
  /**
   * Why there is no complete answer.
   */
  cause?: Cause | null;
  /**
   * How it ended.
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
   * Bytes that came, headers included where the engine sees them.
   */
  received_bytes: number;
  /**
   * The request line and the header lines, secrets masked.
   */
  request: string[];
  /**
   * Bytes of the request's body.
   */
  request_body_bytes: number;
  /**
   * End − due, in µs.
   */
  response_us: number;
}
/**
 * What the log does not know.
 */
export interface Gaps {
  /**
   * Arrivals offered by holders that had been superseded at the due tick.
   */
  excess_arrivals: number;
  /**
   * Calls of those; outside percentiles and verdict.
   */
  excess_calls: number;
  /**
   * Deltas that came after the run was sealed.
   */
  late_deltas: number;
  /**
   * Arrivals that a holder did not report.
   */
  lost: LostInterval[];
  /**
   * Closed loop only: the time of users that nobody reported on, in percent of all their time.
   */
  lost_time_pct?: number | null;
  /**
   * Events and deltas that were set aside, and why.
   */
  quarantined: Quarantined[];
  /**
   * Arrivals and calls that were reported beyond what was planned or can have been made, in
   * percent of that. Absent: none.
   */
  surplus_pct?: number | null;
}
/**
 * Arrivals that a holder did not report.
 */
export interface LostInterval {
  /**
   * How many arrivals; in a closed loop those that its later totals name, which may be none.
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
 * Who held them.
 */
export interface Holder {
  /**
   * Whose process.
   */
  agent: string;
  /**
   * Which process.
   */
  boot_id: string;
}
/**
 * Something in the log that was set aside.
 */
export interface Quarantined {
  /**
   * Why.
   */
  reason: string;
  /**
   * Its stream sequence.
   */
  seq: number;
  /**
   * Its subject.
   */
  subject: string;
}
/**
 * How the generator itself fared.
 */
export interface GeneratorReport {
  /**
   * The busiest firing thread of any delta, in thousandths of its core.
   */
  busiest_core_permille: number;
  /**
   * Share of deltas in which a firing thread was above 90 % of its core, in percent.
   */
  busy_deltas_pct: number;
  /**
   * Connections opened.
   */
  connections_opened: number;
  /**
   * Calls that used an open connection.
   */
  connections_reused: number;
  /**
   * Connections that found the queue of a listener on an agent's machine full during the run,
   * the most of any machine: of interest when the target is there.
   */
  listen_overflows_max?: number;
  /**
   * From there until dispatch.
   */
  queue?: Ladder | null;
  /**
   * Requests that were sent a second time on another connection, because the first one turned
   * out to be closed: the target may have seen them twice.
   */
  resent?: number;
  /**
   * TCP segments that the kernel of one agent's machine sent again during the run, for whomever:
   * the most of any machine.
   */
  retransmits_max?: number;
  /**
   * From due until the pacer reached the arrival, in the measured time.
   */
  schedule_lag?: Ladder | null;
  /**
   * The longest that a firing thread was late for its own timer, in µs.
   */
  stall_us_max: number;
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
 * Latency of all finished calls in the measured time.
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
 * What a scenario measured itself in the measured time, by name.
 */
export interface MetricsReport {
  /**
   * Its counters.
   */
  counters?: {
    [k: string]: CounterReport;
  };
  /**
   * Its rates.
   */
  rates?: {
    [k: string]: RateReport;
  };
  /**
   * Its trends.
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
   * The sum of what was added, each to a millionth.
   */
  count: number;
  /**
   * That, per second of the measured time.
   */
  rate: number;
}
/**
 * One rate.
 */
export interface RateReport {
  /**
   * How many values; at least one.
   */
  count: number;
  /**
   * That, in percent.
   */
  rate: number;
  /**
   * How many of them were true.
   */
  trues: number;
}
/**
 * One trend: its values to four significant digits, in the unit of the scenario.
 */
export interface TrendReport {
  /**
   * How many values; at least one.
   */
  count: number;
  /**
   * The greatest.
   */
  max: number;
  /**
   * The arithmetic mean.
   */
  mean: number;
  /**
   * The least.
   */
  min: number;
  /**
   * 50 %.
   */
  p50: number;
  /**
   * 90 %.
   */
  p90: number;
  /**
   * 95 %.
   */
  p95: number;
  /**
   * 99 %.
   */
  p99: number;
}
/**
 * Offered against planned, in the measured time.
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
 * What ran, when, and how it ended.
 */
export interface RunFacts {
  connections?: Connections;
  /**
   * When it was created.
   */
  created_at: number;
  /**
   * How it ended, once sealed.
   */
  ending?: Ending | null;
  /**
   * What the first holder said that could not do its shards.
   */
  failure?: Failure | null;
  /**
   * The data of which its arrivals took rows.
   */
  feeds?: FeedFacts[];
  /**
   * The last assignment's number.
   */
  generation: number;
  /**
   * Everybody who ever held shards.
   */
  holders: HolderFacts[];
  /**
   * Its id.
   */
  id: string;
  /**
   * Who owned which shards when: the arrivals n with n mod shards in a list were the holder's.
   */
  maps?: ShardMap[];
  /**
   * Most arrivals in flight per agent that the plan allows; null: what each agent can hold.
   */
  max_in_flight?: number | null;
  /**
   * What the scenario asked for by name, and what it was given.
   */
  parameters?: {
    [k: string]: Text;
  };
  /**
   * SHA-256 of the plan's canonical JSON.
   */
  plan_hash: string;
  /**
   * The length of its profile in µs.
   */
  profile_us: number;
  /**
   * Why it was refused or cancelled.
   */
  refused: Problem[];
  /**
   * What they did between two tasks. Absent: nothing.
   */
  rest?: Rest | null;
  /**
   * By which rules it is judged. Absent: the first ones.
   */
  rules?: "1" | "2";
  /**
   * Fixes, with the plan, every arrival.
   */
  seed: number;
  /**
   * The shape of its profile.
   */
  shape: "ramp" | "constant" | "step" | "spike" | "stages" | "closed";
  /**
   * When it started, if it did.
   */
  start_at?: Timestamp | null;
  /**
   * Where it stands; anything but `sealed` and `refused` is an incomplete report.
   */
  state: "requested" | "refused" | "gathering" | "preparing" | "running" | "stopping" | "sealed";
  /**
   * What users changed while it ran, in order: its figures are not those of its plan.
   */
  steered?: Steered[];
  /**
   * When it was stopped before its end, in µs after the start.
   */
  stopped_at_us?: number | null;
  /**
   * What people tell it from other runs by.
   */
  tags?: {
    [k: string]: string;
  };
  /**
   * The grain of `series` in µs.
   */
  tick_us: number;
  /**
   * What was found where it was stopped because nothing answered.
   */
  unanswered?: Unanswered | null;
  /**
   * Users of a closed loop, each starting its next task when its last one ended: its latency is
   * not counted from a schedule. Absent: arrivals on schedule.
   */
  users?: number | null;
}
/**
 * How the target was spoken to, where that is not the ordinary way.
 */
export interface Connections {
  /**
   * A connection that is older than this, in µs, takes no further request.
   */
  age_us_max?: number | null;
  /**
   * Where to connect instead of to the target, whose name stays in Host and in TLS:
   * `host:port`, or `unix:/path` for a socket of the agent's machine.
   */
  connect_to?: string | null;
  /**
   * Which HTTP is spoken.
   */
  http?: "1.1" | "2" | "auto";
  /**
   * Only addresses of this family are connected to; all that the name stands for when absent.
   */
  ip?: IpFamily | null;
  /**
   * Most connections that one agent has open to the target at a time; arrivals that find none
   * free wait in the queue. No limit of its own when absent.
   */
  max?: number | null;
  /**
   * Connections that each agent opens before the run starts; none when absent.
   */
  open_first?: number | null;
  /**
   * A connection is closed after this many requests.
   */
  requests_max?: number | null;
  /**
   * The target's name is resolved again when the answer is older than this, in µs; once per run
   * when absent.
   */
  resolve_us?: number | null;
  /**
   * How many calls may use a connection that is open already.
   */
  reuse?:
    | "always"
    | "never"
    | {
        share_ppm: number;
      };
  /**
   * Addresses of the agent's machine to connect from, in turn, each with a range of ports if
   * the system is not to choose them: see [`Source`].
   */
  sources?: string[];
  /**
   * HTTP/2 only: most requests at a time on one connection; 100 when absent.
   */
  streams_max?: number | null;
  tls?: TlsSettings;
}
/**
 * For https.
 */
export interface TlsSettings {
  /**
   * The client's certificate.
   */
  identity?: TlsIdentity | null;
  /**
   * The target's certificate is not verified. The report says so.
   */
  insecure?: boolean;
  /**
   * Certificates (PEM) to trust instead of those of the agent's machine.
   */
  roots_pem?: string | null;
}
/**
 * A client certificate and the handle of its key.
 */
export interface TlsIdentity {
  /**
   * The certificate and its chain (PEM).
   */
  certificate_pem: string;
  /**
   * The name under which the submitter handed over the private key (PEM).
   */
  key_secret: string;
}
/**
 * Why a holder could not do its shards.
 */
export interface Failure {
  /**
   * What kind of reason it is.
   */
  cause: "not_prepared" | "scenario" | "broken" | "log_full" | "log_refuses";
  /**
   * Why, for people to read.
   */
  reason: string;
}
/**
 * What became of a feed in a run.
 */
export interface FeedFacts {
  /**
   * Rows are meant to be used again when there are no more.
   */
  cycles: boolean;
  /**
   * What the scenario calls it.
   */
  name: string;
  /**
   * How many rows there are.
   */
  rows: number;
  /**
   * How many arrivals were planned that take one, up to a stop, in a closed loop how many there
   * were; or how many users, if they are more.
   */
  taken: number;
}
/**
 * What one process did in the run.
 */
export interface HolderFacts {
  /**
   * Calls it ended.
   */
  calls: number;
  /**
   * Its clock's distance from the coordinator's is known to within this many µs.
   */
  clock_bound_us?: number | null;
  /**
   * Deltas that were folded.
   */
  deltas: number;
  /**
   * Whether it said its last words.
   */
  finished: boolean;
  holder: Holder1;
  /**
   * Why it lost its shards, if it did.
   */
  lost?: LossReason | null;
  /**
   * The most shards it held at once.
   */
  shards: number;
  /**
   * Arrivals it started.
   */
  started: number;
  /**
   * What it left when it was killed, as a later process of its agent reported it.
   */
  tail?: TailFacts | null;
}
/**
 * Who.
 */
export interface Holder1 {
  /**
   * Whose process.
   */
  agent: string;
  /**
   * Which process.
   */
  boot_id: string;
}
/**
 * What a killed process left.
 */
export interface TailFacts {
  /**
   * Its calls that were in flight.
   */
  indeterminate: number;
  /**
   * Why some of what it counted could not be read; null when all of it could.
   */
  lost?: string | null;
}
/**
 * Who owned which shards from a tick on.
 */
export interface ShardMap {
  /**
   * The first due tick it is in force for, until a later one begins.
   */
  from_tick: number;
  /**
   * Its number.
   */
  generation: number;
  /**
   * Every shard that somebody held.
   */
  holdings: Holding[];
}
/**
 * The shards of one holder.
 *
 * It is read as part of a whole map only, which is judged before it is unfolded.
 */
export interface Holding {
  holder: Holder2;
  /**
   * Which arrivals: those with `n mod shards` in this list; sorted. Stored as shards and
   * strides of them, `[first, step, count]`.
   */
  shards: Piece[];
}
/**
 * Who.
 */
export interface Holder2 {
  /**
   * Whose process.
   */
  agent: string;
  /**
   * Which process.
   */
  boot_id: string;
}
/**
 * One thing that is wrong with what a user gave us.
 */
export interface Problem {
  /**
   * Where: a path such as `tasks[0].steps[1].method`.
   */
  field: string;
  /**
   * What must hold there, as a sentence without a subject ("must be …").
   */
  rule: string;
  /**
   * What was found, shortened to [`crate::limits::PROBLEM_VALUE_CHARS_MAX`] characters.
   */
  value: string;
}
/**
 * One change that a user made to a run that ran.
 */
export interface Steered {
  /**
   * An instant: microseconds since the Unix epoch, UTC.
   */
  at: number;
  /**
   * Who asked for it.
   */
  by: string;
  /**
   * What it was.
   */
  change:
    | {
        /**
         * What is planned from there on.
         */
        rate: number;
        type: "rate";
        /**
         * What was planned.
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
   * From when on, in µs after the start.
   */
  from_us: number;
}
/**
 * Calls of a run, all of which failed to connect.
 */
export interface Unanswered {
  /**
   * How many, from the first call of the run on.
   */
  calls: number;
  /**
   * Why, where that is known.
   */
  causes?: {
    [k: string]: number;
  };
}
/**
 * One due tick.
 */
export interface TickReport {
  /**
   * Arrivals dropped, for whatever reason, by agents.
   */
  dropped: number;
  /**
   * Errors, as in `errors_total`.
   */
  errors: number;
  /**
   * Finished calls, as in [`TaskReport::finished`].
   */
  finished: number;
  /**
   * Longest response time in µs.
   */
  max_us?: number | null;
  /**
   * Median response time in µs; null when nothing finished.
   */
  p50_us?: number | null;
  /**
   * 90th percentile of the response time in µs.
   */
  p90_us?: number | null;
  /**
   * 95th percentile of the response time in µs.
   */
  p95_us?: number | null;
  /**
   * 99th percentile of the response time in µs.
   */
  p99_us?: number | null;
  /**
   * Arrivals planned.
   */
  planned: number;
  /**
   * Arrivals started.
   */
  started: number;
  /**
   * Its number; it begins at `tick × tick_us` after the start.
   */
  tick: number;
}
/**
 * One line of the story.
 */
export interface StoryLine {
  /**
   * An instant: microseconds since the Unix epoch, UTC.
   */
  at: number;
  /**
   * Its stream sequence in LP_CTL.
   */
  seq: number;
  /**
   * What happened.
   */
  text: string;
}
/**
 * What streamed answers were like, in the measured time.
 */
export interface StreamReport {
  /**
   * From due to the first token, corrected.
   */
  first_token?: Ladder | null;
  /**
   * From dispatch to the first token, uncorrected.
   */
  first_token_service?: Ladder | null;
  /**
   * From one token to the next; null when no answer had two.
   */
  token_gap?: Ladder | null;
  /**
   * Tokens that came.
   */
  tokens: number;
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
 * One task.
 */
export interface TaskReport {
  arrivals: ArrivalCounts1;
  /**
   * Its calls, in order; those made in Python by name.
   */
  calls: CallReport[];
  /**
   * Its checks; null when none looked at an answer.
   */
  checks?: Checks | null;
  /**
   * Errors in the measured time, as in `errors_total`.
   */
  errors: number;
  /**
   * Finished calls of it in the measured time, by rules 2 also one for each time that it raised
   * without a call.
   */
  finished: number;
  /**
   * What it measured itself; null when it did not.
   */
  metrics?: MetricsReport | null;
  /**
   * Its name.
   */
  name: string;
  /**
   * What its checks and itself raised in Python, the most frequent first.
   */
  raised?: Raised[];
  /**
   * Response time of all its calls, each on its own.
   */
  response?: Ladder | null;
  /**
   * Service time of all its calls, each on its own.
   */
  service?: Ladder | null;
  /**
   * Its streamed answers; null when it has none.
   */
  streams?: StreamReport | null;
  /**
   * Its arrivals of the measured time that raised an error; null as in the report.
   */
  task_raises?: TaskRaises | null;
  /**
   * Finished calls of it that had no connection over which a request could be sent, in the
   * measured time. Absent: none, or judged by the first rules.
   */
  unconnected?: number;
  /**
   * Its weight.
   */
  weight: number;
}
/**
 * Its arrivals in the whole run.
 */
export interface ArrivalCounts1 {
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
 * One call of a task.
 */
export interface CallReport {
  /**
   * Where its time went, in the measured time.
   */
  anatomy: {
    [k: string]: Ladder;
  };
  counts: CallCounts1;
  /**
   * Its name.
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
   * Answers by status code in the measured time.
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
 * How many times it was dispatched in the whole run, and how those ended.
 */
export interface CallCounts1 {
  /**
   * Calls that were dispatched.
   */
  attempted: number;
  /**
   * Why those without a complete answer had none.
   */
  causes?: {
    [k: string]: {
      [k: string]: number;
    };
  };
  /**
   * In flight in a run that goes on; 0 once sealed.
   */
  in_flight: number;
  /**
   * How they ended.
   */
  outcomes: {
    [k: string]: number;
  };
}
/**
 * What a check or a task raised in the whole run.
 */
export interface Raised {
  /**
   * What of the task.
   */
  by: "check" | "task" | "blocking";
  /**
   * How many times.
   */
  count: number;
  /**
   * The kind of the error, its message and its place.
   */
  text: string;
  /**
   * The lines of the user's that led to one of them, the outermost first, `shop.py:40 in buy`,
   * each on a line of its own; absent where no agent told any.
   */
  trace?: string | null;
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
/**
 * What the warm-up left out.
 */
export interface WarmUp {
  /**
   * Arrivals that were due in it.
   */
  arrivals: number;
  /**
   * Calls of those that ended.
   */
  calls: number;
  /**
   * Its length in µs.
   */
  warm_up_us: number;
}
