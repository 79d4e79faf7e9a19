// The load generators of a run as tables: shares of the load, and how each process ended.

import type { Report, TailFacts } from "../../api/_generated/report";
import type { AgentOverTime, AgentsOverTime } from "../../api/answers";
import { type Tone, lossReason } from "../../format/labels";
import { NOT_MEASURED, count, latency, percent } from "../../format/numbers";
import { Figure, FigureCell } from "../layout/figures";
import { Badge, Dot } from "../layout/icons";
import { Scroll, Tile, Tiles } from "../layout/panel";

const NO_ARRIVAL = "No arrival was due in the measured time";

export function GeneratorTiles({ generator: g }: { generator: Report["generator"] }) {
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
  report: Report;
  data: AgentsOverTime | null;
  chosen?: string | null;
  /** Called with the agent to filter by; absent: nothing can be filtered. */
  onChoose?: (agent: string | null) => void;
}

export function Holders({ report, data, chosen = null, onChoose }: HoldersProps) {
  const of = new Map<string, AgentOverTime>((data?.agents ?? []).map((a) => [a.agent, a]));
  const colours = new Map((data?.agents ?? []).map((a, at) => [a.agent, `c-${at % 8}`]));
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
                  <Dot colour={colours.get(holder.agent) ?? "muted"} />
                  {onChoose ? (
                    <button
                      type="button"
                      class="link"
                      aria-pressed={on}
                      title="Filter the charts by this load generator"
                      onClick={() => onChoose(on ? null : holder.agent)}
                    >
                      {holder.agent}
                    </button>
                  ) : (
                    holder.agent
                  )}
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

/** Counts of a killed process that a later process reported. */
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
