// The load generators of a run: shares of the load, and their health over time.

import { useMemo } from "preact/hooks";
import type uPlot from "uplot";
import type { Report, TailFacts } from "../../api/_generated/report";
import type { AgentOverTime, AgentsOverTime } from "../../api/answers";
import { queryString } from "../../api/http";
import { useResource } from "../../api/resource";
import { changeView } from "../../app/navigation";
import {
  Chart,
  type Columns,
  type ThemeColour,
  type Plot,
  timeAxis,
  valueAxis,
} from "../../components/charts/chart";
import { zeroBased } from "../../components/charts/load_chart";
import { Figure, FigureCell } from "../../components/layout/figures";
import { Badge } from "../../components/layout/icons";
import { Failed, Panel, Tile, Tiles, Scroll } from "../../components/layout/panel";
import { NOT_MEASURED, count, latency, percent, perSecond, compact } from "../../format/numbers";
import { type Tone, lossReason } from "../../format/labels";
import { bucketsWithin } from "../../data/running_series";
import type { TabProps } from "./tab";

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

export function AgentsTab({ run, report, series, view, every, onZoom }: TabProps) {
  const path = `/runs/${encodeURIComponent(run)}/agents${queryString({ as_of_us: view.asOf })}`;
  const { data, problem, reload } = useResource<AgentsOverTime>(path, { every });
  const colours = new Map((data?.agents ?? []).map((a, at) => [a.agent, `c-${at % 8}`]));
  return (
    <div class="grid">
      <GeneratorTiles generator={report.generator} />
      <Panel title="Processes" note="of all load generators that held shards" wide>
        <Holders report={report} data={data} chosen={view.agent} colours={colours} />
      </Panel>
      {problem && !series.problem && <Failed problem={problem} again={reload} />}
      {data && data.agents.length > CHARTED_AGENTS_MAX && (
        <p class="quiet wide">
          Charts show the first {CHARTED_AGENTS_MAX} of {data.agents.length} load generators.
        </p>
      )}
      {data &&
        GAUGES.map((gauge) => (
          <Panel key={gauge.key} title={gauge.title} note={gauge.note}>
            <GaugeChart
              gauge={gauge}
              data={data}
              onZoom={onZoom}
              end={bucketsWithin(data.from_us, series.data)}
            />
          </Panel>
        ))}
    </div>
  );
}

const NO_ARRIVAL = "No arrival was due in the measured time";

function GeneratorTiles({ generator: g }: { generator: Report["generator"] }) {
  const retransmits = g.retransmits_max ?? 0;
  const overflows = g.listen_overflows_max ?? 0;
  return (
    <Tiles>
      <Tile
        label="schedule lag p99"
        value={
          <Figure
            of="generator.schedule_lag.p99_us"
            text={latency(g.schedule_lag?.p99_us)}
            none={NO_ARRIVAL}
          />
        }
        note={`after the due time; p50 ${latency(g.schedule_lag?.p50_us)}`}
      />
      <Tile
        label="queue p99"
        value={
          <Figure of="generator.queue.p99_us" text={latency(g.queue?.p99_us)} none={NO_ARRIVAL} />
        }
        note="wait for a slot, until dispatch"
      />
      <Tile
        label="busiest core"
        value={
          <Figure
            of="generator.busiest_core_permille"
            text={percent(g.busiest_core_permille / 10)}
          />
        }
        tone={g.busy_deltas_pct >= 5 ? "warn" : "plain"}
        note={
          <>
            above 90 % in{" "}
            <Figure of="generator.busy_deltas_pct" text={percent(g.busy_deltas_pct)} /> of ticks
          </>
        }
      />
      <Tile
        label="longest stall"
        value={<Figure of="generator.stall_us_max" text={latency(g.stall_us_max)} />}
        note="of a thread, behind its timer"
      />
      <Tile
        label="connections"
        value={<Figure of="generator.connections_opened" text={count(g.connections_opened)} />}
        note={
          <>
            opened; reused by{" "}
            <Figure of="generator.connections_reused" text={count(g.connections_reused)} /> requests
          </>
        }
      />
      <Tile
        label="retried on a new connection"
        value={<Figure of="generator.resent" text={count(g.resent ?? 0)} />}
        note="requests; the open connection was closed before a response"
        tone={(g.resent ?? 0) > 0 ? "warn" : "plain"}
      />
      {retransmits + overflows > 0 && (
        <Tile
          label="TCP segments sent again"
          value={<Figure of="generator.retransmits_max" text={count(retransmits)} />}
          note={
            <>
              on one machine, by all its programs;{" "}
              <Figure of="generator.listen_overflows_max" text={count(overflows)} /> connections
              found a full listener queue
            </>
          }
        />
      )}
    </Tiles>
  );
}

interface HoldersProps {
  report: TabProps["report"];
  data: AgentsOverTime | null;
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
            <th>load generator</th>
            <th>process</th>
            <th>state</th>
            <th class="n">shards</th>
            <th class="n">arrivals started</th>
            <th class="n">requests</th>
            <th class="n">deltas</th>
            <th class="n">clock error</th>
            <th class="n">cores</th>
          </tr>
        </thead>
        <tbody>
          {report.run.holders.map(({ holder, ...facts }, at) => {
            const place = `run.holders.${at}`;
            const state = ended(facts.finished, facts.lost);
            const on = chosen === holder.agent;
            return (
              <tr key={holder.boot_id} class={on ? "chosen" : ""}>
                <th scope="row">
                  <i class={`dot ${colours.get(holder.agent) ?? ""}`} aria-hidden="true" />
                  <button
                    type="button"
                    class="link"
                    aria-pressed={on}
                    title="Filter the charts by this load generator"
                    onClick={() => changeView({ agent: on ? null : holder.agent })}
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
                  <Badge tone={state.tone}>{state.text}</Badge>
                  {facts.development && <small> development build</small>}
                  {facts.tail && <TailNote tail={facts.tail} />}
                </td>
                <FigureCell of={`${place}.shards`} text={count(facts.shards)} />
                <FigureCell of={`${place}.started`} text={count(facts.started)} />
                <FigureCell of={`${place}.calls`} text={count(facts.calls)} />
                <FigureCell of={`${place}.deltas`} text={count(facts.deltas)} />
                <FigureCell
                  of={`${place}.clock_bound_us`}
                  text={latency(facts.clock_bound_us)}
                  none="It never compared its clock with the coordinator's"
                />
                <FigureCell
                  text={coresText(of.get(holder.agent))}
                  none="Its heartbeat did not contain the number of cores"
                />
              </tr>
            );
          })}
        </tbody>
      </table>
    </Scroll>
  );
}

function coresText(agent: AgentOverTime | undefined): string {
  return agent?.cores == null ? NOT_MEASURED : String(agent.cores);
}

/** What a later process reported of a killed one. */
function TailNote({ tail }: { tail: TailFacts }) {
  const text = tail.lost
    ? `its last counts are lost: ${tail.lost}`
    : `its last counts were recovered, ${count(tail.indeterminate)} requests were in flight`;
  return <small class="tail">{text}</small>;
}

function ended(finished: boolean, lost: string | null | undefined): { text: string; tone: Tone } {
  if (lost === "left") return { text: "left", tone: "plain" };
  if (lost) return { text: `lost: ${lossReason(lost)}`, tone: "bad" };
  return finished ? { text: "finished", tone: "plain" } : { text: "running", tone: "busy" };
}

interface GaugeProps {
  gauge: Gauge;
  data: AgentsOverTime;
  /** Number of buckets shown. */
  end: number;
  onZoom: TabProps["onZoom"];
}

function GaugeChart({ gauge, data, end, onZoom }: GaugeProps) {
  const drawn = data.agents.slice(0, CHARTED_AGENTS_MAX);
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
      plot={plot}
      rebuildKey={names.join()}
      height={160}
      sync="run"
      onZoom={onZoom}
    />
  );
}
