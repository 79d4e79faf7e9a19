// Several runs over one time axis, each from its own start.

import { useMemo } from "preact/hooks";
import type uPlot from "uplot";
import type { Series } from "../../api/answers";
import { latency, perSecond, short } from "../../format/numbers";
import { Chart, type Columns, type Ink, type Plot, timeAxis, valueAxis } from "./chart";
import { decades } from "./latency_chart";
import { fromZero } from "./load_chart";

export interface Overlaid {
  label: string;
  colour: string;
  series: Series;
}

/** `kind` is a percentile, or `started` for the load. */
export function OverlayChart({ lines, kind }: { lines: Overlaid[]; kind: string }) {
  const data = useMemo(() => columns(lines, kind), [lines.map((l) => l.label).join(), kind]);
  const shape = `${kind} ${lines.map((l) => l.label + l.colour).join()}`;
  const what = kind === "started" ? "Arrivals started per second" : `${kind} of the response time`;
  const says = `${what}, of ${lines.map((l) => l.label).join(" and ")}`;
  const plot = (ink: Ink) => overlayPlot(ink, lines, kind);
  return <Chart {...{ says, data, shape }} sync="compare" plot={plot} />;
}

function columns(lines: Overlaid[], kind: string): Columns {
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

function overlayPlot(ink: Ink, lines: Overlaid[], kind: string): Plot {
  const load = kind === "started";
  const say = (v: number) => (load ? perSecond(v) : latency(v * 1e3));
  return {
    series: lines.map((line) => ({
      label: line.label,
      stroke: ink(line.colour),
      width: 1.6,
      points: { show: false },
      value: (_: uPlot, v: number | null) => (v === null || v === undefined ? "" : say(v)),
    })),
    axes: [timeAxis(ink), valueAxis(ink, load ? (v) => `${short(v)}/s` : say)],
    scales: { y: load ? { range: fromZero } : { distr: 3, range: decades } },
  };
}
