/* Written by `./dev web` from proto/schema: never edit it. */

/**
 * Why a holder lost its shards.
 */
export type LossReason = "silent" | "replaced" | "left" | "failed" | "isolated" | "not_ready";

/**
 * Agents of a run over time.
 */
export interface Attendance {
  /**
   * Agents, by name.
   */
  agents: AgentOverTime[];
  /**
   * Length of a bucket in µs.
   */
  bucket_us: number;
  /**
   * Begin of each bucket, in µs after the start.
   */
  from_us: number[];
  /**
   * Id of the run.
   */
  run: string;
}
/**
 * One agent over time. Each list has one value per bucket, null where the agent reported nothing.
 */
export interface AgentOverTime {
  /**
   * Name of the agent.
   */
  agent: string;
  /**
   * Maximum CPU use of a firing thread, in thousandths of its core.
   */
  busiest_core_permille: (number | null)[];
  /**
   * Number of cores that it last offered.
   */
  cores?: number | null;
  /**
   * Maximum CPU use of one of its processes, in thousandths of one core.
   */
  cpu_millicores: (number | null)[];
  /**
   * Number of calls finished, by due time.
   */
  finished: number[];
  /**
   * Its processes that held shards.
   */
  holders: HolderFacts[];
  /**
   * Maximum number of arrivals in flight at the end of a tick.
   */
  in_flight: (number | null)[];
  /**
   * 99th percentile of the schedule lag in µs, by due time.
   */
  lag_p99_us: (number | null)[];
  /**
   * Longest delay of a firing thread behind its own timer, in µs.
   */
  stall_us: (number | null)[];
  /**
   * Number of arrivals started, by due time.
   */
  started: number[];
  /**
   * Version of its build, as last reported.
   */
  version?: string | null;
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
  holder: Holder;
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
