// A run that goes on has a future in its series: planned, and not yet anything else.

import type { Series } from "../api/answers";

/** So many buckets ahead of the present are shown, or this share of those behind it. */
const AHEAD_MIN = 15;
const AHEAD_SHARE = 0.15;

/** How many buckets of another answer lie in the time that these series show. */
export function within(fromUs: number[], series: Series | null): number {
  const end = series?.from_us.at(-1);
  return end === undefined ? fromUs.length : fromUs.filter((us) => us <= end).length;
}

type Column = (number | null)[];

/**
 * The series up to the present and a little beyond, where nothing but the plan is known. The newest
 * bucket is left out, too: agents have told a part of it only, and it would look like a fall.
 */
export function soFar(series: Series): Series {
  const told = series.started.findLastIndex(
    (_, i) => (series.started[i] ?? 0) + (series.dropped[i] ?? 0) + (series.finished[i] ?? 0) > 0,
  );
  const end = Math.ceil(told + Math.max(AHEAD_MIN, told * AHEAD_SHARE));
  const cut = (column: Column) => column.slice(0, end).map((value, i) => (i < told ? value : null));
  const each = (columns: Record<string, Column>) =>
    Object.fromEntries(Object.entries(columns).map(([name, column]) => [name, cut(column)]));
  return {
    ...series,
    from_us: series.from_us.slice(0, end),
    planned: series.planned.slice(0, end),
    started: cut(series.started),
    dropped: cut(series.dropped),
    finished: cut(series.finished),
    errors: cut(series.errors),
    outcomes: each(series.outcomes),
    response: each(series.response),
    service: each(series.service),
  };
}
