// Latency over time, as a heat map and as a distribution; corrected and uncorrected.

import { useEffect, useState } from "preact/hooks";
import type { Heat, Series } from "../../api/answers";
import { useResource } from "../../api/resource";
import { type Line, PercentileCurve } from "../../components/charts/percentile_curve";
import { HeatMap } from "../../components/charts/heat_map";
import { PercentileTable, omission } from "../../components/tables/percentiles";
import { LatencyChart } from "../../components/charts/latency_chart";
import { Failed, Loading, Panel } from "../../components/layout/panel";
import { decode } from "../../data/histogram";
import { compact } from "../../format/numbers";
import { bucketsWithin } from "../../data/running_series";
import type { TabProps } from "./tab";

export function LatencyTab(tab: TabProps) {
  const { run, report, series, slice, every, onZoom, view } = tab;
  const heat = useResource<Heat>(`/runs/${encodeURIComponent(run)}/heat${slice}`, { every });
  const lines = useCurves(report.latency.response_histogram, report.latency.service_histogram);
  const part = view.from !== null || view.to !== null || view.task !== null || view.agent !== null;
  const percentiles = part ? series.data?.total : report.latency;
  const factor = omission(report.latency);
  const data = series.data;
  return (
    <div class="grid">
      <Panel
        title="Corrected"
        note="from the due time: includes the time a call waited to be sent"
        wide
      >
        {data && <LatencyChart series={data} onZoom={onZoom} height={240} />}
      </Panel>
      <Panel title="Heat map" note="response times, corrected" wide busy={heat.loading}>
        {heat.problem && !series.problem && <Failed problem={heat.problem} again={heat.reload} />}
        {heat.data && data && (
          <HeatMap heat={upToPresent(heat.data, data)} bucketUs={data.bucket_us} onZoom={onZoom} />
        )}
      </Panel>
      <Panel title="Percentile curve" note="of the measured time">
        {lines ? <PercentileCurve lines={lines} /> : <Loading what="Decoding the histogram" />}
      </Panel>
      <Panel title="Uncorrected" note="from dispatch, without that wait">
        {data && <LatencyChart series={data} kind="service" onZoom={onZoom} height={260} />}
      </Panel>
      <Panel title="Percentile table" note={part ? "of the selected part" : "of the measured time"}>
        <PercentileTable response={percentiles?.response} service={percentiles?.service} />
      </Panel>
      <Panel title="Coordinated omission">
        <p class="big">{factor.value}</p>
        <p>{factor.note}.</p>
        <p class="quiet">
          The CO factor is corrected p99 / uncorrected p99 of{" "}
          {compact(report.latency.response?.count ?? 0)} calls. While a target stalls, calls that
          are due have to wait. Corrected latency includes this wait. Uncorrected latency leaves it
          out, like tools that send the next request only after the last answer.
        </p>
      </Panel>
    </div>
  );
}

/** The heat map without the future of a run in progress. */
function upToPresent(heat: Heat, series: Series): Heat {
  const end = bucketsWithin(heat.from_us, series);
  return { ...heat, from_us: heat.from_us.slice(0, end), counts: heat.counts.slice(0, end) };
}

function useCurves(response: string, service: string): Line[] | null {
  const [lines, setLines] = useState<Line[] | null>(null);
  useEffect(() => {
    let current = true;
    void Promise.all([decode(response), decode(service)]).then(([corrected, uncorrected]) => {
      if (!current) return;
      setLines([
        { label: "corrected", colour: "p99", buckets: corrected },
        { label: "uncorrected", colour: "p50", buckets: uncorrected, dash: true },
      ]);
    });
    return () => {
      current = false;
    };
  }, [response, service]);
  return lines;
}
