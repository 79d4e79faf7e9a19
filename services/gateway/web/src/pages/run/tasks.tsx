// Tasks and calls; a selected one filters all charts of the run.

import type { Errors } from "../../api/answers";
import { useResource } from "../../api/resource";
import { changeView } from "../../app/navigation";
import { PercentileTable } from "../../components/tables/percentiles";
import { LatencyChart } from "../../components/charts/latency_chart";
import { LoadChart } from "../../components/charts/load_chart";
import { Failed, Panel } from "../../components/layout/panel";
import { CheckTable, OutcomeTable, PhaseTable, TaskTable } from "../../components/tables/tasks";
import { ExchangeList } from "../../components/tables/exchanges";
import { partText } from "../../data/time_range";
import { FailureExamples } from "../../components/tables/failure_examples";
import { FailureTable } from "../../components/tables/failures";
import type { TabProps } from "./tab";

export function TasksTab({ run, report, series, view, slice, every, over, onZoom }: TabProps) {
  const path = `/runs/${encodeURIComponent(run)}/errors${slice}`;
  const errors = useResource<Errors>(path, { every });
  const at = report.tasks.findIndex((one) => one.name === view.task);
  const task = report.tasks[at];
  const place = task?.calls.findIndex((one) => one.name === view.step) ?? -1;
  const call = task?.calls[place] ?? null;
  const of = call ? `tasks.${at}.calls.${place}` : `tasks.${at}`;
  const closedLoop = report.run.users != null;
  const part = partText(view, over);
  const name = call ? `${task!.name} / ${call.name}` : task?.name;
  const data = series.data;
  return (
    <div class="grid">
      <Panel
        title="Tasks and their requests"
        note={`of ${part}, without the warm-up; select one to filter all charts`}
        wide
      >
        <TaskTable
          report={report}
          chosen={{ task: view.task, step: view.step }}
          onChoose={(to, step) => changeView({ task: to, step })}
        />
      </Panel>
      <Panel title={name ? `Load of ${name}` : "Load of all tasks"} busy={series.loading}>
        {data && <LoadChart series={data} onZoom={onZoom} height={180} closedLoop={closedLoop} />}
      </Panel>
      <Panel
        title={name ? `Response time of ${name}` : "Response time of all tasks"}
        busy={series.loading}
      >
        {data && <LatencyChart series={data} onZoom={onZoom} height={180} />}
      </Panel>
      {report.checks && (
        <Panel title="Checks" note={`of ${part}`}>
          <CheckTable report={report} />
        </Panel>
      )}
      {task && (
        <Panel title={`Latency of ${name}`} note={`of ${part}`}>
          <PercentileTable
            of={of}
            response={(call ?? task).response}
            service={(call ?? task).service}
            closedLoop={closedLoop}
          />
        </Panel>
      )}
      {call && (
        <>
          <Panel title="Phases" note={`of ${part}`}>
            <PhaseTable of={`${of}.anatomy`} anatomy={call.anatomy} />
          </Panel>
          <Panel title="Outcomes">
            <OutcomeTable of={`${of}.`} calls={call.counts} status={call.status} />
          </Panel>
        </>
      )}
      <Panel
        title={name ? `Failed requests of ${name}` : "Failed requests"}
        note="of the selected part, warm-up included"
        wide
        busy={errors.loading}
      >
        {errors.problem && !series.problem && (
          <Failed problem={errors.problem} again={errors.reload} />
        )}
        {errors.data && <FailureTable errors={errors.data} />}
      </Panel>
      {(errors.data?.examples?.length ?? 0) > 0 && (
        <Panel title="Examples of failed requests" note="the first ones; secrets are masked" wide>
          <FailureExamples examples={errors.data!.examples} />
        </Panel>
      )}
      {(report.exchanges?.length ?? 0) > 0 && (
        <Panel title="First exchanges" note="of --debug-requests, heads only" wide>
          <ExchangeList report={report} />
        </Panel>
      )}
    </div>
  );
}
