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
   * Finished calls that were not ok so far, as reported.
   */
  errors_total: number;
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
   * Those that finished and were not ok.
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
