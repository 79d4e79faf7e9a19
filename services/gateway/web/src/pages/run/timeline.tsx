// The events of a run in order, and its properties.

import { Panel } from "../../components/layout/panel";
import { Timeline } from "../../components/tables/timeline";
import { dateTime, latency, duration } from "../../format/numbers";
import { spaced } from "../../format/labels";
import { type TabProps, timelineLines } from "./tab";

export function TimelineTab(tab: TabProps) {
  const { report, over, goTo } = tab;
  const { run } = report;
  const facts: [string, string][] = [
    ["created", dateTime(run.created_at)],
    ["started", dateTime(run.start_at)],
    ["profile", `${spaced(run.shape)}, ${duration(run.profile_us)}`],
    ["warm-up", duration(report.warm_up.warm_up_us)],
    ["tick", latency(run.tick_us)],
    ["seed", String(run.seed)],
    ["generation", String(run.generation)],
    ["plan", run.plan_hash],
    ["digest of this report", report.digest],
    ...Object.entries(run.parameters ?? {}).map(([name, value]): [string, string] => [
      `parameter ${name}`,
      typeof value === "string" ? value : `secret ${value.secret}`,
    ]),
  ];
  return (
    <div class="grid">
      <Panel
        title="Timeline"
        note={over ? "select a time to see the run at that time" : "newest first"}
      >
        <Timeline
          lines={timelineLines(tab)}
          startAt={run.start_at}
          newestFirst={!over}
          onGoTo={over ? goTo : undefined}
        />
      </Panel>
      <Panel title="Properties">
        <dl class="list">
          {facts.map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
      </Panel>
    </div>
  );
}
