// Per task and call: how often, how it ended, how long it took, and where that time went.

import { Scroll } from "../layout/panel";
import type { Ladder, Report, TaskReport } from "../../api/_generated/report";
import { count, latency, percent } from "../../format/numbers";
import { OUTCOMES, outcome, plain } from "../../format/labels";

interface TasksProps {
  tasks: TaskReport[];
  chosen: { task: string | null; step: string | null };
  onChoose: (task: string | null, step: string | null) => void;
}

export function Tasks({ tasks, chosen, onChoose }: TasksProps) {
  return (
    <Scroll label="Tasks and calls">
      <table class="tasks">
        <thead>
          <tr>
            <th>task, call</th>
            <th class="n">started</th>
            <th class="n">finished</th>
            <th class="n">not ok</th>
            <th class="n">p50</th>
            <th class="n">p95</th>
            <th class="n">p99</th>
            <th class="n">max</th>
            <th class="n" title="Uncorrected: what the target alone took">
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
  const whole = open && chosen.step === null;
  return (
    <>
      <tr class={whole ? "task chosen" : "task"}>
        <th scope="row">
          <button
            type="button"
            class="link"
            aria-pressed={whole}
            onClick={() => onChoose(whole ? null : task.name, null)}
          >
            {task.name}
          </button>
          <small>weight {task.weight}</small>
        </th>
        <td class="n">{count(task.arrivals.started)}</td>
        <td class="n">{count(task.finished)}</td>
        <NotOk bad={task.errors} of={task.finished} />
        <Rungs of={task.response} />
        <td class="n">{latency(task.service?.p99_us)}</td>
      </tr>
      {task.calls.map((call) => {
        const mine = open && chosen.step === call.name;
        const { attempted, outcomes } = call.counts;
        const bad = OUTCOMES.filter((o) => o !== "ok").reduce((n, o) => n + (outcomes[o] ?? 0), 0);
        return (
          <tr key={call.name} class={mine ? "call chosen" : "call"}>
            <th scope="row">
              <button
                type="button"
                class="link"
                aria-pressed={mine}
                onClick={() => onChoose(task.name, mine ? null : call.name)}
              >
                {call.name}
              </button>
            </th>
            <td class="n">{count(attempted)}</td>
            <td class="n">{count(call.response?.count ?? 0)}</td>
            <NotOk bad={bad} of={attempted} />
            <Rungs of={call.response} />
            <td class="n">{latency(call.service?.p99_us)}</td>
          </tr>
        );
      })}
    </>
  );
}

function NotOk({ bad, of }: { bad: number; of: number }) {
  const part = of === 0 ? null : (100 * bad) / of;
  return (
    <td class={bad > 0 ? "n bad" : "n"} title={part === null ? undefined : percent(part)}>
      {count(bad)}
    </td>
  );
}

function Rungs({ of }: { of: Ladder | null | undefined }) {
  return (
    <>
      <td class="n">{latency(of?.p50_us)}</td>
      <td class="n">{latency(of?.p95_us)}</td>
      <td class="n strong">{latency(of?.p99_us)}</td>
      <td class="n">{latency(of?.max_us)}</td>
    </>
  );
}

/** Where the time of a call went, phase by phase. */
export function Anatomy({ anatomy }: { anatomy: Record<string, Ladder> }) {
  const phases = Object.entries(anatomy);
  if (phases.length === 0) return <p class="quiet">This call was not taken apart.</p>;
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
        {phases.map(([name, ladder]) => (
          <tr key={name}>
            <th scope="row">{plain(name)}</th>
            <td class="n">{latency(ladder.p50_us)}</td>
            <td class="n">{latency(ladder.p95_us)}</td>
            <td class="n strong">{latency(ladder.p99_us)}</td>
            <td class="n">{latency(ladder.max_us)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** How calls ended, and what answers came: of a run, or of one call. */
export function Endings({ calls, status }: Pick<Report, "calls" | "status">) {
  const ended = OUTCOMES.filter((name) => (calls.outcomes[name] ?? 0) > 0);
  const whole = ended.reduce((n, name) => n + (calls.outcomes[name] ?? 0), 0);
  if (whole === 0) return <p class="quiet">No call has ended.</p>;
  return (
    <div class="endings">
      <table>
        <tbody>
          {ended.map((name) => {
            const calls_ = calls.outcomes[name] ?? 0;
            const causes = Object.entries(calls.causes?.[name] ?? {});
            return (
              <tr key={name}>
                <th scope="row">
                  <i class={`dot o-${name}`} aria-hidden="true" />
                  {outcome(name)}
                </th>
                <td class="n strong">{count(calls_)}</td>
                <td class="n">{percent((100 * calls_) / whole)}</td>
                <td>{causes.map(([why, n]) => `${plain(why)} ${count(n)}`).join(", ")}</td>
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

/** What the scenario's checks said of answers, where it has any. */
export function Checks({ tasks }: { tasks: TaskReport[] }) {
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
