// The health of load generators over time, as charts.

import { useMemo } from "preact/hooks";
import type uPlot from "uplot";
import type { AgentsOverTime } from "../../api/answers";
import { compact, latency, perSecond } from "../../format/numbers";
import {
  Chart,
  type Columns,
  type Plot,
  type ThemeColour,
  timeAxis,
  valueAxis,
} from "../charts/chart";
import { zeroBased } from "../charts/load_chart";
import { Panel } from "../layout/panel";

const CHARTED_AGENTS_MAX = 12;

/** A chart of agents: the list in the answer, its unit and its format. */
interface Gauge {
  title: string;
  note: string;
  key: "started" | "busiest_core_permille" | "stall_us" | "lag_p99_us" | "in_flight";
  scale: (value: number, bucketUs: number) => number;
  format: (value: number) => string;
}

const GAUGES: Gauge[] = [
  {
    title: "Arrivals started",
    note: "per second",
    key: "started",
    scale: (v, bucket) => v / (bucket / 1e6),
    format: (v) => perSecond(v),
  },
  {
    title: "Busiest thread",
    note: "CPU of its core; above 90 % is saturated",
    key: "busiest_core_permille",
    scale: (v) => v / 10,
    format: (v) => `${compact(v)} %`,
  },
  {
    title: "Schedule lag, p99",
    note: "from the due time until the arrival was processed",
    key: "lag_p99_us",
    scale: (v) => v,
    format: (v) => latency(v),
  },
  {
    title: "Longest stall",
    note: "delay of a thread behind its timer",
    key: "stall_us",
    scale: (v) => v,
    format: (v) => latency(v),
  },
];

interface GaugePanelsProps {
  data: AgentsOverTime;
  onZoom?: ((from: number, to: number) => void) | undefined;
}

export function GaugePanels({ data, onZoom }: GaugePanelsProps) {
  return (
    <>
      {data.agents.length > CHARTED_AGENTS_MAX && (
        <p class="quiet wide">
          Charts show the first {CHARTED_AGENTS_MAX} of {data.agents.length} load generators.
        </p>
      )}
      {GAUGES.map((gauge) => (
        <Panel key={gauge.key} title={gauge.title} note={gauge.note}>
          <GaugeChart {...{ gauge, data, onZoom }} />
        </Panel>
      ))}
    </>
  );
}

interface GaugeProps {
  gauge: Gauge;
  data: AgentsOverTime;
  onZoom?: ((from: number, to: number) => void) | undefined;
}

function GaugeChart({ gauge, data, onZoom }: GaugeProps) {
  const drawn = data.agents.slice(0, CHARTED_AGENTS_MAX);
  const columns = useMemo<Columns>(() => {
    const secs = data.from_us.map((us) => us / 1e6);
    const ys = drawn.map((agent) =>
      agent[gauge.key].map((v) => (v === null ? null : gauge.scale(v, data.bucket_us))),
    );
    return [secs, ...ys];
  }, [data]);
  const names = drawn.map((agent) => agent.agent);
  const plot = (themeColour: ThemeColour): Plot => ({
    series: names.map((name, at) => ({
      label: name,
      stroke: themeColour(`c-${at % 8}`),
      width: 1.5,
      points: { show: false },
      value: (_: uPlot, v: number | null) => (v === null ? "" : gauge.format(v)),
    })),
    axes: [timeAxis(themeColour), valueAxis(themeColour, gauge.format)],
    scales: { y: { range: zeroBased } },
  });
  return (
    <Chart
      description={`${gauge.title} of ${names.join(", ")}, over time`}
      data={columns}
      bucketUs={data.bucket_us}
      plot={plot}
      rebuildKey={names.join()}
      height={160}
      sync="run"
      onZoom={onZoom}
    />
  );
}
