// Distribution of response times over time: one column of coloured cells per bucket.
// It shows a bimodal distribution, which percentiles hide.

import { useMemo, useState } from "preact/hooks";
import type uPlot from "uplot";
import type { Heat } from "../../api/answers";
import { clock, count, latency } from "../../format/numbers";
import { Chart, type Columns, type ThemeColour, type Plot, timeAxis, valueAxis } from "./chart";
import type { ChartTable } from "./chart_files";
import { logRange } from "./latency_chart";

interface HeatMapProps {
  heat: Heat;
  bucketUs: number;
  onZoom?: ((from: number, to: number) => void) | undefined;
}

interface HeatCell {
  at: number;
  low: number;
  high: number;
  calls: number;
}

export function HeatMap({ heat, bucketUs, onZoom }: HeatMapProps) {
  const [hovered, setHovered] = useState<HeatCell | null>(null);
  const data = useMemo<Columns>(() => {
    const { lowest, highest } = extent(heat);
    const secs = heat.from_us.map((us) => us / 1e6);
    // Two invisible series set the range of the scales.
    return [secs, secs.map(() => lowest / 1e3), secs.map(() => highest / 1e3)];
  }, [heat]);
  const total = heat.counts.reduce((all, row) => all + row.reduce((a, b) => a + b, 0), 0);
  const description = `Heat map of ${count(total)} response times`;
  const plot = (themeColour: ThemeColour) => heatPlot(themeColour, heat, bucketUs, setHovered);
  const rebuildKey = `${heat.from_us.length} ${total} ${bucketUs} ${heat.from_us[0]}`;
  return (
    <Chart
      {...{ description, data, rebuildKey, onZoom, bucketUs }}
      plot={plot}
      height={260}
      sync="run"
    >
      {hovered
        ? `${clock(hovered.at)}: ${count(hovered.calls)} requests between ` +
          `${latency(hovered.low)} and ${latency(hovered.high)}`
        : "A stronger colour means more requests, and the scale is logarithmic. Hover over a " +
          "cell for its count; drag to zoom."}
    </Chart>
  );
}

function extent(heat: Heat): { lowest: number; highest: number } {
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
  return { lowest: low, highest: Math.max(high, low * 2) };
}

/** Edges of a band in µs, at least 1: the scale is logarithmic. */
function edges(heat: Heat, band: number): [number, number] {
  const low = Math.max(1, heat.bounds_us[band] ?? 1);
  return [low, Math.max(heat.bounds_us[band + 1] ?? low * 1.2, low)];
}

function heatPlot(
  themeColour: ThemeColour,
  heat: Heat,
  bucketUs: number,
  onHover: (hovered: HeatCell | null) => void,
): Plot {
  const secs = bucketUs / 1e6;
  const scale = [0, 1, 2, 3, 4].map((step) => themeColour(`heat-${step}`));
  const most = Math.max(1, ...heat.counts.map((row) => Math.max(0, ...row)));
  return {
    series: [
      { show: true, stroke: "transparent", points: { show: false } },
      { show: true, stroke: "transparent", points: { show: false } },
    ],
    legend: false,
    axes: [timeAxis(themeColour), valueAxis(themeColour, (ms) => latency(ms * 1e3))],
    scales: {
      y: { distr: 3, range: logRange },
    },
    table: () => heatTable(heat),
    hooks: {
      draw: [(u) => drawCells(u, heat, secs, (n) => cellColour(scale, n, most))],
      setCursor: [(u) => onHover(cellAt(u, heat, secs))],
    },
  };
}

function heatTable(heat: Heat): ChartTable {
  const bands = heat.bounds_us.slice(0, -1).map((low) => `from ${low / 1e3} ms (requests)`);
  return {
    head: ["time (s)", ...bands],
    rows: heat.from_us.map((us, i) => [us / 1e6, ...heat.counts[i]!]),
  };
}

function cellColour(scale: string[], calls: number, most: number): string {
  const part = Math.log1p(calls) / Math.log1p(most);
  const at = Math.min(scale.length - 1.001, part * (scale.length - 1));
  const low = Math.floor(at);
  const mixed = Math.round((at - low) * 100);
  return `color-mix(in oklab, ${scale[low + 1]} ${mixed}%, ${scale[low]})`;
}

function drawCells(u: uPlot, heat: Heat, secs: number, colour: (calls: number) => string): void {
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
      const bottom = Math.ceil(u.valToPos(low / 1e3, "y", true));
      if (!shades.has(calls)) shades.set(calls, colour(calls));
      ctx.fillStyle = shades.get(calls)!;
      ctx.fillRect(left, top, Math.max(1, right - left), Math.max(1, bottom - top));
    });
  });
  ctx.restore();
}

function cellAt(u: uPlot, heat: Heat, secs: number): HeatCell | null {
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
