/* Written by `./dev web` from proto/schema: never edit it. */

/**
 * Heat map: finished calls by bucket and response time.
 */
export interface Heat {
  /**
   * Bounds of the bands in µs, four to each power of two: band b holds values from
   * `bounds_us[b]` to below `bounds_us[b + 1]`. Empty when no call finished.
   */
  bounds_us: number[];
  /**
   * Length of a bucket in µs; the last bucket may be shorter.
   */
  bucket_us: number;
  /**
   * Number of finished calls of each band, for each bucket.
   */
  counts: number[][];
  /**
   * Begin of each bucket, in µs after the start.
   */
  from_us: number[];
  /**
   * Id of the run.
   */
  run: string;
  /**
   * Length of a tick of the log in µs.
   */
  tick_us: number;
}
