/* Written by `./dev web` from proto/schema: never edit it. */

/**
 * Why a holder no longer holds anything.
 */
export type LossReason = "silent" | "replaced" | "left" | "failed" | "isolated" | "not_ready";

/**
 * The agents of a run.
 */
export interface Attendance {
  /**
   * By name.
   */
  agents: AgentOverTime[];
  /**
   * The grain of the lists below in µs.
   */
  bucket_us: number;
  /**
   * Where each bucket begins, in µs after the start.
   */
  from_us: number[];
  /**
   * Of which run.
   */
  run: string;
}
/**
 * One agent. Each list has one value a bucket, null where it reported nothing.
 */
export interface AgentOverTime {
  /**
   * Its name.
   */
  agent: string;
  /**
   * The most that a firing thread used, in thousandths of its core.
   */
  busiest_core_permille: (number | null)[];
  /**
   * How many cores it offered last.
   */
  cores?: number | null;
  /**
   * The most CPU time that a process of it used, in thousandths of one core.
   */
  cpu_millicores: (number | null)[];
  /**
   * Calls finished, by due time.
   */
  finished: number[];
  /**
   * Its processes that held shards.
   */
  holders: HolderFacts[];
  /**
   * The most arrivals in flight at the end of a tick.
   */
  in_flight: (number | null)[];
  /**
   * 99th percentile of the schedule lag in µs, by due time.
   */
  lag_p99_us: (number | null)[];
  /**
   * The longest that a firing thread was late for its own timer, in µs.
   */
  stall_us: (number | null)[];
  /**
   * Arrivals started, by due time.
   */
  started: number[];
  /**
   * The version of its program, as it said last.
   */
  version?: string | null;
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
  holder: Holder;
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
