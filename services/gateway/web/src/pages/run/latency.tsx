// Latency over time, as a heat map and as a distribution; with waiting and without.

import { useEffect, useState } from "preact/hooks";
import type { Latency } from "../../api/_generated/report";
import type { Heat, Series } from "../../api/answers";
import { useResource } from "../../api/resource";
import { type Line, PercentileCurve } from "../../components/charts/percentile_curve";
import { HeatMap } from "../../components/charts/heat_map";
import {
  LatencyNotes,
  PercentileTable,
  omission,
  serverLatency,
} from "../../components/tables/percentiles";
import { Figure } from "../../components/layout/figures";
import { LatencyChart } from "../../components/charts/latency_chart";
import { Failed, Loading, Panel } from "../../components/layout/panel";
import { decode } from "../../data/histogram";
import { partText } from "../../data/time_range";
import { RESPONSE, SERVICE } from "../../format/labels";
import { compact } from "../../format/numbers";
import { bucketsWithin } from "../../data/running_series";
import type { TabProps } from "./tab";

export function LatencyTab(tab: TabProps) {
  const { run, report, series, slice, every, onZoom, view, over } = tab;
  const heat = useResource<Heat>(`/runs/${encodeURIComponent(run)}/heat${slice}`, { every });
  const closedLoop = report.run.users != null;
  const lines = useCurves(report.latency, closedLoop);
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
        {data && <LatencyChart series={data} onZoom={onZoom} height={240} />}
      </Panel>
      <Panel title="Heat map" note={name} wide busy={heat.loading}>
        {heat.problem && !series.problem && <Failed problem={heat.problem} again={heat.reload} />}
        {heat.data && data && (
          <HeatMap heat={upToPresent(heat.data, data)} bucketUs={data.bucket_us} onZoom={onZoom} />
        )}
      </Panel>
      <Panel title="Percentile curve" note={`of ${part}`}>
        {lines ? <PercentileCurve lines={lines} /> : <Loading what="Decoding the histogram" />}
      </Panel>
      {!closedLoop && (
        <Panel title={SERVICE} note="from dispatch, without the wait before it">
          {data && <LatencyChart series={data} kind="service" onZoom={onZoom} height={260} />}
        </Panel>
      )}
      <Panel title="Percentile table" note={filtered ? "of the selected part" : `of ${part}`}>
        <PercentileTable
          {...(filtered ? {} : { of: "latency", none: times.none })}
          response={percentiles?.response}
          service={percentiles?.service}
          closedLoop={closedLoop}
        />
        {!filtered && <LatencyNotes times={report.latency} closedLoop={closedLoop} />}
      </Panel>
      {!closedLoop && <OmissionPanel latency={report.latency} part={part} />}
    </div>
  );
}

function OmissionPanel({ latency, part }: { latency: Latency; part: string }) {
  const factor = omission(latency);
  return (
    <Panel title="Coordinated omission" note={`of ${part}`}>
      <p class="big">
        <Figure of="latency.co_factor" text={factor.value} none={factor.note} />
      </p>
      <p>{factor.note}.</p>
      <p class="quiet">
        The CO factor is p99 of the response time / p99 of the service time of{" "}
        {compact(latency.response?.count ?? 0)} requests. While a target stalls, requests that are
        due have to wait. The response time includes this wait. The service time leaves it out, like
        tools that send the next request only after the last response.
      </p>
    </Panel>
  );
}

/** The heat map without the future of a run in progress. */
function upToPresent(heat: Heat, series: Series): Heat {
  const end = bucketsWithin(heat.from_us, series);
  return { ...heat, from_us: heat.from_us.slice(0, end), counts: heat.counts.slice(0, end) };
}

function useCurves(latency: Latency, closedLoop: boolean): Line[] | null {
  const { response_histogram: response, service_histogram: service } = latency;
  const [lines, setLines] = useState<Line[] | null>(null);
  useEffect(() => {
    let current = true;
    void Promise.all([decode(response), decode(service)]).then(([whole, alone]) => {
      if (!current) return;
      const line = { label: "response time", colour: "p99", buckets: whole };
      const second = { label: "service time", colour: "p50", buckets: alone, dash: true };
      setLines(closedLoop ? [line] : [line, second]);
    });
    return () => {
      current = false;
    };
  }, [response, service, closedLoop]);
  return lines;
}
