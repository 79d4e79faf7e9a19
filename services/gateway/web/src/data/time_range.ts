// Ranges of a run's time, as selected in charts.

import type { Series } from "../api/answers";
import { clock } from "../format/numbers";

/** A dragged range in seconds -> whole buckets, in µs. */
export function wholeBuckets(series: Series, from: number, to: number): [number, number] {
  const grain = series.bucket_us;
  const first = Math.max(0, Math.floor((from * 1e6) / grain) * grain);
  const last = Math.ceil((to * 1e6) / grain) * grain;
  return [first, Math.max(last, first + grain)];
}

/** A range as text, `0:05 to 0:12 of the run`. */
export function rangeText(from: number | null, to: number | null): string {
  if (from === null && to === null) return "the whole run";
  return `${clock((from ?? 0) / 1e6)} to ${to === null ? "the end" : clock(to / 1e6)} of the run`;
}

/** The part of a run that its figures are of, `0:05 to 0:12 of the run, as of 0:16`. */
export function partText(
  view: { from: number | null; to: number | null; asOf: number | null },
  over: boolean,
): string {
  const zoomed = view.from !== null || view.to !== null;
  const asOf = view.asOf === null ? (over ? "" : "so far") : `as of ${clock(view.asOf / 1e6)}`;
  if (!zoomed && asOf !== "") return `the run ${asOf}`;
  return asOf === "" ? rangeText(view.from, view.to) : `${rangeText(view.from, view.to)}, ${asOf}`;
}
