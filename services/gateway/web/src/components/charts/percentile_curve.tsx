// The whole distribution: each nine takes the same room, so that the tail can be seen.

import { useMemo } from "preact/hooks";
import type uPlot from "uplot";
import { type Buckets, curve } from "../../data/histogram";
import { latency } from "../../format/numbers";
import { Chart, type Columns, type Ink, type Plot, valueAxis } from "./chart";
import { decades } from "./latency_chart";

export interface Line {
  label: string;
  colour: string;
  buckets: Buckets;
  dash?: boolean;
}

const NINES = [1, 2, 10, 100, 1000, 10_000, 100_000, 1_000_000];

export function CurveChart({ lines, height = 260 }: { lines: Line[]; height?: number }) {
  const data = useMemo(() => columns(lines), [lines]);
  const shape = lines.map((l) => `${l.label} ${l.colour}`).join();
  const says = `Percentile curves of ${lines.map((l) => l.label).join(" and ")}`;
  return <Chart {...{ says, data, shape, height }} plot={(ink) => curvePlot(ink, lines)} />;
}

/** All curves over one x; between its points a curve holds its last value. */
function columns(lines: Line[]): Columns {
  const curves = lines.map((line) => curve(line.buckets));
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

function curvePlot(ink: Ink, lines: Line[]): Plot {
  return {
    series: lines.map((line) => ({
      label: line.label,
      stroke: ink(line.colour),
      width: 1.8,
      ...(line.dash ? { dash: [5, 4] } : {}),
      points: { show: false },
      value: (_: uPlot, v: number | null) => (v === null ? "" : latency(v * 1e3)),
    })),
    scales: {
      x: { time: false, distr: 3, log: 10, range: (_, __, max) => [1, Math.max(10, max)] },
      y: { distr: 3, range: decades },
    },
    axes: [
      {
        ...valueAxis(ink, (x) => share(x), "x"),
        size: 28,
        splits: (_, __, ___, max) => NINES.filter((x) => x <= max),
      },
      valueAxis(ink, (ms) => latency(ms * 1e3)),
    ],
  };
}

/** 100 -> "p99": the share of calls that took no longer. */
export function share(x: number): string {
  if (x <= 1) return "min";
  const percent = 100 * (1 - 1 / x);
  return `p${Number(percent.toFixed(4))}`;
}
