// Per task and call; choosing one narrows every chart of the run to it.

import type { Errors } from "../../api/answers";
import { useResource } from "../../api/resource";
import { look } from "../../app/navigation";
import { Ladders } from "../../components/tables/percentiles";
import { LatencyChart } from "../../components/charts/latency_chart";
import { LoadChart } from "../../components/charts/load_chart";
import { Failed, Panel } from "../../components/layout/panel";
import { Anatomy, Checks, Endings, Tasks } from "../../components/tables/tasks";
import { Wrongs } from "../../components/tables/failures";
import type { Shown } from "./run";

export function TasksTab({ run, report, series, view, slice, every, onZoom }: Shown) {
  const path = `/runs/${encodeURIComponent(run)}/errors${slice}`;
  const errors = useResource<Errors>(path, { every });
  const task = report.tasks.find((one) => one.name === view.task);
  const call = task?.calls.find((one) => one.name === view.step) ?? null;
  const name = call ? `${task!.name} / ${call.name}` : task?.name;
  const data = series.data;
  return (
    <div class="grid">
      <Panel
        title="Tasks and calls"
        note="choose one to narrow all charts; latency is of the measured time"
        wide
      >
        <Tasks
          tasks={report.tasks}
          chosen={{ task: view.task, step: view.step }}
          onChoose={(to, step) => look({ task: to, step })}
        />
      </Panel>
      <Panel title={name ? `Load of ${name}` : "Load of all tasks"} busy={series.loading}>
        {data && <LoadChart series={data} onZoom={onZoom} height={180} />}
      </Panel>
      <Panel
        title={name ? `Response time of ${name}` : "Response time of all tasks"}
        busy={series.loading}
      >
        {data && <LatencyChart series={data} onZoom={onZoom} height={180} />}
      </Panel>
      <Checks tasks={report.tasks} />
      {task && (
        <Panel title={`Latency of ${name}`}>
          <Ladders response={(call ?? task).response} service={(call ?? task).service} />
        </Panel>
      )}
      {call && (
        <>
          <Panel title="Where its time went">
            <Anatomy anatomy={call.anatomy} />
          </Panel>
          <Panel title="How its calls ended">
            <Endings calls={call.counts} status={call.status} />
          </Panel>
        </>
      )}
      <Panel
        title={name ? `What went wrong in ${name}` : "What went wrong"}
        note="in the part that is shown, warm-up included"
        wide
        busy={errors.loading}
      >
        {errors.problem && <Failed problem={errors.problem} again={errors.reload} />}
        {errors.data && <Wrongs errors={errors.data} />}
      </Panel>
    </div>
  );
}
