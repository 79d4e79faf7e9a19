// Latency over time, as a heat map and as a distribution; with waiting and without.

import type { Heat, Series } from "../../api/answers";
import { useResource } from "../../api/resource";
import { HeatMap } from "../../components/charts/heat_map";
import { LatencyChart } from "../../components/charts/latency_chart";
import { latencyLimits } from "../../components/charts/limit_lines";
import { Failed, Panel } from "../../components/layout/panel";
import { HeldRatePanel } from "../../components/report/held_rate";
import { LoadLevels } from "../../components/report/load_curve";
import { CurvePanel, OmissionPanel, ServicePanel } from "../../components/report/latency";
import { LatencyNotes, PercentileTable, serverLatency } from "../../components/tables/percentiles";
import { bucketsWithin } from "../../data/running_series";
import { heatBetween, partText } from "../../data/time_range";
import { RESPONSE } from "../../format/labels";
import type { TabProps } from "./tab";

export function LatencyTab(tab: TabProps) {
  const { run, report, series, slice, every, onZoom, view, over } = tab;
  const heat = useResource<Heat>(`/runs/${encodeURIComponent(run)}/heat${slice}`, { every });
  const closedLoop = report.run.users != null;
  // A task or a load generator narrows the series only: the report has no such part.
  const filtered = view.task !== null || view.agent !== null;
  const times = serverLatency(report.latency);
  const percentiles = filtered ? series.data?.total : times;
  const part = partText(view, over);
  const data = series.data;
  const name = closedLoop ? "Response time" : RESPONSE;
  return (
    <div class="grid">
      <Panel
        title={name}
        note={closedLoop ? "not counted from a schedule" : "from the time a request was due"}
        wide
      >
        {data && (
          <LatencyChart
            series={data}
            onZoom={onZoom}
            height={240}
            limits={filtered ? [] : latencyLimits(report.verdict.thresholds)}
          />
        )}
      </Panel>
      <Panel title="Heat map" note={name} wide busy={heat.loading}>
        {heat.problem && !series.problem && <Failed problem={heat.problem} again={heat.reload} />}
        {heat.data && data && (
          <HeatMap heat={upToPresent(heat.data, data)} bucketUs={data.bucket_us} onZoom={onZoom} />
        )}
      </Panel>
      {!filtered && <HeldRatePanel held={report.run.held} />}
      {!filtered && <LoadLevels curve={report.load_curve} />}
      {!filtered && <CurvePanel latency={report.latency} {...{ closedLoop, part }} />}
      {!closedLoop && <ServicePanel series={data} onZoom={onZoom} />}
      <Panel title="Percentile table" note={filtered ? "of the selected part" : `of ${part}`}>
        <PercentileTable
          {...(filtered ? {} : { of: "latency", none: times.none })}
          response={percentiles?.response}
          service={percentiles?.service}
          closedLoop={closedLoop}
        />
        {!filtered && <LatencyNotes times={report.latency} closedLoop={closedLoop} />}
      </Panel>
      {!closedLoop && !filtered && <OmissionPanel latency={report.latency} part={part} />}
      {filtered && (
        <p class="quiet wide">
          Load levels, the percentile curve and coordinated omission are known of the whole run
          only. Remove the filter to see them.
        </p>
      )}
    </div>
  );
}

/** The heat map without the future of a run in progress. */
function upToPresent(heat: Heat, series: Series): Heat {
  return heatBetween(heat, 0, bucketsWithin(heat.from_us, series));
}
