// One of the scenario's own metrics over time: a counter, a trend or a rate.

import { useMemo } from "preact/hooks";
import type uPlot from "uplot";
import type { Series } from "../../api/answers";
import { percent, plain } from "../../format/numbers";
import { Chart, type Columns, type Plot, type ThemeColour, timeAxis, valueAxis } from "./chart";
import { type SeriesChartProps, rate, zeroBased } from "./load_chart";

export type MetricKind = "counters" | "trends" | "rates";

interface MetricChartProps extends SeriesChartProps {
  kind: MetricKind;
  name: string;
}

interface Line {
  label: string;
  column: (number | null)[];
  colour: string;
}

const FORMATS: Record<MetricKind, (value: number) => string> = {
  counters: (value) => `${plain(value)}/s`,
  trends: plain,
  rates: percent,
};

export function MetricChart({ series, kind, name, onZoom, height = 160 }: MetricChartProps) {
  const lines = linesOf(series, kind, name);
  const data = useMemo<Columns>(
    () => [series.from_us.map((us) => us / 1e6), ...lines.map(({ column }) => column)],
    [series, kind, name],
  );
  const description = `${name} over time: ${lines.map(({ label }) => label).join(", ")}`;
  const rebuildKey = `${kind} ${lines.length}`;
  const plot = (themeColour: ThemeColour) => metricPlot(themeColour, kind, lines);
  const bucketUs = series.bucket_us;
  return (
    <Chart
      {...{ description, data, onZoom, height, rebuildKey, bucketUs }}
      sync="run"
      plot={plot}
    />
  );
}

function linesOf({ metrics, ...series }: Series, kind: MetricKind, name: string): Line[] {
  if (kind === "trends") {
    const trend = metrics?.trends?.[name];
    return (["p50", "p95", "max"] as const).flatMap((label) =>
      trend ? [{ label, column: trend[label], colour: label }] : [],
    );
  }
  const column = metrics?.[kind]?.[name];
  if (!column) return [];
  const counts = kind === "counters";
  const label = counts ? "per second" : "share true";
  return [{ label, column: counts ? rate(column, series) : column, colour: "accent" }];
}

function metricPlot(themeColour: ThemeColour, kind: MetricKind, lines: Line[]): Plot {
  const format = FORMATS[kind];
  return {
    series: lines.map(({ label, colour }) => ({
      label,
      stroke: themeColour(colour),
      width: 1.5,
      // A value between two buckets without any would otherwise be invisible.
      points: { show: true, size: 4 },
      value: (_: uPlot, v: number | null) => (v === null ? "" : format(v)),
    })),
    axes: [timeAxis(themeColour), valueAxis(themeColour, format)],
    scales: { y: kind === "trends" ? {} : { range: zeroBased } },
  };
}
