// Measurements of the scenario itself: checks, its own metrics, and streamed responses.

import type { Report } from "../../api/_generated/report";
import type { Series } from "../../api/answers";
import { RESPONSE } from "../../format/labels";
import { MetricChart, type MetricKind } from "../charts/metric_chart";
import { Panel } from "../layout/panel";
import { CounterTable, RateTable, TrendTable, partsOf } from "../tables/metrics";
import { PercentileTable } from "../tables/percentiles";
import { StreamTable } from "../tables/streams";
import { CheckTable } from "../tables/tasks";

const CHARTS_MAX = 24;
const CHART_NOTES: Record<MetricKind, string> = {
  counters: "counter, per second",
  trends: "trend, in the unit of the scenario",
  rates: "rate, share of true values",
};

interface MetricPanelsProps {
  report: Report;
  /** Null: not loaded yet, or not known. */
  series: Series | null;
  loading?: boolean;
  /** The part of the run that the figures are of. */
  part: string;
  onZoom?: ((from: number, to: number) => void) | undefined;
}

/** Whether a scenario measures anything itself. */
export function hasOwnMetrics(report: Report): boolean {
  return partsOf(report).length > 0 || report.checks != null || report.streams != null;
}

export function MetricPanels(props: MetricPanelsProps) {
  const { report, part } = props;
  const parts = partsOf(report);
  const { checks, streams } = report;
  const note = `of ${part}`;
  const closedLoop = report.run.users != null;
  const has = (kind: MetricKind) => Object.keys(report.metrics?.[kind] ?? {}).length > 0;
  return (
    <>
      {checks && (
        <Panel title="Checks" note={note}>
          <CheckTable report={report} />
        </Panel>
      )}
      {has("counters") && (
        <Panel title="Counters" note={note}>
          <CounterTable parts={parts} />
        </Panel>
      )}
      {has("rates") && (
        <Panel title="Rates" note={note}>
          <RateTable parts={parts} />
        </Panel>
      )}
      {has("trends") && (
        <Panel title="Trends" note={`${note}, in the unit of the scenario`} wide>
          <TrendTable parts={parts} />
        </Panel>
      )}
      {streams && (
        <>
          <Panel
            title="Streamed responses"
            note={closedLoop ? note : `${note}; the first token from when its request was due`}
            wide
          >
            <StreamTable report={report} />
          </Panel>
          <Panel title="Time to the first token" note={closedLoop ? note : `${RESPONSE}, ${note}`}>
            <PercentileTable
              response={streams.first_token}
              service={streams.first_token_service}
              heads={closedLoop ? ["From dispatch", ""] : ["From the due time", "From dispatch"]}
              none="No response had a token."
              closedLoop={closedLoop}
            />
          </Panel>
        </>
      )}
      <MetricCharts {...props} />
    </>
  );
}

function MetricCharts({ report, series, loading = false, onZoom }: MetricPanelsProps) {
  if (!series?.metrics) return null;
  const charts = (["counters", "trends", "rates"] as const).flatMap((kind) =>
    Object.keys(report.metrics?.[kind] ?? {}).map((name) => ({ kind, name })),
  );
  return (
    <>
      {charts.slice(0, CHARTS_MAX).map(({ kind, name }) => (
        <Panel key={`${kind} ${name}`} title={name} note={CHART_NOTES[kind]} busy={loading}>
          <MetricChart series={series} kind={kind} name={name} onZoom={onZoom} />
        </Panel>
      ))}
      {charts.length > CHARTS_MAX && (
        <p class="quiet wide">
          Charts show the first {CHARTS_MAX} of {charts.length} metrics.
        </p>
      )}
    </>
  );
}
