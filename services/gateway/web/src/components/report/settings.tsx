// The settings and the identity of a run.

import type { Report } from "../../api/_generated/report";
import { spaced } from "../../format/labels";
import { count, dateTime, duration } from "../../format/numbers";
import { closedLoopText, connectionTexts } from "../../format/plan_settings";
import { Panel } from "../layout/panel";

type Fact = [string, string];

export function SettingsPanel({ report }: { report: Report }) {
  return (
    <Panel title="Properties">
      <dl class="list">
        {factsOf(report).map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </Panel>
  );
}

function factsOf(report: Report): Fact[] {
  const { run, warm_up: warmUp } = report;
  const settings = connectionTexts(run.connections);
  const left = `${count(warmUp.arrivals)} arrivals and ${count(warmUp.calls)} requests left out`;
  return [
    ["scenario", report.scenario],
    ["target", report.target_url],
    ["run", run.id],
    ["created", dateTime(run.created_at)],
    ["started", run.start_at ? dateTime(run.start_at) : "never"],
    ["load", run.users == null ? spaced(run.shape) : closedLoopText(run)],
    ["planned length", duration(run.profile_us)],
    ...(run.stopped_at_us == null
      ? []
      : [["stopped after", duration(run.stopped_at_us)] satisfies Fact]),
    ["warm-up", warmUp.warm_up_us > 0 ? `${duration(warmUp.warm_up_us)}; ${left}` : "none"],
    ["in flight", run.max_in_flight == null ? "" : `at most ${count(run.max_in_flight)} each`],
    ["connections", settings.join(", ")],
    ["tick", duration(run.tick_us)],
    ["seed", String(run.seed)],
    ["generation", String(run.generation)],
    ["rules", run.rules ?? "1"],
    ["plan", run.plan_hash],
    ["digest of this report", report.digest],
    ...(run.feeds ?? []).map((feed): Fact => [
      `feed ${feed.name}`,
      `${count(feed.taken)} rows taken of ${count(feed.rows)}${feed.cycles ? ", cycling" : ""}`,
    ]),
    ...Object.entries(run.parameters ?? {}).map(([name, value]): Fact => [
      `parameter ${name}`,
      typeof value === "string" ? value : `secret ${value.secret}`,
    ]),
    ...Object.entries(run.tags ?? {}).map(([name, value]): Fact => [`tag ${name}`, value]),
  ].filter((fact): fact is Fact => fact[1] !== "");
}
