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
  figure: "achieved_rps" | "p50_ms" | "p95_ms" | "p99_ms" | "max_ms" | "error_rate_pct";
  /**
   * Difference in the unit of the figure: the range that holds 95 % of the differences between
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
