// The run told in order: who asked, who decided, who came and went.

import { Panel } from "../../components/layout/panel";
import { Story } from "../../components/tables/timeline";
import { instant, latency, span } from "../../format/numbers";
import { plain } from "../../format/labels";
import type { Shown } from "./run";
import { told } from "./overview";

export function StoryTab(shown: Shown) {
  const { report, over, goTo } = shown;
  const { run } = report;
  const facts: [string, string][] = [
    ["created", instant(run.created_at)],
    ["started", instant(run.start_at)],
    ["profile", `${plain(run.shape)}, ${span(run.profile_us)}`],
    ["warm-up", span(report.warm_up.warm_up_us)],
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
      <Panel title="Story" note={over ? "choose a time to see the run as of then" : "newest first"}>
        <Story
          lines={told(shown)}
          startAt={run.start_at}
          newestFirst={!over}
          onGoTo={over ? goTo : undefined}
        />
      </Panel>
      <Panel title="Facts">
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
