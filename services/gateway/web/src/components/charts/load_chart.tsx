// Planned and started arrivals per second, and outcomes of requests per second.

import { useMemo } from "preact/hooks";
import uPlot from "uplot";
import type { Series } from "../../api/answers";
import { count, perSecond, compact } from "../../format/numbers";
import { OUTCOMES, outcome } from "../../format/labels";
import type { Cell } from "../../data/csv";
import { type Column, stepColumns } from "../../data/running_series";
import {
  Chart,
  type Columns,
  type ThemeColour,
  type Plot,
  translucent,
  timeAxis,
  valueAxis,
} from "./chart";
import { type ChartTable, chartTable } from "./chart_files";
import { type Limit, drawLimits, limitsText, withLimits } from "./limit_lines";

export interface SeriesChartProps {
  series: Series;
  onZoom?: ((from: number, to: number) => void) | undefined;
  sync?: string;
  height?: number;
}

const stepped = uPlot.paths.stepped!({ align: 1 });
const points = { show: false };

/** The figures without the repeated last bucket. */
function stepTable(u: uPlot): ChartTable {
  const { head, rows } = chartTable(u, true, "per second");
  return { head, rows: rows.slice(0, -1) };
}

/** Counts per bucket -> per second. */
export function rate(column: Column, series: Pick<Series, "bucket_us">): Column {
  const secs = series.bucket_us / 1e6;
  return column.map((v) => (v === null ? null : v / secs));
}

export function sum(column: Column): number {
  return column.reduce<number>((total, v) => total + (v ?? 0), 0);
}

interface LoadChartProps extends SeriesChartProps {
  /** Whether the run has no schedule: then nothing is planned. */
  closedLoop: boolean;
  /** Limits of thresholds on the rate. */
  limits?: Limit[];
}

export function LoadChart(props: LoadChartProps) {
  const { series, onZoom, sync = "run", height, closedLoop, limits = [] } = props;
  // The plan does not know agents, calls and outcomes: a slice of these has no planned load.
  const planned = !closedLoop && series.planned.some((value) => value !== null);
  const data = useMemo<Columns>(
    () =>
      stepColumns(series, [
        ...(planned ? [rate(series.planned, series)] : []),
        rate(series.started, series),
        rate(series.dropped, series),
        rate(series.errors, series),
      ]),
    [series, planned],
  );
  const ofPlanned = planned ? ` of ${count(sum(series.planned))} planned` : "";
  const description =
    `Load: ${count(sum(series.started))} arrivals started${ofPlanned}, ` +
    `${count(sum(series.dropped))} dropped or called off, ` +
    `${count(sum(series.errors))} requests failed${limitsText(limits)}`;
  const plot = (themeColour: ThemeColour) => loadPlot(themeColour, planned, limits);
  const rebuildKey = `${planned}${limitsText(limits)}`;
  return <Chart {...{ description, data, onZoom, sync, height, rebuildKey }} plot={plot} />;
}

function loadPlot(themeColour: ThemeColour, planned: boolean, limits: Limit[]): Plot {
  const value = (_: uPlot, v: number | null) => (v === null ? "" : perSecond(v));
  const plannedSeries: uPlot.Series = {
    label: "planned",
    stroke: themeColour("muted"),
    width: 1.5,
    dash: [5, 4],
    paths: stepped,
    points,
    value,
  };
  return {
    series: [
      ...(planned ? [plannedSeries] : []),
      {
        label: "started",
        stroke: themeColour("accent"),
        width: 1.5,
        paths: stepped,
        points,
        value,
        fill: translucent(themeColour("accent"), 0.1),
      },
      {
        label: "dropped or called off",
        stroke: themeColour("warn"),
        width: 1.5,
        paths: stepped,
        points,
        value,
      },
      {
        label: "failed requests",
        stroke: themeColour("bad"),
        width: 1.5,
        paths: stepped,
        points,
        value,
      },
    ],
    axes: [timeAxis(themeColour), valueAxis(themeColour, (v) => `${compact(v)}/s`)],
    scales: { y: { range: (u, min, max) => zeroBased(u, min, withLimits(max, limits) ?? 0) } },
    hooks: { draw: [(u) => drawLimits(u, limits, themeColour("bad"))] },
    table: stepTable,
  };
}

/** From 0 to 8 % above the maximum; 0 to 1 when all values are 0. */
export function zeroBased(_: uPlot, __: number, max: number): uPlot.Range.MinMax {
  return [0, max > 0 ? max * 1.08 : 1];
}

export function OutcomesChart({ series, onZoom, sync = "run", height }: SeriesChartProps) {
  const names = OUTCOMES.filter((name) => sum(series.outcomes[name] ?? []) > 0);
  const rebuildKey = names.join();
  const data = useMemo<Columns>(() => {
    // Stacked: each line is the sum of the outcomes up to it.
    const stack: Column[] = [];
    let below: Column = series.from_us.map(() => 0);
    for (const name of names) {
      const own = rate(series.outcomes[name]!, series);
      // A missing value is not 0.
      below = below.map((v, i) => (v === null || own[i] == null ? null : v + own[i]));
      stack.push(below);
    }
    return stepColumns(series, stack);
  }, [series]);
  const totals = names.map((name) => `${count(sum(series.outcomes[name]!))} ${outcome(name)}`);
  const description = `Outcomes of requests: ${totals.join(", ") || "none"}`;
  const plot = (themeColour: ThemeColour) => outcomesPlot(themeColour, names);
  return <Chart {...{ description, data, onZoom, sync, height, rebuildKey }} plot={plot} />;
}

/** Each column alone, without those below it. */
function unstacked({ head, rows }: ChartTable): ChartTable {
  const alone = (value: Cell, below: Cell) =>
    typeof value === "number" && typeof below === "number" ? value - below : value;
  return {
    head,
    rows: rows.map((row) => row.map((value, i) => (i < 2 ? value : alone(value, row[i - 1])))),
  };
}

function outcomesPlot(themeColour: ThemeColour, names: readonly string[]): Plot {
  return {
    series: names.map((name, at) => ({
      label: outcome(name),
      stroke: themeColour(`o-${name}`),
      fill:
        at === 0
          ? translucent(themeColour(`o-${name}`), 0.28)
          : translucent(themeColour(`o-${name}`), 0.5),
      width: 1,
      paths: stepped,
      points,
      // The legend shows the rate of this outcome alone, without those below it.
      value: (u, v, index) => {
        if (v === null) return "";
        const under = at === 0 ? 0 : (u.data[at]?.[u.legend.idx ?? 0] ?? 0);
        return perSecond((u.data[index]?.[u.legend.idx ?? 0] ?? v) - under);
      },
    })),
    bands: names.slice(1).map((_, at) => ({ series: [at + 2, at + 1] as [number, number] })),
    axes: [timeAxis(themeColour), valueAxis(themeColour, (v) => `${compact(v)}/s`)],
    scales: { y: { range: zeroBased } },
    table: (u) => unstacked(stepTable(u)),
  };
}
