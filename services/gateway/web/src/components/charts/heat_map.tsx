// Where the response times of each bucket lie: a row of colours per bucket, values upwards.
// A second mode of a target is a second band here; every percentile would hide it.

import { useMemo, useState } from "preact/hooks";
import type uPlot from "uplot";
import type { Heat } from "../../api/answers";
import { clock, count, latency } from "../../format/numbers";
import { Chart, type Columns, type Ink, type Plot, timeAxis, valueAxis } from "./chart";
import { decades } from "./latency_chart";

interface HeatOf {
  heat: Heat;
  bucketUs: number;
  onZoom?: ((from: number, to: number) => void) | undefined;
}

interface Under {
  at: number;
  low: number;
  high: number;
  calls: number;
}

export function HeatChart({ heat, bucketUs, onZoom }: HeatOf) {
  const [under, setUnder] = useState<Under | null>(null);
  const data = useMemo<Columns>(() => {
    const { least, greatest } = extent(heat);
    const secs = heat.from_us.map((us) => us / 1e6);
    // Two columns that are not drawn, for the scales alone.
    return [secs, secs.map(() => least / 1e3), secs.map(() => greatest / 1e3)];
  }, [heat]);
  const total = heat.counts.reduce((all, row) => all + row.reduce((a, b) => a + b, 0), 0);
  const says = `Heat map of ${count(total)} response times`;
  const plot = (ink: Ink) => heatPlot(ink, heat, bucketUs, setUnder);
  const shape = `${heat.from_us.length} ${total} ${bucketUs} ${heat.from_us[0]}`;
  return (
    <Chart {...{ says, data, shape, onZoom }} plot={plot} height={260} sync="run">
      {under
        ? `${clock(under.at)}: ${count(under.calls)} calls between ${latency(under.low)} and ` +
          `${latency(under.high)}`
        : "The stronger the colour, the more calls. Point at a cell to read it; drag to zoom."}
    </Chart>
  );
}

function extent(heat: Heat): { least: number; greatest: number } {
  let first = Math.max(0, heat.bounds_us.length - 2);
  let last = 0;
  for (const row of heat.counts) {
    row.forEach((calls, at) => {
      if (calls > 0) {
        first = Math.min(first, at);
        last = Math.max(last, at);
      }
    });
  }
  const [low] = edges(heat, first);
  const [, high] = edges(heat, last);
  return { least: low, greatest: Math.max(high, low * 2) };
}

/** A band's edges; 0 has no place on a logarithmic scale. */
function edges(heat: Heat, band: number): [number, number] {
  const low = Math.max(1, heat.bounds_us[band] ?? 1);
  return [low, Math.max(heat.bounds_us[band + 1] ?? low * 1.2, low)];
}

function heatPlot(
  ink: Ink,
  heat: Heat,
  bucketUs: number,
  point: (under: Under | null) => void,
): Plot {
  const secs = bucketUs / 1e6;
  const scale = [0, 1, 2, 3, 4].map((step) => ink(`heat-${step}`));
  const most = Math.max(1, ...heat.counts.map((row) => Math.max(0, ...row)));
  return {
    series: [
      { show: true, stroke: "transparent", points: { show: false } },
      { show: true, stroke: "transparent", points: { show: false } },
    ],
    legend: false,
    axes: [timeAxis(ink), valueAxis(ink, (ms) => latency(ms * 1e3))],
    scales: {
      x: { time: false, range: (_, min, max) => [min, max + secs] },
      y: { distr: 3, range: decades },
    },
    hooks: {
      draw: [(u) => cells(u, heat, secs, (n) => shade(scale, n, most))],
      setCursor: [(u) => point(cellAt(u, heat, secs))],
    },
  };
}

function shade(scale: string[], calls: number, most: number): string {
  const part = Math.log1p(calls) / Math.log1p(most);
  const at = Math.min(scale.length - 1.001, part * (scale.length - 1));
  const low = Math.floor(at);
  const mixed = Math.round((at - low) * 100);
  return `color-mix(in oklab, ${scale[low + 1]} ${mixed}%, ${scale[low]})`;
}

function cells(u: uPlot, heat: Heat, secs: number, colour: (calls: number) => string): void {
  const { ctx, bbox } = u;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  const shades = new Map<number, string>();
  heat.counts.forEach((row, i) => {
    const begin = heat.from_us[i]! / 1e6;
    const left = Math.round(u.valToPos(begin, "x", true));
    const right = Math.round(u.valToPos(begin + secs, "x", true));
    row.forEach((calls, at) => {
      if (calls === 0) return;
      const [low, high] = edges(heat, at);
      const top = Math.floor(u.valToPos(high / 1e3, "y", true));
      const foot = Math.ceil(u.valToPos(low / 1e3, "y", true));
      if (!shades.has(calls)) shades.set(calls, colour(calls));
      ctx.fillStyle = shades.get(calls)!;
      ctx.fillRect(left, top, Math.max(1, right - left), Math.max(1, foot - top));
    });
  });
  ctx.restore();
}

function cellAt(u: uPlot, heat: Heat, secs: number): Under | null {
  const { left, top } = u.cursor;
  if (left === undefined || top === undefined || left < 0 || top < 0) return null;
  const at = u.posToVal(left, "x");
  const us = u.posToVal(top, "y") * 1e3;
  const i = heat.from_us.findIndex((from) => at >= from / 1e6 && at < from / 1e6 + secs);
  const j = heat.bounds_us.findLastIndex((bound) => us >= bound);
  const calls = heat.counts[i]?.[j];
  if (!calls) return null;
  const [low, high] = edges(heat, j);
  return { at: heat.from_us[i]! / 1e6, low, high, calls };
}
