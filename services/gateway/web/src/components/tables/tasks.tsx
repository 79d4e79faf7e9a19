// Tables per task and call: counts, outcomes, latency and its phases.

import { Scroll } from "../layout/panel";
import type { Report, TaskReport } from "../../api/_generated/report";
import type { Percentiles } from "../../api/answers";
import { count, latency, percent } from "../../format/numbers";
import { OUTCOMES, outcome, spaced } from "../../format/labels";

interface TasksProps {
  tasks: TaskReport[];
  chosen: { task: string | null; step: string | null };
  onChoose: (task: string | null, step: string | null) => void;
}

export function TaskTable({ tasks, chosen, onChoose }: TasksProps) {
  return (
    <Scroll label="Tasks and calls">
      <table class="tasks">
        <thead>
          <tr>
            <th>task, call</th>
            <th class="n">started</th>
            <th class="n">finished</th>
            <th class="n">failed</th>
            <th class="n">p50</th>
            <th class="n">p95</th>
            <th class="n">p99</th>
            <th class="n">max</th>
            <th class="n" title="Uncorrected: time from dispatch to the end of the call">
              service p99
            </th>
          </tr>
        </thead>
        <tbody>
          {tasks.map((task) => (
            <TaskRows key={task.name} {...{ task, chosen, onChoose }} />
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

interface RowsProps extends Omit<TasksProps, "tasks"> {
  task: TaskReport;
}

function TaskRows({ task, chosen, onChoose }: RowsProps) {
  const open = chosen.task === task.name;
  const selected = open && chosen.step === null;
  return (
    <>
      <tr class={selected ? "task chosen" : "task"}>
        <th scope="row">
          <button
            type="button"
            class="link"
            aria-pressed={selected}
            onClick={() => onChoose(selected ? null : task.name, null)}
          >
            {task.name}
          </button>
          <small>weight {task.weight}</small>
        </th>
        <td class="n">{count(task.arrivals.started)}</td>
        <td class="n">{count(task.finished)}</td>
        <FailedCell bad={task.errors} of={task.finished} />
        <PercentileCells of={task.response} />
        <td class="n">{latency(task.service?.p99_us)}</td>
      </tr>
      {task.calls.map((call) => {
        const selected = open && chosen.step === call.name;
        const { attempted, outcomes } = call.counts;
        const bad = OUTCOMES.filter((o) => o !== "ok").reduce((n, o) => n + (outcomes[o] ?? 0), 0);
        return (
          <tr key={call.name} class={selected ? "call chosen" : "call"}>
            <th scope="row">
              <button
                type="button"
                class="link"
                aria-pressed={selected}
                onClick={() => onChoose(task.name, selected ? null : call.name)}
              >
                {call.name}
              </button>
            </th>
            <td class="n">{count(attempted)}</td>
            <td class="n">{count(call.response?.count ?? 0)}</td>
            <FailedCell bad={bad} of={attempted} />
            <PercentileCells of={call.response} />
            <td class="n">{latency(call.service?.p99_us)}</td>
          </tr>
        );
      })}
    </>
  );
}

function FailedCell({ bad, of }: { bad: number; of: number }) {
  const part = of === 0 ? null : (100 * bad) / of;
  return (
    <td class={bad > 0 ? "n bad" : "n"} title={part === null ? undefined : percent(part)}>
      {count(bad)}
    </td>
  );
}

function PercentileCells({ of }: { of: Percentiles | null | undefined }) {
  return (
    <>
      <td class="n">{latency(of?.p50_us)}</td>
      <td class="n">{latency(of?.p95_us)}</td>
      <td class="n strong">{latency(of?.p99_us)}</td>
      <td class="n">{latency(of?.max_us)}</td>
    </>
  );
}

/** Percentiles of each phase of a call. */
export function PhaseTable({ anatomy }: { anatomy: Record<string, Percentiles> }) {
  const phases = Object.entries(anatomy);
  if (phases.length === 0) return <p class="quiet">No phases were recorded for this call.</p>;
  return (
    <table>
      <thead>
        <tr>
          <th>phase</th>
          <th class="n">p50</th>
          <th class="n">p95</th>
          <th class="n">p99</th>
          <th class="n">max</th>
        </tr>
      </thead>
      <tbody>
        {phases.map(([name, percentiles]) => (
          <tr key={name}>
            <th scope="row">{spaced(name)}</th>
            <td class="n">{latency(percentiles.p50_us)}</td>
            <td class="n">{latency(percentiles.p95_us)}</td>
            <td class="n strong">{latency(percentiles.p99_us)}</td>
            <td class="n">{latency(percentiles.max_us)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Outcomes, causes and status codes of a run or of one call. */
export function OutcomeTable({ calls, status }: Pick<Report, "calls" | "status">) {
  const ended = OUTCOMES.filter((name) => (calls.outcomes[name] ?? 0) > 0);
  const selected = ended.reduce((n, name) => n + (calls.outcomes[name] ?? 0), 0);
  if (selected === 0) return <p class="quiet">No call has finished yet.</p>;
  return (
    <div class="outcomes">
      <table>
        <tbody>
          {ended.map((name) => {
            const n = calls.outcomes[name] ?? 0;
            const causes = Object.entries(calls.causes?.[name] ?? {});
            return (
              <tr key={name}>
                <th scope="row">
                  <i class={`dot o-${name}`} aria-hidden="true" />
                  {outcome(name)}
                </th>
                <td class="n strong">{count(n)}</td>
                <td class="n">{percent((100 * n) / selected)}</td>
                <td>{causes.map(([why, n]) => `${spaced(why)} ${count(n)}`).join(", ")}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
      {Object.keys(status).length > 0 && (
        <p class="codes">
          {Object.entries(status).map(([code, n]) => (
            <span key={code}>
              <code>{code}</code> {count(n)}
            </span>
          ))}
        </p>
      )}
    </div>
  );
}

/** Passed and failed checks per task; nothing for a scenario without checks. */
export function CheckSummary({ tasks }: { tasks: TaskReport[] }) {
  const checked = tasks.filter((task) => task.checks);
  if (checked.length === 0) return null;
  return (
    <p class="quiet wide">
      Checks:{" "}
      {checked
        .map(({ name, checks }) => {
          const failed = checks!.failed > 0 ? `, ${count(checks!.failed)} failed` : "";
          return `${name} ${count(checks!.passed)} passed${failed}`;
        })
        .join("; ")}
    </p>
  );
}
