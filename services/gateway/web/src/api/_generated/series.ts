/* Written by `./dev web` from proto/schema: never edit it. */

/**
 * Figures of a slice over time: each list has one value per bucket.
 */
export interface Series {
  /**
   * Length of a bucket in µs; the last bucket may be shorter.
   */
  bucket_us: number;
  /**
   * Number of arrivals that agents dropped, for any reason.
   */
  dropped: number[];
  /**
   * Number of finished calls that were not ok; by the same rules including the last call of each
   * task that raised, plus one for each that raised without a call.
   */
  errors: number[];
  /**
   * Number of finished calls; by rules 2, unless calls or outcomes are selected, plus one for
   * each task that raised without a call.
   */
  finished: number[];
  /**
   * Begin of each bucket, in µs after the start.
   */
  from_us: number[];
  /**
   * The scenario's own metrics; null without any, and where agents, calls or outcomes are
   * selected, which they are not recorded for.
   */
  metrics?: MetricSeries | null;
  /**
   * Number of calls by outcome, unfinished ones included; only outcomes that occurred.
   */
  outcomes: {
    [k: string]: number[];
  };
  /**
   * Percentiles that were computed.
   */
  percentiles: number[];
  /**
   * Number of arrivals planned; null where agents, calls or outcomes are selected, which the
   * plan does not know.
   */
  planned: (number | null)[];
  /**
   * Response time in µs by percentile (`p50`, `p99_9`) and `max`; null when no call finished.
   */
  response: {
    [k: string]: (number | null)[];
  };
  /**
   * Id of the run.
   */
  run: string;
  /**
   * Service time in µs by percentile and `max`; null when no call finished.
   */
  service: {
    [k: string]: (number | null)[];
  };
  /**
   * Number of arrivals started.
   */
  started: number[];
  /**
   * Length of a tick of the log in µs.
   */
  tick_us: number;
  total: SliceTotal;
}
/**
 * Own metrics of a scenario over time, by name: each list has one value per bucket.
 */
export interface MetricSeries {
  /**
   * Sum of what was added to a counter.
   */
  counters: {
    [k: string]: number[];
  };
  /**
   * Share of true values of a rate in percent; null without values.
   */
  rates: {
    [k: string]: (number | null)[];
  };
  /**
   * Values of a trend, in its own unit.
   */
  trends: {
    [k: string]: TrendSeries;
  };
}
/**
 * Values of a trend over time; null without values.
 */
export interface TrendSeries {
  /**
   * Largest value.
   */
  max: (number | null)[];
  /**
   * Median.
   */
  p50: (number | null)[];
  /**
   * 95th percentile.
   */
  p95: (number | null)[];
}
/**
 * Figures of the whole slice.
 */
export interface SliceTotal {
  /**
   * CO factor: corrected p99 / uncorrected p99; null in a closed loop and when no call finished.
   */
  co_factor?: number | null;
  /**
   * Number of arrivals that agents dropped.
   */
  dropped: number;
  /**
   * Number of finished calls that were not ok; by the same rules including the last call of each
   * task that raised, plus one for each that raised without a call.
   */
  errors: number;
  /**
   * Number of finished calls; by rules 2, unless calls or outcomes are selected, plus one for
   * each task that raised without a call.
   */
  finished: number;
  /**
   * Number of calls by outcome.
   */
  outcomes: {
    [k: string]: number;
  };
  /**
   * Number of arrivals planned; null as in [`Series::planned`].
   */
  planned?: number | null;
  /**
   * Response time; null when no call finished.
   */
  response?: Ladder | null;
  /**
   * Service time; null when no call finished.
   */
  service?: Ladder | null;
  /**
   * Number of arrivals started.
   */
  started: number;
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
