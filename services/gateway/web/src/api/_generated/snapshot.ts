/* Written by `./dev web` from proto/schema: never edit it. */

/**
 * The run as of one instant.
 */
export interface Snapshot {
  /**
   * Holders that reported lately.
   */
  active_workers: number;
  /**
   * Arrivals dropped so far, as reported.
   */
  arrivals_dropped: number;
  /**
   * Started arrivals per second over the newest deltas.
   */
  arrivals_per_sec?: number;
  /**
   * Arrivals started so far, as reported.
   */
  arrivals_started: number;
  /**
   * Finished calls per second over the newest deltas.
   */
  current_rps: number;
  /**
   * Length of the profile in seconds.
   */
  duration_secs: number;
  /**
   * Seconds since the start; 0 before it.
   */
  elapsed_secs: number;
  /**
   * Finished calls that were not ok so far, as reported, and tasks that raised, as in a report.
   */
  errors_total: number;
  /**
   * Why calls get no complete answer; absent while all get one, or nothing is known of it.
   */
  failing?: Failing | null;
  /**
   * While it waits for agents: how many there are.
   */
  gathering?: Gathering | null;
  /**
   * Arrivals in flight, as last reported.
   */
  in_flight: number;
  latency: LatencyMs;
  latency_cumulative: LatencyMs1;
  /**
   * Age of the oldest arrival in flight or waiting, as last reported, in ms.
   */
  oldest_ms: number;
  /**
   * Connections opened per second over the newest deltas; with https these are handshakes.
   */
  opened_per_sec?: number;
  /**
   * Whether it is paused: nothing is started, and its time goes on.
   */
  paused?: boolean;
  /**
   * Where the offered rate is heading.
   */
  phase: "waiting" | "ramp_up" | "steady" | "ramp_down" | "done";
  /**
   * Planned arrivals per second over the same time; 0 in a closed loop.
   */
  planned_per_sec?: number;
  /**
   * Tasks that raised without a call so far: errors beside `requests_total`.
   */
  raised_without_call?: number;
  /**
   * Calls ended so far, as reported.
   */
  requests_total: number;
  /**
   * Calls of the newest deltas that used an open connection, in percent of those that got one;
   * null when none did.
   */
  reused_pct?: number | null;
  /**
   * Where the run stands.
   */
  state: "requested" | "refused" | "gathering" | "preparing" | "running" | "stopping" | "sealed";
  /**
   * The planned rate at this instant, arrivals per second.
   */
  target_rps: number;
  /**
   * Per task, everything so far.
   */
  tasks: TaskSnapshot[];
  /**
   * The instant, in seconds since the Unix epoch, on the reader's clock.
   */
  timestamp_secs: number;
  /**
   * Arrivals waiting for a slot, as last reported.
   */
  waiting: number;
}
/**
 * The most frequent cause of the calls without a complete answer so far.
 */
export interface Failing {
  /**
   * How many calls failed by it.
   */
  calls: number;
  /**
   * The cause.
   */
  cause:
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
   * Whether no call has reached a server so far.
   */
  unreached: boolean;
  /**
   * The same for people.
   */
  why: string;
}
/**
 * A run that waits for its agents.
 */
export interface Gathering {
  /**
   * Seconds until then, on the reader's clock.
   */
  left_secs: number;
  /**
   * Agents that suffice when the wait is over.
   */
  min: number;
  /**
   * Agents that offered capacity.
   */
  ready: number;
  /**
   * Agents that it waits for.
   */
  want: number;
}
/**
 * Response time of what finished in the newest delta of each agent.
 */
export interface LatencyMs {
  max_ms?: number | null;
  mean_ms?: number | null;
  min_ms?: number | null;
  p50_ms?: number | null;
  p95_ms?: number | null;
  p99_ms?: number | null;
}
/**
 * Response time of everything that has finished so far.
 */
export interface LatencyMs1 {
  max_ms?: number | null;
  mean_ms?: number | null;
  min_ms?: number | null;
  p50_ms?: number | null;
  p95_ms?: number | null;
  p99_ms?: number | null;
}
/**
 * One task so far.
 */
export interface TaskSnapshot {
  /**
   * Those that finished and were not ok, and its raises, as in a report.
   */
  errors: number;
  latency: LatencyMs2;
  /**
   * Its name.
   */
  name: string;
  /**
   * Its ended calls.
   */
  requests: number;
}
/**
 * Their response time.
 */
export interface LatencyMs2 {
  max_ms?: number | null;
  mean_ms?: number | null;
  min_ms?: number | null;
  p50_ms?: number | null;
  p95_ms?: number | null;
  p99_ms?: number | null;
}
