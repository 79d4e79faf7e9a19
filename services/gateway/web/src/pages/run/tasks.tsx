// Tasks and calls; a selected one filters all charts of the run.

import type { Errors } from "../../api/answers";
import { useResource } from "../../api/resource";
import { changeView } from "../../app/navigation";
import { PercentileTable } from "../../components/tables/percentiles";
import { LatencyChart } from "../../components/charts/latency_chart";
import { LoadChart } from "../../components/charts/load_chart";
import { Failed, Panel } from "../../components/layout/panel";
import { PhaseTable, CheckSummary, OutcomeTable, TaskTable } from "../../components/tables/tasks";
import { FailureTable } from "../../components/tables/failures";
import type { TabProps } from "./tab";

export function TasksTab({ run, report, series, view, slice, every, onZoom }: TabProps) {
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
        note="select one to filter all charts; latency is of the measured time"
        wide
      >
        <TaskTable
          tasks={report.tasks}
          chosen={{ task: view.task, step: view.step }}
          onChoose={(to, step) => changeView({ task: to, step })}
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
      <CheckSummary tasks={report.tasks} />
      {task && (
        <Panel title={`Latency of ${name}`}>
          <PercentileTable response={(call ?? task).response} service={(call ?? task).service} />
        </Panel>
      )}
      {call && (
        <>
          <Panel title="Phases">
            <PhaseTable anatomy={call.anatomy} />
          </Panel>
          <Panel title="Outcomes">
            <OutcomeTable calls={call.counts} status={call.status} />
          </Panel>
        </>
      )}
      <Panel
        title={name ? `Failures of ${name}` : "Failures"}
        note="of the selected part, including warm-up"
        wide
        busy={errors.loading}
      >
        {errors.problem && !series.problem && (
          <Failed problem={errors.problem} again={errors.reload} />
        )}
        {errors.data && <FailureTable errors={errors.data} />}
      </Panel>
    </div>
  );
}
