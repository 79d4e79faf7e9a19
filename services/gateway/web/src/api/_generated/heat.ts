/* Written by `./dev web` from proto/schema: never edit it. */

/**
 * How response times are spread over time: finished calls by bucket and latency.
 */
export interface Heat {
  /**
   * Edges of the bands of latency in µs, four to each power of two: band b holds what is at
   * least `bounds_us[b]` and below `bounds_us[b + 1]`. Empty when nothing finished.
   */
  bounds_us: number[];
  /**
   * The grain of this answer in µs; the last bucket may be shorter.
   */
  bucket_us: number;
  /**
   * For each bucket the finished calls of each band.
   */
  counts: number[][];
  /**
   * Where each bucket begins, in µs after the start.
   */
  from_us: number[];
  /**
   * Of which run.
   */
  run: string;
  /**
   * The grain of the log in µs.
   */
  tick_us: number;
}
