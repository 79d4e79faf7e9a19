// What the scenario measures itself: checks, its own metrics, and streamed responses.

import { MetricChart, type MetricKind } from "../../components/charts/metric_chart";
import { Empty, Failed, Panel } from "../../components/layout/panel";
import { CounterTable, RateTable, TrendTable, partsOf } from "../../components/tables/metrics";
import { PercentileTable } from "../../components/tables/percentiles";
import { StreamTable } from "../../components/tables/streams";
import { CheckTable } from "../../components/tables/tasks";
import { partText } from "../../data/time_range";
import { RESPONSE } from "../../format/labels";
import type { TabProps } from "./tab";

const CHARTS_MAX = 24;
const CHART_NOTES: Record<MetricKind, string> = {
  counters: "counter, per second",
  trends: "trend, in the unit of the scenario",
  rates: "rate, share of true values",
};

export function MetricsTab(tab: TabProps) {
  const { report, series, view, over } = tab;
  const parts = partsOf(report);
  const { checks, streams } = report;
  const note = `of ${partText(view, over)}`;
  const closedLoop = report.run.users != null;
  const has = (kind: MetricKind) => Object.keys(report.metrics?.[kind] ?? {}).length > 0;
  if (parts.length === 0 && !checks && !streams) {
    return (
      <Empty title="The scenario measures nothing itself">
        <p>
          Here appear checks, streamed responses, and the counters, trends and rates that a scenario
          records with <code>metrics</code>.
        </p>
      </Empty>
    );
  }
  return (
    <div class="grid">
      {series.problem && <Failed problem={series.problem} again={series.reload} />}
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
              none="No response had a token."
              closedLoop={closedLoop}
            />
          </Panel>
        </>
      )}
      <MetricCharts {...tab} />
    </div>
  );
}

function MetricCharts({ report, series, onZoom }: TabProps) {
  const data = series.data;
  if (!data?.metrics) return null;
  const charts = (["counters", "trends", "rates"] as const).flatMap((kind) =>
    Object.keys(report.metrics?.[kind] ?? {}).map((name) => ({ kind, name })),
  );
  return (
    <>
      {charts.slice(0, CHARTS_MAX).map(({ kind, name }) => (
        <Panel key={`${kind} ${name}`} title={name} note={CHART_NOTES[kind]} busy={series.loading}>
          <MetricChart series={data} kind={kind} name={name} onZoom={onZoom} />
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
