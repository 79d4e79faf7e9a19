// The load generators of the fleet, or of the local runs of this folder.

import { useResource } from "../api/resource";
import { Link } from "../app/navigation";
import { runRoute } from "../app/route";
import { Badge } from "../components/layout/icons";
import { Empty, Failed, Loading, Scroll } from "../components/layout/panel";
import { NOT_MEASURED, perSecond } from "../format/numbers";

interface Assignment {
  run: string;
  shards: number;
  of: number;
  rps: number | null;
  paused: boolean;
}

interface Agent {
  holder: { agent: string; boot_id: string };
  host: string | null;
  version: string | null;
  cores: number | null;
  cpu_millicores: number | null;
  clock: { offset_us: number; bound_us: number } | null;
  ahead_us: number | null;
  heard: boolean;
  has: string[];
  holds: Assignment[];
}

const REFRESH_MS = 4000;

export function Agents() {
  const { data, problem, reload } = useResource<Agent[] | { agents: Agent[] }>("/agents", {
    every: REFRESH_MS,
  });
  const agents = data === null ? null : Array.isArray(data) ? data : data.agents;
  return (
    <>
      <div class="title">
        <h1>Load generators</h1>
      </div>
      {problem && <Failed problem={problem} again={reload} />}
      {agents === null && !problem && <Loading what="Waiting for heartbeats of load generators" />}
      {agents?.length === 0 && (
        <Empty title="No load generators">
          <p>
            No load generator has sent a heartbeat. Local ones exist only during a run. To start one
            for a fleet:
          </p>
          <pre>
            <code>loadpilot agent --nats-url nats://…</code>
          </pre>
        </Empty>
      )}
      {agents && agents.length > 0 && <Table agents={agents} />}
    </>
  );
}

function Table({ agents }: { agents: Agent[] }) {
  return (
    <Scroll label="Load generators">
      <table>
        <thead>
          <tr>
            <th>load generator</th>
            <th>host</th>
            <th class="n">cores</th>
            <th class="n">CPU</th>
            <th class="n">clock offset</th>
            <th>runs</th>
            <th>capabilities</th>
            <th>version</th>
          </tr>
        </thead>
        <tbody>
          {agents.map((one) => (
            <tr key={one.holder.agent + one.holder.boot_id}>
              <th scope="row">
                {one.holder.agent}{" "}
                <Badge tone={!one.heard ? "bad" : one.holds.length > 0 ? "busy" : "plain"}>
                  {!one.heard ? "silent" : one.holds.length > 0 ? "busy" : "idle"}
                </Badge>
              </th>
              <td>
                <Reported text={one.host ?? NOT_MEASURED} />
              </td>
              <td class="n">
                <Reported text={one.cores === null ? NOT_MEASURED : String(one.cores)} />
              </td>
              <td class="n">
                <Reported
                  text={one.cpu_millicores === null ? NOT_MEASURED : `${one.cpu_millicores / 10} %`}
                />
              </td>
              <td class="n">
                <Reported text={clockText(one)} />
              </td>
              <td>
                {one.holds.map((held) => (
                  <div key={held.run}>
                    <Link to={runRoute(held.run)}>{held.run.slice(-6)}</Link> {held.shards} of{" "}
                    {held.of} shards{held.rps === null ? "" : `, ${perSecond(held.rps)}`}
                    {held.paused && ", paused"}
                  </div>
                ))}
              </td>
              <td>{one.has.join(", ")}</td>
              <td>
                <Reported text={one.version ?? NOT_MEASURED} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

function Reported({ text }: { text: string }) {
  const none = text === NOT_MEASURED ? "No heartbeat has contained it" : undefined;
  return <span title={none}>{text}</span>;
}

function clockText({ clock, ahead_us: ahead }: Agent): string {
  if (clock) {
    return `${(-clock.offset_us / 1e3).toFixed(2)} ± ${(clock.bound_us / 1e3).toFixed(2)} ms`;
  }
  return ahead === null ? NOT_MEASURED : `≈ ${Math.round(ahead / 1e3)} ms`;
}
