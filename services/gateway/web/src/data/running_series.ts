// Series of a run in progress: they reach to the planned end and hold only the plan after now.

import type { Series, SeriesMetrics } from "../api/answers";
import { isOver } from "../format/labels";

/** Number of buckets shown after the present: the larger of the minimum and the share. */
const AHEAD_MIN = 15;
const AHEAD_SHARE = 0.15;

/** Number of leading buckets of another answer that lie in the time range of the series. */
export function bucketsWithin(fromUs: number[], series: Series | null): number {
  const end = series?.from_us.at(-1);
  return end === undefined ? fromUs.length : fromUs.filter((us) => us <= end).length;
}

/** The first of these buckets, and the one after the last. */
export function rangeWithin(fromUs: number[], series: Series | null): [number, number] {
  const begin = series?.from_us[0] ?? 0;
  return [fromUs.filter((us) => us < begin).length, bucketsWithin(fromUs, series)];
}

export type Column = (number | null)[];

/** The part of the series with data: up to the present, the stop or the end. */
export function shownSeries(series: Series, state: string, stoppedAtUs: number | null): Series {
  // The log of a killed run ends before its plan, like that of a run in progress.
  if (!isOver(state) || state === "killed") return upToPresent(series);
  return stoppedAtUs === null ? series : upToStop(series, stoppedAtUs);
}

/**
 * The series up to the present, and a little of the plan after it. The newest bucket is left out,
 * too: agents have reported only a part of it, and it would look like a drop.
 */
export function upToPresent(series: Series): Series {
  const newest = newestBucket(series);
  const end = Math.ceil(newest + Math.max(AHEAD_MIN, newest * AHEAD_SHARE));
  return cutSeries(series, end, newest);
}

function newestBucket({ started, dropped, finished }: Series): number {
  return started.findLastIndex(
    (_, i) => (started[i] ?? 0) + (dropped[i] ?? 0) + (finished[i] ?? 0) > 0,
  );
}

/** End of the newest bucket with data, in µs; null: none has any. */
export function reportedUntilUs(series: Series): number | null {
  const from = series.from_us[newestBucket(series)];
  return from === undefined ? null : from + series.bucket_us;
}

/** The series of a stopped run up to its stop: nothing was due after it. */
export function upToStop(series: Series, stoppedAtUs: number): Series {
  const end = series.from_us.filter((us) => us < stoppedAtUs).length;
  return cutSeries(series, end, end);
}

/** Times in seconds and columns of steps, with the end of the last bucket: its step has a width. */
export function stepColumns(
  { from_us: fromUs, bucket_us: bucketUs }: Pick<Series, "from_us" | "bucket_us">,
  columns: Column[],
): [number[], ...Column[]] {
  const last = fromUs.at(-1);
  const times = last === undefined ? [] : [...fromUs, last + bucketUs];
  const closed = columns.map((column) => [...column, ...column.slice(-1)]);
  return [times.map((us) => us / 1e6), ...closed];
}

/** The buckets from `first` to before `end`. */
export function seriesBetween(series: Series, first: number, end: number): Series {
  return cutSeries(series, end, end, first);
}

/** The buckets before `end`; those from `known` on hold only the plan. */
function cutSeries(series: Series, end: number, known: number, first = 0): Series {
  const cut = (column: Column) =>
    column.slice(first, end).map((value, i) => (i + first < known ? value : null));
  const each = (columns: Record<string, Column>) =>
    Object.fromEntries(Object.entries(columns).map(([name, column]) => [name, cut(column)]));
  return {
    ...series,
    from_us: series.from_us.slice(first, end),
    planned: series.planned.slice(first, end),
    started: cut(series.started),
    dropped: cut(series.dropped),
    finished: cut(series.finished),
    errors: cut(series.errors),
    outcomes: each(series.outcomes),
    response: each(series.response),
    service: each(series.service),
    ...(series.metrics ? { metrics: metricsUntil(series.metrics, each) } : {}),
  };
}

function metricsUntil(
  { counters = {}, rates = {}, trends = {} }: SeriesMetrics,
  each: (columns: Record<string, Column>) => Record<string, Column>,
): SeriesMetrics {
  const cutTrends = Object.entries(trends).map(([name, of]) => [name, each(of)]);
  return {
    counters: each(counters),
    rates: each(rates),
    trends: Object.fromEntries(cutTrends) as SeriesMetrics["trends"] & object,
  };
}
