// Who generated the load: their shares, and whether they were up to it, second by second.

import { useMemo } from "preact/hooks";
import type uPlot from "uplot";
import type { AgentOverTime, Attendance } from "../../api/answers";
import { query } from "../../api/http";
import { useResource } from "../../api/resource";
import { look } from "../../app/navigation";
import {
  Chart,
  type Columns,
  type Ink,
  type Plot,
  timeAxis,
  valueAxis,
} from "../../components/charts/chart";
import { fromZero } from "../../components/charts/load_chart";
import { Badge } from "../../components/layout/icons";
import { Failed, Panel, Tile, Tiles, Scroll } from "../../components/layout/panel";
import { NONE, count, latency, percent, perSecond, short } from "../../format/numbers";
import { type Tone, plain } from "../../format/labels";
import { within } from "../../data/running_series";
import type { Shown } from "./run";

const DRAWN_MAX = 12;

/** What is drawn of agents: which list, in which unit, what it says. */
interface Gauge {
  title: string;
  note: string;
  key: "started" | "busiest_core_permille" | "stall_us" | "lag_p99_us" | "in_flight";
  scale: (value: number, bucketUs: number) => number;
  say: (value: number) => string;
}

const GAUGES: Gauge[] = [
  {
    title: "Arrivals started",
    note: "per second",
    key: "started",
    scale: (v, bucket) => v / (bucket / 1e6),
    say: (v) => perSecond(v),
  },
  {
    title: "Busiest firing thread",
    note: "of its core; above 90 % it is full",
    key: "busiest_core_permille",
    scale: (v) => v / 10,
    say: (v) => `${short(v)} %`,
  },
  {
    title: "Schedule lag, p99",
    note: "from due until the pacer reached the arrival",
    key: "lag_p99_us",
    scale: (v) => v,
    say: (v) => latency(v),
  },
  {
    title: "Longest stall",
    note: "a firing thread late for its own timer",
    key: "stall_us",
    scale: (v) => v,
    say: (v) => latency(v),
  },
];

export function AgentsTab({ run, report, series, view, every, onZoom }: Shown) {
  const path = `/runs/${encodeURIComponent(run)}/agents${query({ as_of_us: view.asOf })}`;
  const { data, problem, reload } = useResource<Attendance>(path, { every });
  const g = report.generator;
  const colours = new Map((data?.agents ?? []).map((a, at) => [a.agent, `c-${at % 8}`]));
  return (
    <div class="grid">
      <Tiles>
        <Tile
          label="schedule lag p99"
          value={latency(g.schedule_lag?.p99_us)}
          note={`p50 ${latency(g.schedule_lag?.p50_us)}`}
        />
        <Tile label="queue p99" value={latency(g.queue?.p99_us)} note="from there until dispatch" />
        <Tile
          label="busiest core"
          value={percent(g.busiest_core_permille / 10)}
          tone={g.busy_deltas_pct >= 5 ? "warn" : "plain"}
          note={`above 90 % in ${percent(g.busy_deltas_pct)} of ticks`}
        />
        <Tile label="longest stall" value={latency(g.stall_us_max)} />
        <Tile
          label="connections"
          value={short(g.connections_opened)}
          note={`opened; ${short(g.connections_reused)} calls reused one`}
        />
        <Tile
          label="sent again"
          value={count(g.resent ?? 0)}
          note="on another connection"
          tone={(g.resent ?? 0) > 0 ? "warn" : "plain"}
        />
      </Tiles>
      <Panel title="Processes" note="everybody who ever held shards" wide>
        <Holders report={report} data={data} chosen={view.agent} colours={colours} />
      </Panel>
      {problem && <Failed problem={problem} again={reload} />}
      {data && data.agents.length > DRAWN_MAX && (
        <p class="quiet wide">
          Drawn are the first {DRAWN_MAX} of {data.agents.length} agents.
        </p>
      )}
      {data &&
        GAUGES.map((gauge) => (
          <Panel key={gauge.key} title={gauge.title} note={gauge.note}>
            <GaugeChart
              gauge={gauge}
              data={data}
              onZoom={onZoom}
              end={within(data.from_us, series.data)}
            />
          </Panel>
        ))}
    </div>
  );
}

interface HoldersProps {
  report: Shown["report"];
  data: Attendance | null;
  chosen: string | null;
  colours: Map<string, string>;
}

function Holders({ report, data, chosen, colours }: HoldersProps) {
  const of = new Map<string, AgentOverTime>((data?.agents ?? []).map((a) => [a.agent, a]));
  return (
    <Scroll label="Processes">
      <table>
        <thead>
          <tr>
            <th>agent</th>
            <th>process</th>
            <th>ended</th>
            <th class="n">shards</th>
            <th class="n">started</th>
            <th class="n">calls</th>
            <th class="n">deltas</th>
            <th class="n">clock within</th>
            <th class="n">cores</th>
          </tr>
        </thead>
        <tbody>
          {report.run.holders.map(({ holder, ...facts }) => {
            const said = ended(facts.finished, facts.lost);
            const on = chosen === holder.agent;
            return (
              <tr key={holder.boot_id} class={on ? "chosen" : ""}>
                <th scope="row">
                  <i class={`dot ${colours.get(holder.agent) ?? ""}`} aria-hidden="true" />
                  <button
                    type="button"
                    class="link"
                    aria-pressed={on}
                    title="Show the charts of this agent alone"
                    onClick={() => look({ agent: on ? null : holder.agent })}
                  >
                    {holder.agent}
                  </button>
                </th>
                <td>
                  <code class="id" title={holder.boot_id}>
                    {holder.boot_id.slice(-6)}
                  </code>
                </td>
                <td>
                  <Badge tone={said.tone}>{said.text}</Badge>
                </td>
                <td class="n">{count(facts.shards)}</td>
                <td class="n">{count(facts.started)}</td>
                <td class="n">{count(facts.calls)}</td>
                <td class="n">{count(facts.deltas)}</td>
                <td class="n">{latency(facts.clock_bound_us)}</td>
                <td class="n">{of.get(holder.agent)?.cores ?? NONE}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </Scroll>
  );
}

function ended(finished: boolean, lost: string | null | undefined): { text: string; tone: Tone } {
  if (lost) return { text: plain(lost), tone: lost === "left" ? "plain" : "bad" };
  return finished ? { text: "finished", tone: "plain" } : { text: "at work", tone: "busy" };
}

interface GaugeProps {
  gauge: Gauge;
  data: Attendance;
  /** How many buckets are drawn. */
  end: number;
  onZoom: Shown["onZoom"];
}

function GaugeChart({ gauge, data, end, onZoom }: GaugeProps) {
  const drawn = data.agents.slice(0, DRAWN_MAX);
  const columns = useMemo<Columns>(() => {
    const secs = data.from_us.slice(0, end).map((us) => us / 1e6);
    const ys = drawn.map((agent) =>
      agent[gauge.key]
        .slice(0, end)
        .map((v) => (v === null ? null : gauge.scale(v, data.bucket_us))),
    );
    return [secs, ...ys];
  }, [data, end]);
  const names = drawn.map((agent) => agent.agent);
  const plot = (ink: Ink): Plot => ({
    series: names.map((name, at) => ({
      label: name,
      stroke: ink(`c-${at % 8}`),
      width: 1.5,
      points: { show: false },
      value: (_: uPlot, v: number | null) => (v === null ? "" : gauge.say(v)),
    })),
    axes: [timeAxis(ink), valueAxis(ink, gauge.say)],
    scales: { y: { range: fromZero } },
  });
  return (
    <Chart
      says={`${gauge.title} of ${names.join(", ")}, over time`}
      data={columns}
      plot={plot}
      shape={names.join()}
      height={160}
      sync="run"
      onZoom={onZoom}
    />
  );
}
