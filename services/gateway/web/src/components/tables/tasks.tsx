// Tables per task and call: counts, outcomes, latency and its phases.

import { useState } from "preact/hooks";
import {
  COLUMNS,
  failedCalls,
  type Column,
  type ListedCall,
  type Order,
  listedTasks,
} from "../../data/task_order";
import { Dot } from "../layout/icons";
import { Scroll } from "../layout/panel";
import { Figure, FigureCell } from "../layout/figures";
import type { CallReport, Report, TaskReport, UserTypeReport } from "../../api/_generated/report";
import type { Percentiles } from "../../api/answers";
import { NOT_MEASURED, count, latency, passedShare, percent } from "../../format/numbers";
import { OUTCOMES, outcome, spaced } from "../../format/labels";

interface TasksProps {
  report: Pick<Report, "types" | "tasks" | "warm_up" | "run">;
  chosen?: { task: string | null; step: string | null };
  /** Called with the selected task and call; absent: nothing can be selected. */
  onChoose?: (task: string | null, step: string | null) => void;
}

const NOTHING = { task: null, step: null };
/** Number of rows from which on a search is offered. */
const SEARCHED_MIN = 10;

export function TaskTable({ report, chosen = NOTHING, onChoose }: TasksProps) {
  const [order, setOrder] = useState<Order | null>(null);
  const [text, setText] = useState("");
  const closedLoop = report.run.users != null;
  const columns = closedLoop ? COLUMNS.slice(0, -1) : COLUMNS;
  const all = report.tasks.reduce((n, task) => n + 1 + task.calls.length, 0);
  return (
    <>
      {all >= SEARCHED_MIN && (
        <input
          type="search"
          class="search"
          placeholder="Task or request"
          aria-label="Search tasks and requests"
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
      )}
      <Scroll label="Tasks and their requests">
        <table class="tasks">
          <thead>
            <tr>
              <th>task, request</th>
              {columns.map((column) => (
                <SortedHead key={column.label} {...{ column, order, setOrder }} />
              ))}
            </tr>
          </thead>
          <tbody>
            {report.types?.map((one, at) => (
              <tr key={one.name}>
                <th scope="row">
                  {one.name} <small>share {one.share}</small>
                </th>
                <TaskCells of={`types.${at}`} {...{ one, closedLoop }} />
              </tr>
            ))}
            {listedTasks(report.tasks, order, text).map((one) => (
              <TaskRows key={one.task.name} {...one} {...{ report, chosen, onChoose }} />
            ))}
          </tbody>
        </table>
      </Scroll>
    </>
  );
}

interface HeadProps {
  column: Column;
  order: Order | null;
  setOrder: (order: Order | null) => void;
}

/** The largest first, then the smallest first, then the order of the plan. */
function SortedHead({ column, order, setOrder }: HeadProps) {
  const sorted = order?.column === column ? order : null;
  const next = !sorted
    ? { column, isAscending: false }
    : sorted.isAscending
      ? null
      : { column, isAscending: true };
  const direction = sorted?.isAscending ? "ascending" : "descending";
  return (
    <th class="n" title={column.title} aria-sort={sorted ? direction : "none"}>
      <button type="button" class="link" onClick={() => setOrder(next)}>
        {column.label}
        {sorted && <span aria-hidden="true"> {sorted.isAscending ? "▾" : "▴"}</span>}
      </button>
    </th>
  );
}

interface RowsProps extends TasksProps {
  task: TaskReport;
  at: number;
  /** Calls to show, with their places in the report. */
  calls: ListedCall[];
  chosen: { task: string | null; step: string | null };
}

function TaskRows({ task, at, calls, report, chosen, onChoose }: RowsProps) {
  const open = chosen.task === task.name;
  const selected = open && chosen.step === null;
  const closedLoop = report.run.users != null;
  const of = `tasks.${at}`;
  return (
    <>
      <tr class={selected ? "task chosen" : "task"}>
        <th scope="row">
          <Choice
            name={task.name}
            selected={selected}
            onChoose={onChoose && (() => onChoose(selected ? null : task.name, null))}
          />
          <small>weight {task.weight}</small>
        </th>
        <TaskCells one={task} {...{ of, closedLoop }} />
      </tr>
      {calls.map(({ call, place }) => {
        const selected = open && chosen.step === call.name;
        return (
          <tr key={call.name} class={selected ? "call chosen" : "call"}>
            <th scope="row">
              <Choice
                name={call.name}
                selected={selected}
                onChoose={onChoose && (() => onChoose(task.name, selected ? null : call.name))}
              />
            </th>
            <td class="n" title="Arrivals are counted for the task" />
            <FigureCell
              of={call.response ? `${of}.calls.${place}.response.count` : undefined}
              text={count(call.response?.count ?? 0)}
            />
            <CallFailedCell call={call} warmUpUs={report.warm_up.warm_up_us} />
            <PercentileCells
              of={`${of}.calls.${place}`}
              response={call.response}
              service={call.service}
              {...{ closedLoop }}
            />
          </tr>
        );
      })}
    </>
  );
}

interface TaskCellsProps {
  of: string;
  one: TaskReport | UserTypeReport;
  closedLoop: boolean;
}

function TaskCells({ of, one, closedLoop }: TaskCellsProps) {
  return (
    <>
      <FigureCell of={`${of}.arrivals.started`} text={count(one.arrivals.started)} />
      <FigureCell of={`${of}.finished`} text={count(one.finished)} />
      <FailedCell of={`${of}.errors`} bad={one.errors} finished={one.finished} />
      <PercentileCells response={one.response} service={one.service} {...{ of, closedLoop }} />
    </>
  );
}

interface ChoiceProps {
  name: string;
  selected: boolean;
  onChoose: (() => void) | undefined;
}

function Choice({ name, selected, onChoose }: ChoiceProps) {
  if (!onChoose) return <>{name}</>;
  return (
    <button type="button" class="link" aria-pressed={selected} onClick={onChoose}>
      {name}
    </button>
  );
}

function FailedCell({ of, bad, finished }: { of?: string; bad: number; finished: number }) {
  const part =
    finished === 0 ? undefined : `${percent((100 * bad) / finished)} of ${count(finished)}`;
  return (
    <td class={bad > 0 ? "n bad" : "n"} title={part}>
      <Figure of={of} text={count(bad)} />
    </td>
  );
}

/** Outcomes of a call cover the whole run: with a warm-up, more than the measured time. */
function CallFailedCell({ call, warmUpUs }: { call: CallReport; warmUpUs: number }) {
  const bad = failedCalls(call);
  if (warmUpUs === 0 || bad === 0) {
    return <FailedCell bad={bad} finished={call.response?.count ?? 0} />;
  }
  const title = `${count(bad)} in the whole run; the part in the warm-up is not known`;
  return (
    <td class="n" title={title}>
      {NOT_MEASURED}
    </td>
  );
}

type Maybe = Percentiles | null | undefined;

interface PercentileCellsProps {
  of: string;
  response: Maybe;
  service: Maybe;
  closedLoop: boolean;
}

const NONE = "No request finished in the measured time";

function PercentileCells({ of, response, service, closedLoop }: PercentileCellsProps) {
  const cell = (key: keyof Percentiles) => (
    <FigureCell
      of={`${of}.response.${key}`}
      text={latency(response?.[key])}
      none={NONE}
      strong={key === "p99_us"}
    />
  );
  return (
    <>
      {cell("p50_us")}
      {cell("p95_us")}
      {cell("p99_us")}
      {cell("max_us")}
      {cell("min_us")}
      {cell("mean_us")}
      {!closedLoop && (
        <FigureCell of={`${of}.service.p99_us`} text={latency(service?.p99_us)} none={NONE} />
      )}
    </>
  );
}

/** Percentiles of each phase of a call. */
export function PhaseTable({ of, anatomy }: { of: string; anatomy: CallReport["anatomy"] }) {
  if (Object.keys(anatomy).length === 0) {
    return <p class="quiet">No phases were recorded for this request.</p>;
  }
  return (
    <Scroll label="Phases">
      <table>
        <PhaseHead title="phase" />
        <tbody>
          <PhaseRows {...{ of, anatomy }} />
        </tbody>
      </table>
    </Scroll>
  );
}

/** The same of all calls. */
export function AnatomyTable({ report }: { report: Pick<Report, "tasks"> }) {
  return (
    <Scroll label="Phases of all requests">
      <table class="tasks">
        <PhaseHead title="request, phase" />
        {report.tasks.flatMap((task, at) =>
          task.calls.map((call, place) => (
            <tbody key={`${at} ${place}`}>
              <tr class="task">
                <th scope="rowgroup" colSpan={5}>
                  {task.name} <small>{call.name}</small>
                </th>
              </tr>
              <PhaseRows of={`tasks.${at}.calls.${place}.anatomy`} anatomy={call.anatomy} />
            </tbody>
          )),
        )}
      </table>
    </Scroll>
  );
}

function PhaseHead({ title }: { title: string }) {
  return (
    <thead>
      <tr>
        <th>{title}</th>
        <th class="n">p50</th>
        <th class="n">p95</th>
        <th class="n">p99</th>
        <th class="n">max</th>
      </tr>
    </thead>
  );
}

function PhaseRows({ of, anatomy }: { of: string; anatomy: CallReport["anatomy"] }) {
  return (
    <>
      {Object.entries(anatomy).map(([name, percentiles]) => (
        <tr key={name} class="call">
          <th scope="row">{spaced(name)}</th>
          {(["p50_us", "p95_us", "p99_us", "max_us"] as const).map((key) => (
            <FigureCell
              key={key}
              of={`${of}.${name}.${key}`}
              text={latency(percentiles[key])}
              strong={key === "p99_us"}
            />
          ))}
        </tr>
      ))}
    </>
  );
}

interface OutcomesProps {
  calls: Report["calls"];
  status: Report["status"];
  /** Path of the two in the report's JSON, with a dot at its end; empty for the run. */
  of?: string;
}

/** Outcomes and causes of the whole run, and status codes of the measured time. */
export function OutcomeTable({ calls, status, of = "" }: OutcomesProps) {
  const ended = OUTCOMES.filter((name) => (calls.outcomes[name] ?? 0) > 0);
  const all = ended.reduce((n, name) => n + (calls.outcomes[name] ?? 0), 0);
  if (all === 0) return <p class="quiet">No request has finished yet.</p>;
  const field = of === "" ? "calls" : `${of}counts`;
  return (
    <div class="outcomes">
      <table>
        <thead>
          <tr>
            <th>outcome</th>
            <th class="n" title="In the whole run, warm-up included">
              requests
            </th>
            <th class="n">share</th>
            <th>cause</th>
          </tr>
        </thead>
        <tbody>
          {ended.map((name) => {
            const n = calls.outcomes[name] ?? 0;
            const causes = Object.entries(calls.causes?.[name] ?? {}).sort((a, b) => b[1] - a[1]);
            return (
              <tr key={name}>
                <th scope="row">
                  <Dot colour={`o-${name}`} />
                  {outcome(name)}
                </th>
                <FigureCell of={`${field}.outcomes.${name}`} text={count(n)} strong />
                <td class="n">{percent((100 * n) / all)}</td>
                <td>{causes.map(([why, n]) => `${spaced(why)} ${count(n)}`).join(", ")}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
      {Object.keys(status).length > 0 && (
        <p class="codes">
          <span>Status codes in the measured time:</span>
          {Object.entries(status).map(([code, n]) => (
            <span key={code}>
              <code>{code}</code> <Figure of={`${of}status.${code}`} text={count(n)} />
            </span>
          ))}
        </p>
      )}
    </div>
  );
}

/** Passed and failed checks of the run and of each task. */
export function CheckTable({ report }: { report: Pick<Report, "tasks" | "checks"> }) {
  const all = { name: "all", checks: report.checks, of: "checks" };
  const tasks = report.tasks
    .map((task, at) => ({ name: task.name, checks: task.checks, of: `tasks.${at}.checks` }))
    .filter(({ checks }) => checks);
  // The checks of the only task are those of the run.
  const rows = tasks.length === 1 ? [{ ...all, name: tasks[0]!.name }] : [...tasks, all];
  return (
    <table>
      <thead>
        <tr>
          <th>task</th>
          <th class="n">passed</th>
          <th class="n">failed</th>
          <th class="n">share passed</th>
        </tr>
      </thead>
      <tbody>
        {rows.map(({ name, checks, of }) => (
          <tr key={of}>
            <th scope="row">{name}</th>
            <FigureCell of={`${of}.passed`} text={count(checks!.passed)} />
            <td class={checks!.failed > 0 ? "n bad" : "n"}>
              <Figure of={`${of}.failed`} text={count(checks!.failed)} />
            </td>
            <td class="n strong">{passedShare(checks!.passed, checks!.failed)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
