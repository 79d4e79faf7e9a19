// Measurements of the scenario itself: checks, its own metrics, and streamed responses.

import { Empty, Failed } from "../../components/layout/panel";
import { MetricPanels, hasOwnMetrics } from "../../components/report/metrics";
import { partText } from "../../data/time_range";
import type { TabProps } from "./tab";

export function MetricsTab({ report, series, view, over, onZoom }: TabProps) {
  if (!hasOwnMetrics(report)) {
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
      <MetricPanels
        {...{ report, onZoom }}
        series={series.data}
        loading={series.loading}
        part={partText(view, over)}
      />
    </div>
  );
}
