// Several runs on one time axis; each starts at 0.

import { useMemo } from "preact/hooks";
import type uPlot from "uplot";
import type { Series } from "../../api/answers";
import { latency, perSecond, compact } from "../../format/numbers";
import { Chart, type Columns, type ThemeColour, type Plot, timeAxis, valueAxis } from "./chart";
import { logRange } from "./latency_chart";
import { zeroBased } from "./load_chart";

export interface OverlayLine {
  label: string;
  colour: string;
  series: Series;
}

/** `kind` is a percentile, or `started` for the load. */
export function OverlayChart({ lines, kind }: { lines: OverlayLine[]; kind: string }) {
  // By the runs: those of one scenario have the same labels after their order has changed.
  const data = useMemo(() => columns(lines, kind), [...lines.map((l) => l.series), kind]);
  const rebuildKey = `${kind} ${lines.map((l) => l.label + l.colour).join()}`;
  const what = kind === "started" ? "Arrivals started per second" : `${kind} of the response time`;
  const description = `${what}, of ${lines.map((l) => l.label).join(" and ")}`;
  const bucketUs = Math.max(0, ...lines.map((l) => l.series.bucket_us));
  const plot = (themeColour: ThemeColour) => overlayPlot(themeColour, lines, kind);
  return (
    <Chart {...{ description, data, rebuildKey, bucketUs }} sync="compare" plot={plot}>
      {kind !== "started" && "The scale is logarithmic."}
    </Chart>
  );
}

function columns(lines: OverlayLine[], kind: string): Columns {
  const xs = [...new Set(lines.flatMap((l) => l.series.from_us))].sort((a, b) => a - b);
  const place = new Map(xs.map((us, at) => [us, at]));
  const ys = lines.map(({ series }) => {
    const column: (number | null | undefined)[] = xs.map(() => undefined);
    const values = kind === "started" ? series.started : (series.response[kind] ?? []);
    const by = kind === "started" ? series.bucket_us / 1e6 : 1e3;
    series.from_us.forEach((us, i) => {
      const value = values[i];
      column[place.get(us)!] = value === null || value === undefined ? null : value / by;
    });
    return column;
  });
  return [xs.map((us) => us / 1e6), ...ys];
}

function overlayPlot(themeColour: ThemeColour, lines: OverlayLine[], kind: string): Plot {
  const load = kind === "started";
  const format = (v: number) => (load ? perSecond(v) : latency(v * 1e3));
  return {
    series: lines.map((line) => ({
      label: line.label,
      stroke: themeColour(line.colour),
      width: 1.6,
      points: { show: false },
      value: (_: uPlot, v: number | null) => (v === null || v === undefined ? "" : format(v)),
    })),
    axes: [timeAxis(themeColour), valueAxis(themeColour, load ? (v) => `${compact(v)}/s` : format)],
    unit: load ? "per second" : "ms",
    scales: { y: load ? { range: zeroBased } : { distr: 3, range: logRange } },
  };
}
