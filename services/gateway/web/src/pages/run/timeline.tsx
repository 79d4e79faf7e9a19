// The events of a run in order, and its properties.

import { MarkList } from "../../components/charts/mark_lines";
import { Panel } from "../../components/layout/panel";
import { SettingsPanel } from "../../components/report/settings";
import { Timeline } from "../../components/tables/timeline";
import { type TabProps, timelineLines } from "./tab";

export function TimelineTab(tab: TabProps) {
  const { whole, goTo, marks } = tab;
  // Of a killed run the gateway must not keep the log: `loadpilot resume` needs it.
  const over = tab.over && !tab.live.killed;
  const { run } = whole;
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
      <div class="stack">
        <Panel title="Changes during the run" note="as marked in the charts">
          <MarkList marks={marks} onGoTo={over ? goTo : undefined} />
          {marks.length === 0 && <p class="quiet">Nothing changed while the run went on.</p>}
        </Panel>
        <SettingsPanel report={whole} />
      </div>
    </div>
  );
}
