// Per task and call; choosing one narrows every chart of the run to it.

import { look } from "../app/place";
import { Ladders } from "../parts/ladders";
import { LatencyChart } from "../parts/latency_chart";
import { LoadChart } from "../parts/load_chart";
import { Panel } from "../parts/panel";
import { Anatomy, Endings, Said, Tasks } from "../parts/tasks";
import type { Shown } from "./run";

export function TasksTab({ report, series, view, onZoom }: Shown) {
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
      {(task ? [task] : report.tasks)
        .filter((one) => (one.raised?.length ?? 0) > 0 || one.checks)
        .map((one) => (
          <Panel key={one.name} title={`What ${one.name} said`} note="checks, and errors it raised">
            <Said raised={one.raised ?? []} checks={one.checks} />
          </Panel>
        ))}
    </div>
  );
}
