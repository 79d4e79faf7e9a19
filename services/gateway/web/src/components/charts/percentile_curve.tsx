// Latency by percentile. The axis is logarithmic in 1 / (1 − share): p90, p99 and p99.9 are
// equally far apart, so that the tail is readable.

import { useMemo } from "preact/hooks";
import type uPlot from "uplot";
import { type Buckets, percentileCurve } from "../../data/histogram";
import { latency } from "../../format/numbers";
import { Chart, type Columns, type ThemeColour, type Plot, valueAxis } from "./chart";
import { logRange } from "./latency_chart";

export interface Line {
  label: string;
  colour: string;
  buckets: Buckets;
  dash?: boolean;
}

const NINES = [1, 2, 10, 100, 1000, 10_000, 100_000, 1_000_000];

export function PercentileCurve({ lines, height = 260 }: { lines: Line[]; height?: number }) {
  const data = useMemo(() => columns(lines), [lines]);
  const rebuildKey = lines.map((l) => `${l.label} ${l.colour}`).join();
  const description = `Percentile curves of ${lines.map((l) => l.label).join(" and ")}`;
  return (
    <Chart
      {...{ description, data, rebuildKey, height }}
      timed={false}
      plot={(themeColour) => curvePlot(themeColour, lines)}
    >
      Both axes are logarithmic: p90, p99 and p99.9 are equally far apart.
    </Chart>
  );
}

/** Puts all curves on one x axis, as step functions. */
function columns(lines: Line[]): Columns {
  const curves = lines.map((line) => percentileCurve(line.buckets));
  const xs = [...new Set([1, ...curves.flatMap((c) => c.x)])].sort((a, b) => a - b);
  const columns = curves.map((points) => {
    let at = 0;
    const end = points.x.at(-1) ?? 0;
    return xs.map((x) => {
      while (at < points.x.length - 1 && points.x[at]! < x) at += 1;
      return x <= end ? points.us[at]! / 1e3 : null;
    });
  });
  return [xs, ...columns];
}

function curvePlot(themeColour: ThemeColour, lines: Line[]): Plot {
  return {
    x: { label: "percentile", value: (_, v) => (v === null ? "" : percentileName(v)) },
    series: lines.map((line) => ({
      label: line.label,
      stroke: themeColour(line.colour),
      width: 1.8,
      ...(line.dash ? { dash: [5, 4] } : {}),
      points: { show: false },
      value: (_: uPlot, v: number | null) => (v === null ? "" : latency(v * 1e3)),
    })),
    unit: "ms",
    scales: {
      x: { time: false, distr: 3, log: 10, range: (_, __, max) => [1, Math.max(10, max)] },
      y: { distr: 3, range: logRange },
    },
    axes: [
      {
        ...valueAxis(themeColour, (x) => percentileName(x), "x"),
        size: 28,
        splits: (_, __, ___, max) => NINES.filter((x) => x <= max),
      },
      valueAxis(themeColour, (ms) => latency(ms * 1e3)),
    ],
  };
}

/** 100 -> "p99". */
function percentileName(x: number): string {
  if (x <= 1) return "min";
  const percent = 100 * (1 - 1 / x);
  return `p${Number(percent.toFixed(4))}`;
}
