// Why a run was refused, failed before it started, or never started.

import type { Report } from "../../api/_generated/report";
import { Empty, Panel } from "../layout/panel";
import { Timeline } from "../tables/timeline";

export function RunFailed({ report }: { report: Report }) {
  const { refused, failure } = report.run;
  const ended = failure ? "The run failed" : "The run never started";
  const title = refused.length > 0 ? "The run was refused" : ended;
  return (
    <div class="grid">
      <Empty title={title}>
        {failure && <p>{failure.reason}</p>}
        <ul>
          {refused.map((one, i) => (
            <li key={i}>
              {one.field && <code>{one.field}</code>} {one.rule}
              {one.value && (
                <>
                  {" "}
                  — found <code>{one.value}</code>
                </>
              )}
            </li>
          ))}
        </ul>
      </Empty>
      <Panel title="Timeline">
        <Timeline lines={report.story} startAt={report.run.start_at} />
      </Panel>
    </div>
  );
}
