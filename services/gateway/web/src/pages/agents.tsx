// Who is there: the agents of the fleet, or of the stacks that run in this folder.

import { useResource } from "../api/resource";
import { Link } from "../app/navigation";
import { runRoute } from "../app/route";
import { Badge } from "../components/layout/icons";
import { Empty, Failed, Loading, Scroll } from "../components/layout/panel";
import { NONE, perSecond } from "../format/numbers";

interface Held {
  run: string;
  shards: number;
  of: number;
  rps: number | null;
  paused: boolean;
}

interface Present {
  holder: { agent: string; boot_id: string };
  host: string | null;
  version: string | null;
  cores: number | null;
  cpu_millicores: number | null;
  clock: { offset_us: number; bound_us: number } | null;
  ahead_us: number | null;
  heard: boolean;
  has: string[];
  holds: Held[];
}

const AGAIN_MS = 4000;

export function Agents() {
  const { data, problem, reload } = useResource<Present[] | { agents: Present[] }>("/agents", {
    every: AGAIN_MS,
  });
  const present = data === null ? null : Array.isArray(data) ? data : data.agents;
  return (
    <>
      <div class="title">
        <h1>Agents</h1>
      </div>
      {problem && <Failed problem={problem} again={reload} />}
      {present === null && !problem && <Loading what="Listening for agents" />}
      {present?.length === 0 && (
        <Empty title="No agent was heard">
          <p>On a laptop they are there while a run is. For a fleet, start one:</p>
          <pre>
            <code>loadpilot agent --nats-url nats://…</code>
          </pre>
        </Empty>
      )}
      {present && present.length > 0 && <Table present={present} />}
    </>
  );
}

function Table({ present }: { present: Present[] }) {
  return (
    <Scroll label="Agents">
      <table>
        <thead>
          <tr>
            <th>agent</th>
            <th>host</th>
            <th class="n">cores</th>
            <th class="n">cpu</th>
            <th class="n">clock</th>
            <th>holds</th>
            <th>has</th>
            <th>version</th>
          </tr>
        </thead>
        <tbody>
          {present.map((one) => (
            <tr key={one.holder.agent + one.holder.boot_id}>
              <th scope="row">
                {one.holder.agent}{" "}
                <Badge tone={!one.heard ? "bad" : one.holds.length > 0 ? "busy" : "plain"}>
                  {!one.heard ? "silent" : one.holds.length > 0 ? "at work" : "idle"}
                </Badge>
              </th>
              <td>{one.host ?? NONE}</td>
              <td class="n">{one.cores ?? NONE}</td>
              <td class="n">
                {one.cpu_millicores === null ? NONE : `${one.cpu_millicores / 10} %`}
              </td>
              <td class="n">{clockOf(one)}</td>
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
              <td>{one.version ?? NONE}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

function clockOf({ clock, ahead_us: ahead }: Present): string {
  if (clock) {
    return `${(-clock.offset_us / 1e3).toFixed(2)} ± ${(clock.bound_us / 1e3).toFixed(2)} ms`;
  }
  return ahead === null ? NONE : `about ${Math.round(ahead / 1e3)} ms`;
}
