/* Written by `./dev web` from proto/schema: never edit it. */

/**
 * Figures of a slice, bucket by bucket: each list has one value a bucket.
 */
export interface Series {
  /**
   * The grain of this answer in µs; the last bucket may be shorter.
   */
  bucket_us: number;
  /**
   * Arrivals dropped, for whatever reason, by agents.
   */
  dropped: number[];
  /**
   * Finished calls that were not ok; by those rules also the last one of each task that raised,
   * and one for each that raised without a call.
   */
  errors: number[];
  /**
   * Finished calls; by rules 2 and unless calls or outcomes are picked out, also one for each
   * task that raised without a call.
   */
  finished: number[];
  /**
   * Where each bucket begins, in µs after the start.
   */
  from_us: number[];
  /**
   * How calls ended, the unfinished ones too; only outcomes that happened.
   */
  outcomes: {
    [k: string]: number[];
  };
  /**
   * Which percentiles are told.
   */
  percentiles: number[];
  /**
   * Arrivals planned; null where agents, calls or outcomes are picked out, which no plan knows.
   */
  planned: (number | null)[];
  /**
   * Response time in µs by percentile (`p50`, `p99_9`) and `max`; null when nothing finished.
   */
  response: {
    [k: string]: (number | null)[];
  };
  /**
   * Of which run.
   */
  run: string;
  /**
   * Service time, likewise.
   */
  service: {
    [k: string]: (number | null)[];
  };
  /**
   * Arrivals started.
   */
  started: number[];
  /**
   * The grain of the log in µs.
   */
  tick_us: number;
  total: SliceTotal;
}
/**
 * The whole slice as one.
 */
export interface SliceTotal {
  /**
   * Corrected p99 over uncorrected p99; null in a closed loop and when nothing finished.
   */
  co_factor?: number | null;
  /**
   * Arrivals dropped by agents.
   */
  dropped: number;
  /**
   * Finished calls that were not ok; by those rules also the last one of each task that raised,
   * and one for each that raised without a call.
   */
  errors: number;
  /**
   * Finished calls; by rules 2 and unless calls or outcomes are picked out, also one for each
   * task that raised without a call.
   */
  finished: number;
  /**
   * How calls ended.
   */
  outcomes: {
    [k: string]: number;
  };
  /**
   * Arrivals planned; null as in [`Series::planned`].
   */
  planned?: number | null;
  /**
   * Response time; null when nothing finished.
   */
  response?: Ladder | null;
  /**
   * Service time.
   */
  service?: Ladder | null;
  /**
   * Arrivals started.
   */
  started: number;
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
