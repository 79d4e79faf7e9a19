// What was offered against what was planned, per second; and how calls ended.

import { useMemo } from "preact/hooks";
import uPlot from "uplot";
import type { Series } from "../../api/answers";
import { clock, count, perSecond, short } from "../../format/numbers";
import { OUTCOMES, outcome } from "../../format/labels";
import { Chart, type Columns, type Ink, type Plot, faint, timeAxis, valueAxis } from "./chart";

type Column = (number | null)[];

export interface ChartOf {
  series: Series;
  onZoom?: ((from: number, to: number) => void) | undefined;
  sync?: string;
  height?: number;
}

const stepped = uPlot.paths.stepped!({ align: 1 });
const points = { show: false };

function seconds(series: Series): number[] {
  return series.from_us.map((us) => us / 1e6);
}

/** Counts per bucket as a rate. */
function rate(column: Column, series: Series): Column {
  const secs = series.bucket_us / 1e6;
  return column.map((v) => (v === null ? null : v / secs));
}

export function sum(column: Column): number {
  return column.reduce<number>((total, v) => total + (v ?? 0), 0);
}

export function LoadChart({ series, onZoom, sync = "run", height }: ChartOf) {
  const data = useMemo<Columns>(
    () => [
      seconds(series),
      rate(series.planned, series),
      rate(series.started, series),
      rate(series.dropped, series),
      rate(series.errors, series),
    ],
    [series],
  );
  const says =
    `Offered against planned: ${count(sum(series.started))} arrivals started of ` +
    `${count(sum(series.planned))} planned, ${count(sum(series.errors))} calls not ok`;
  return <Chart {...{ says, data, onZoom, sync, height }} plot={loadPlot} />;
}

function loadPlot(ink: Ink): Plot {
  const value = (_: uPlot, v: number | null) => (v === null ? "" : perSecond(v));
  return {
    series: [
      {
        label: "planned",
        stroke: ink("muted"),
        width: 1.5,
        dash: [5, 4],
        paths: stepped,
        points,
        value,
      },
      {
        label: "started",
        stroke: ink("accent"),
        width: 1.5,
        paths: stepped,
        points,
        value,
        fill: faint(ink("accent"), 0.1),
      },
      { label: "dropped", stroke: ink("warn"), width: 1.5, paths: stepped, points, value },
      { label: "not ok", stroke: ink("bad"), width: 1.5, paths: stepped, points, value },
    ],
    axes: [timeAxis(ink), valueAxis(ink, (v) => `${short(v)}/s`)],
    scales: { y: { range: fromZero } },
  };
}

/** From 0 to a little above the greatest; never a scale without height. */
export function fromZero(_: uPlot, __: number, max: number): uPlot.Range.MinMax {
  return [0, max > 0 ? max * 1.08 : 1];
}

export function OutcomesChart({ series, onZoom, sync = "run", height }: ChartOf) {
  const names = OUTCOMES.filter((name) => sum(series.outcomes[name] ?? []) > 0);
  const shape = names.join();
  const data = useMemo<Columns>(() => {
    // Stacked from the top down: each line is the sum of what lies below it.
    const stack: Column[] = [];
    let below: Column = series.from_us.map(() => 0);
    for (const name of names) {
      const own = rate(series.outcomes[name]!, series);
      // What is not told yet is no zero.
      below = below.map((v, i) => (v === null || own[i] == null ? null : v + own[i]));
      stack.push(below);
    }
    return [seconds(series), ...stack];
  }, [series]);
  const totals = names.map((name) => `${count(sum(series.outcomes[name]!))} ${outcome(name)}`);
  const says = `How calls ended: ${totals.join(", ") || "none ended"}`;
  const plot = (ink: Ink) => outcomesPlot(ink, names);
  return <Chart {...{ says, data, onZoom, sync, height, shape }} plot={plot} />;
}

function outcomesPlot(ink: Ink, names: readonly string[]): Plot {
  return {
    series: names.map((name, at) => ({
      label: outcome(name),
      stroke: ink(`o-${name}`),
      fill: at === 0 ? faint(ink(`o-${name}`), 0.28) : faint(ink(`o-${name}`), 0.5),
      width: 1,
      paths: stepped,
      points,
      // The stack is for the eye; the legend says what is this outcome's own.
      value: (u, v, index) => {
        if (v === null) return "";
        const under = at === 0 ? 0 : (u.data[at]?.[u.legend.idx ?? 0] ?? 0);
        return perSecond((u.data[index]?.[u.legend.idx ?? 0] ?? v) - under);
      },
    })),
    bands: names.slice(1).map((_, at) => ({ series: [at + 2, at + 1] as [number, number] })),
    axes: [timeAxis(ink), valueAxis(ink, (v) => `${short(v)}/s`)],
    scales: { y: { range: fromZero } },
  };
}

/** What a dragged span means, in µs and whole buckets. */
export function span(series: Series, from: number, to: number): [number, number] {
  const grain = series.bucket_us;
  const first = Math.max(0, Math.floor((from * 1e6) / grain) * grain);
  const last = Math.ceil((to * 1e6) / grain) * grain;
  return [first, Math.max(last, first + grain)];
}

export function spanWords(from: number | null, to: number | null): string {
  if (from === null && to === null) return "the whole run";
  return `${clock((from ?? 0) / 1e6)} to ${to === null ? "the end" : clock(to / 1e6)}`;
}
