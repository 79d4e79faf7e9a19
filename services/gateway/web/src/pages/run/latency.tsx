// Latency in full: over time, as a heat map, as a distribution; counted in both ways.

import { useEffect, useState } from "preact/hooks";
import type { Heat, Series } from "../../api/answers";
import { useResource } from "../../api/resource";
import { type Line, CurveChart } from "../../components/charts/percentile_curve";
import { HeatChart } from "../../components/charts/heat_map";
import { Ladders, omission } from "../../components/tables/percentiles";
import { LatencyChart } from "../../components/charts/latency_chart";
import { Failed, Loading, Panel } from "../../components/layout/panel";
import { decode } from "../../data/histogram";
import { short } from "../../format/numbers";
import { within } from "../../data/running_series";
import type { Shown } from "./run";

export function LatencyTab(shown: Shown) {
  const { run, report, series, slice, every, onZoom, view } = shown;
  const heat = useResource<Heat>(`/runs/${encodeURIComponent(run)}/heat${slice}`, { every });
  const lines = useCurves(report.latency.response_histogram, report.latency.service_histogram);
  const part = view.from !== null || view.to !== null || view.task !== null || view.agent !== null;
  const ladders = part ? series.data?.total : report.latency;
  const factor = omission(report.latency);
  const data = series.data;
  return (
    <div class="grid">
      {series.problem && <Failed problem={series.problem} again={series.reload} />}
      <Panel title="Corrected" note="from the due time: what users would have felt" wide>
        {data && <LatencyChart series={data} onZoom={onZoom} height={240} />}
      </Panel>
      <Panel title="Heat map" note="response times, corrected" wide busy={heat.loading}>
        {heat.problem && <Failed problem={heat.problem} again={heat.reload} />}
        {heat.data && data && (
          <HeatChart heat={told(heat.data, data)} bucketUs={data.bucket_us} onZoom={onZoom} />
        )}
      </Panel>
      <Panel title="Percentiles" note="of the measured time; each nine takes the same room">
        {lines ? <CurveChart lines={lines} /> : <Loading what="Reading the histogram" />}
      </Panel>
      <Panel title="Uncorrected" note="from dispatch: what the target took">
        {data && <LatencyChart series={data} kind="service" onZoom={onZoom} height={260} />}
      </Panel>
      <Panel title="Ladder" note={part ? "of the part that is shown" : "of the measured time"}>
        <Ladders response={ladders?.response} service={ladders?.service} />
      </Panel>
      <Panel title="Coordinated omission">
        <p class="big">{factor.value}</p>
        <p>{factor.note}.</p>
        <p class="quiet">
          While a target stalls, calls that are due wait for their turn. Corrected counts that wait,
          uncorrected leaves it out, as tools do that send the next request only after the last
          answer. Of {short(report.latency.response?.count ?? 0)} calls, this is the ratio of the
          two p99.
        </p>
      </Panel>
    </div>
  );
}

/** Without the time that a run which goes on has still to come. */
function told(heat: Heat, series: Series): Heat {
  const end = within(heat.from_us, series);
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
