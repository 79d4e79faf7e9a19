// Latency percentiles over time; each bucket has a histogram of its own.

import { useMemo } from "preact/hooks";
import type uPlot from "uplot";
import { RESPONSE, SERVICE } from "../../format/labels";
import { latency } from "../../format/numbers";
import {
  Chart,
  type Columns,
  type ThemeColour,
  type Plot,
  translucent,
  timeAxis,
  valueAxis,
} from "./chart";
import { type Limit, drawLimits, limitsText, withLimits } from "./limit_lines";
import type { SeriesChartProps } from "./load_chart";

interface LatencyChartProps extends SeriesChartProps {
  /** From the due time or from dispatch. */
  kind?: "response" | "service";
  /** Limits of thresholds in ms. */
  limits?: Limit[];
}

export function LatencyChart(props: LatencyChartProps) {
  const { series, onZoom, sync = "run", height, kind = "response", limits = [] } = props;
  const columns = series[kind];
  const names = ["p50", "p95", "p99", "max"].filter((name) => columns[name]);
  const data = useMemo<Columns>(() => {
    const secs = series.from_us.map((us) => us / 1e6);
    const shown = names.map((name) => columns[name]!.map((v) => (v === null ? null : v / 1e3)));
    return [secs, ...shown];
  }, [series, kind]);
  const worst = Math.max(0, ...(columns.p99 ?? []).map((v) => v ?? 0));
  const words = kind === "response" ? RESPONSE : SERVICE;
  const figure = `maximum p99 of a bucket ${latency(worst)}`;
  const description = `${words}, over time; ${figure}${limitsText(limits)}`;
  const rebuildKey = `${kind} ${names.join()} ${limitsText(limits)}`;
  const plot = (themeColour: ThemeColour) => latencyPlot(themeColour, names, limits);
  return (
    <Chart
      {...{ description, data, onZoom, sync, height, rebuildKey }}
      bucketUs={series.bucket_us}
      plot={plot}
    >
      The scale is logarithmic.
    </Chart>
  );
}

function latencyPlot(themeColour: ThemeColour, names: string[], limits: Limit[]): Plot {
  const value = (_: uPlot, v: number | null) => (v === null ? "" : latency(v * 1e3));
  const place = (name: string) => names.indexOf(name) + 1;
  const banded = names.includes("p50") && names.includes("p99");
  return {
    series: names.map((name) => ({
      label: name,
      stroke: themeColour(name),
      width: name === "max" ? 1 : 1.6,
      ...(name === "max" ? { dash: [2, 3] } : {}),
      points: { show: false },
      value,
    })),
    ...(banded
      ? {
          bands: [
            { series: [place("p99"), place("p50")], fill: translucent(themeColour("p99"), 0.12) },
          ],
        }
      : {}),
    axes: [timeAxis(themeColour), valueAxis(themeColour, (ms) => latency(ms * 1e3))],
    scales: {
      y: { distr: 3, range: (u, min, max) => logRange(u, min, withLimits(max, limits)) },
    },
    hooks: { draw: [(u) => drawLimits(u, limits, themeColour("bad"))] },
    unit: "ms",
  };
}

/** Rounds the range of a logarithmic scale outwards to steps of 1, 2 and 5. */
export function logRange(_: uPlot, min: number | null, max: number | null): uPlot.Range.MinMax {
  if (min === null || max === null || max <= 0) return [0.1, 10];
  const low = Math.max(min, 0.001);
  const high = Math.max(max, low * 2);
  return [stepDown(low), stepUp(high)];
}

function stepDown(value: number): number {
  const base = 10 ** Math.floor(Math.log10(value));
  return [5, 2, 1].map((s) => s * base).find((v) => v <= value) ?? base;
}

function stepUp(value: number): number {
  const base = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((s) => s * base).find((v) => v >= value) ?? base * 10;
}
