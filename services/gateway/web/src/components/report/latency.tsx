// Latency as a distribution: heat map, percentile curve, and why waiting is a part of it.

import { useEffect, useState } from "preact/hooks";
import type { Latency } from "../../api/_generated/report";
import type { Series } from "../../api/answers";
import { decode } from "../../data/histogram";
import { SERVICE } from "../../format/labels";
import { compact } from "../../format/numbers";
import { LatencyChart } from "../charts/latency_chart";
import { type Line, PercentileCurve } from "../charts/percentile_curve";
import { Figure } from "../layout/figures";
import { Loading, Panel } from "../layout/panel";
import { isUnreached, omission } from "../tables/percentiles";

interface CurveProps {
  latency: Latency;
  closedLoop: boolean;
  /** The part of the run that the figures are of. */
  part: string;
}

export function CurvePanel({ latency, closedLoop, part }: CurveProps) {
  const lines = useCurves(latency, closedLoop);
  if (isUnreached(latency)) return null;
  return (
    <Panel title="Percentile curve" note={`of ${part}`}>
      {lines ? <PercentileCurve lines={lines} /> : <Loading what="Decoding the histogram" />}
    </Panel>
  );
}

interface ServiceProps {
  series: Series | null;
  onZoom?: ((from: number, to: number) => void) | undefined;
}

export function ServicePanel({ series, onZoom }: ServiceProps) {
  return (
    <Panel title={SERVICE} note="from dispatch, without the wait before it">
      {series && <LatencyChart series={series} kind="service" onZoom={onZoom} height={260} />}
    </Panel>
  );
}

export function OmissionPanel({ latency, part }: { latency: Latency; part: string }) {
  const factor = omission(latency);
  if (isUnreached(latency)) return null;
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
