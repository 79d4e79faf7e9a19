/* Written by `./dev web` from proto/schema: never edit it. */

/**
 * Id of one execution of one plan: a ULID in lower case, so that ids sort by creation.
 */
export type RunId = string;

/**
 * A run beside one or more earlier ones.
 */
export interface Comparison {
  /**
   * The runs that it is compared with.
   */
  baseline: RunId[];
  /**
   * Id of one execution of one plan: a ULID in lower case, so that ids sort by creation.
   */
  current: string;
  /**
   * Where the change of each percentile comes from that is better or worse; those of a task only
   * where the percentile of the whole run does not say the same. Empty without the calls of the
   * runs.
   */
  explained: Explanation[];
  /**
   * Figures of the whole run, then of each task that both sides have.
   */
  figures: FigureChange[];
  /**
   * Why the runs cannot be compared, as sentences for people; then there is no judgement.
   */
  obstacles: string[];
  /**
   * Whether a figure is worse, beyond the threshold and chance. False where there is an
   * obstacle.
   */
  regressed: boolean;
  /**
   * What a reader has to know besides, as sentences for people.
   */
  remarks: string[];
  /**
   * Version of this format.
   */
  schema: "loadpilot.comparison/1";
  /**
   * Difference in percent from which on a change for the worse is a regression.
   */
  threshold_pct: number;
}
/**
 * The change of a percentile, divided among calls. The contributions of the calls and of their mix
 * add up to the difference of the two values.
 */
export interface Explanation {
  /**
   * Its value in ms.
   */
  baseline_ms: number;
  /**
   * The run of the baseline beside which it is explained; of several the one whose value is
   * nearest to their median.
   */
  beside: string;
  /**
   * Contributions of the calls, the largest first.
   */
  calls: CallShift[];
  /**
   * Value of the current run in ms.
   */
  current_ms: number;
  /**
   * The percentile.
   */
  figure:
    "achieved_rps" | "p50_ms" | "p95_ms" | "p99_ms" | "max_ms" | "error_rate_pct" | "held_rps";
  /**
   * Contribution of the mix in ms: of calls that became more or less frequent among all calls,
   * or that only one of the runs has.
   */
  mix_ms: number;
  /**
   * Name of the task; null for the whole run.
   */
  task?: string | null;
}
/**
 * The part of one call in the change of a percentile.
 */
export interface CallShift {
  /**
   * Name of the call.
   */
  call: string;
  /**
   * When the requests that moved were due, from and to in µs after the start of the load; null
   * for the whole measured time.
   *
   * @minItems 2
   * @maxItems 2
   */
  during_us?: [number, number] | null;
  /**
   * Contribution in ms; of the opposite sign where this call changed the other way.
   */
  ms: number;
  /**
   * The rest of the contribution, in ms: time in no phase, such as that of a request which timed
   * out before its first byte.
   */
  other_ms: number;
  /**
   * The contribution by phase, in ms. Phases that changed the other way are left out.
   */
  phases: {
    [k: string]: number;
  };
  /**
   * Requests that moved beyond the better of the two values, in percent of all requests;
   * negative where they moved below it.
   */
  requests_pct: number;
  /**
   * Name of the task.
   */
  task: string;
}
/**
 * One figure of the current run beside the baseline.
 */
export interface FigureChange {
  /**
   * Value of the baseline; of several runs the median. Null without a value.
   */
  baseline?: number | null;
  /**
   * What the difference means.
   */
  change: "equal" | "noise" | "small" | "better" | "worse" | "unjudged";
  /**
   * Difference in percent of the baseline; null where that is absent or 0.
   */
  change_pct?: number | null;
  /**
   * Value of the current run; null without a value.
   */
  current?: number | null;
  /**
   * The figure.
   */
  figure:
    "achieved_rps" | "p50_ms" | "p95_ms" | "p99_ms" | "max_ms" | "error_rate_pct" | "held_rps";
  /**
   * Difference in the unit of the figure: the range that holds 99 % of the differences between
   * samples drawn again from the parts of both sides. Null without enough parts.
   *
   * @minItems 2
   * @maxItems 2
   */
  interval?: [number, number] | null;
  /**
   * Name of the task; null for the whole run.
   */
  task?: string | null;
}
