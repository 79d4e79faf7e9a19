/* Written by `./dev web` from proto/schema: never edit it. */

/**
 * Live figures of a run at one instant.
 */
export interface Snapshot {
  /**
   * Number of holders that reported recently.
   */
  active_workers: number;
  /**
   * Number of arrivals dropped so far, as reported.
   */
  arrivals_dropped: number;
  /**
   * Started arrivals per second over the newest deltas.
   */
  arrivals_per_sec?: number;
  /**
   * Number of arrivals started so far, as reported.
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
   * Number of errors so far, as reported: finished calls that were not ok and task errors,
   * counted as in a report.
   */
  errors_total: number;
  /**
   * Most frequent cause of calls without a complete response. Absent: every call got one, or no
   * cause is known.
   */
  failing?: Failing | null;
  /**
   * Number of agents, while the run waits for them.
   */
  gathering?: Gathering | null;
  /**
   * Number of arrivals in flight, as last reported.
   */
  in_flight: number;
  latency: LatencyMs;
  latency_cumulative: LatencyMs1;
  /**
   * Most frequent reason of errors so far. Absent: no error, or of an older coordinator.
   */
  most_frequent_failure?: FrequentFailure | null;
  /**
   * Age of the oldest arrival in flight or waiting, as last reported, in ms.
   */
  oldest_ms: number;
  /**
   * Connections opened per second over the newest deltas; with https these are handshakes.
   */
  opened_per_sec?: number;
  /**
   * Whether the run is paused: nothing starts, and its time continues.
   */
  paused?: boolean;
  /**
   * Direction of the offered rate.
   */
  phase: "waiting" | "ramp_up" | "steady" | "ramp_down" | "done";
  /**
   * Planned arrivals per second over the same time; 0 in a closed loop.
   */
  planned_per_sec?: number;
  /**
   * Place and reason in words, while the run waits for its admission to a shared fleet.
   */
  queued?: string | null;
  /**
   * Number of tasks so far that raised without a call: errors beside `requests_total`.
   */
  raised_without_call?: number;
  /**
   * Number of calls ended so far, as reported.
   */
  requests_total: number;
  /**
   * Calls of the newest deltas on a connection that was already open, in percent of those with a
   * connection; null without any.
   */
  reused_pct?: number | null;
  service: LatencyMs2;
  service_cumulative: LatencyMs3;
  /**
   * State of the run.
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
   * Planned rate at this instant, in arrivals per second.
   */
  target_rps: number;
  /**
   * Figures of each task so far.
   */
  tasks: TaskSnapshot[];
  /**
   * The instant, in seconds since the Unix epoch, on the reader's clock.
   */
  timestamp_secs: number;
  /**
   * Number of arrivals waiting for a slot, as last reported.
   */
  waiting: number;
}
/**
 * Most frequent cause of calls without a complete response so far.
 */
export interface Failing {
  /**
   * Number of calls that failed by it.
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
    | "not_allowed"
    | "proxy_credentials"
    | "proxy_refused"
    | "proxy_no_connection"
    | "proxy_protocol";
  /**
   * Whether no call has reached a server so far.
   */
  unreached: boolean;
  /**
   * The cause as text for people.
   */
  why: string;
}
/**
 * Agents of a run that waits for them.
 */
export interface Gathering {
  /**
   * Seconds until the end of the wait, on the reader's clock.
   */
  left_secs: number;
  /**
   * Number of agents that suffice when the wait is over.
   */
  min: number;
  /**
   * Number of agents that offered capacity.
   */
  ready: number;
  /**
   * Number of agents that the run waits for.
   */
  want: number;
}
/**
 * Response time of what finished in the newest delta of each agent.
 */
export interface LatencyMs {
  /**
   * Maximum in ms.
   */
  max_ms?: number | null;
  /**
   * Arithmetic mean in ms.
   */
  mean_ms?: number | null;
  /**
   * Minimum in ms.
   */
  min_ms?: number | null;
  /**
   * Median in ms.
   */
  p50_ms?: number | null;
  /**
   * 95th percentile in ms.
   */
  p95_ms?: number | null;
  /**
   * 99th percentile in ms.
   */
  p99_ms?: number | null;
}
/**
 * Response time of everything that has finished so far.
 */
export interface LatencyMs1 {
  /**
   * Maximum in ms.
   */
  max_ms?: number | null;
  /**
   * Arithmetic mean in ms.
   */
  mean_ms?: number | null;
  /**
   * Minimum in ms.
   */
  min_ms?: number | null;
  /**
   * Median in ms.
   */
  p50_ms?: number | null;
  /**
   * 95th percentile in ms.
   */
  p95_ms?: number | null;
  /**
   * 99th percentile in ms.
   */
  p99_ms?: number | null;
}
/**
 * Most frequent reason of errors so far.
 */
export interface FrequentFailure {
  /**
   * Number of errors for this reason.
   */
  count: number;
  /**
   * The reason as text for people: a status, a failed check, a task error, else the cause.
   */
  why: string;
}
/**
 * Service time of what finished in the newest delta of each agent.
 */
export interface LatencyMs2 {
  /**
   * Maximum in ms.
   */
  max_ms?: number | null;
  /**
   * Arithmetic mean in ms.
   */
  mean_ms?: number | null;
  /**
   * Minimum in ms.
   */
  min_ms?: number | null;
  /**
   * Median in ms.
   */
  p50_ms?: number | null;
  /**
   * 95th percentile in ms.
   */
  p95_ms?: number | null;
  /**
   * 99th percentile in ms.
   */
  p99_ms?: number | null;
}
/**
 * Service time of everything that has finished so far.
 */
export interface LatencyMs3 {
  /**
   * Maximum in ms.
   */
  max_ms?: number | null;
  /**
   * Arithmetic mean in ms.
   */
  mean_ms?: number | null;
  /**
   * Minimum in ms.
   */
  min_ms?: number | null;
  /**
   * Median in ms.
   */
  p50_ms?: number | null;
  /**
   * 95th percentile in ms.
   */
  p95_ms?: number | null;
  /**
   * 99th percentile in ms.
   */
  p99_ms?: number | null;
}
/**
 * Figures of one task so far.
 */
export interface TaskSnapshot {
  /**
   * Number of its errors, counted as in a report.
   */
  errors: number;
  latency: LatencyMs4;
  /**
   * Name of the task.
   */
  name: string;
  /**
   * Number of its ended calls.
   */
  requests: number;
}
/**
 * Response time of its calls.
 */
export interface LatencyMs4 {
  /**
   * Maximum in ms.
   */
  max_ms?: number | null;
  /**
   * Arithmetic mean in ms.
   */
  mean_ms?: number | null;
  /**
   * Minimum in ms.
   */
  min_ms?: number | null;
  /**
   * Median in ms.
   */
  p50_ms?: number | null;
  /**
   * 95th percentile in ms.
   */
  p95_ms?: number | null;
  /**
   * 99th percentile in ms.
   */
  p99_ms?: number | null;
}
