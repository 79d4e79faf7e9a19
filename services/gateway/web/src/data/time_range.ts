// Ranges of a run's time, as selected in charts.

import type { AgentsOverTime, Heat, Series } from "../api/answers";
import { clock } from "../format/numbers";

/** A dragged range in seconds -> whole buckets, in µs. */
export function wholeBuckets(series: Series, from: number, to: number): [number, number] {
  const grain = series.bucket_us;
  const first = Math.max(0, Math.floor((from * 1e6) / grain) * grain);
  const last = Math.ceil((to * 1e6) / grain) * grain;
  return [first, Math.max(last, first + grain)];
}

/** From the first bucket to the end of the last one, in seconds. */
export function wholeTime(
  first: number | null,
  last: number | null,
  bucketUs = 0,
): [number | null, number | null] {
  return [first, last === null ? null : last + bucketUs / 1e6];
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

/** The heat map of the buckets from `first` to before `end`. */
export function heatBetween(heat: Heat, first: number, end: number): Heat {
  const { from_us: fromUs, counts } = heat;
  return { ...heat, from_us: fromUs.slice(first, end), counts: counts.slice(first, end) };
}

/** The load generators in the buckets from `first` to before `end`. */
export function agentsBetween(data: AgentsOverTime, first: number, end: number): AgentsOverTime {
  const cut = <T>(column: T[]) => column.slice(first, end);
  return {
    ...data,
    from_us: cut(data.from_us),
    agents: data.agents.map((agent) => ({
      ...agent,
      started: cut(agent.started),
      finished: cut(agent.finished),
      in_flight: cut(agent.in_flight),
      busiest_core_permille: cut(agent.busiest_core_permille),
      cpu_millicores: cut(agent.cpu_millicores),
      lag_p99_us: cut(agent.lag_p99_us),
      stall_us: cut(agent.stall_us),
    })),
  };
}

/** The first bucket that begins in a range of time in µs, and the one after the last. */
export function bucketsOf(fromUs: number[], range: [number, number]): [number, number] {
  const begun = (us: number) => fromUs.filter((from) => from < us).length;
  return [begun(range[0]), begun(range[1])];
}
