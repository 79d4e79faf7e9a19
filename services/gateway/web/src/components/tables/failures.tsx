// Failed requests by task, call and outcome with status and cause, and errors of the scenario.

import type { Raised, TaskRaises } from "../../api/_generated/report";
import type { CallErrors, Errors } from "../../api/answers";
import { NOT_MEASURED, count, percent } from "../../format/numbers";
import { outcome, raisedBy, spaced } from "../../format/labels";
import { Dot } from "../layout/icons";
import { Scroll } from "../layout/panel";

interface Failure {
  task: string;
  call: string;
  outcome: string;
  calls: number;
  of: number;
  why: string[];
}

/** One row per task, call and outcome, the most frequent first. */
export function rows(errors: Errors): Failure[] {
  return errors.tasks
    .flatMap((task) => task.calls.flatMap((call) => ofCall(task.task, call)))
    .sort((a, b) => b.calls - a.calls);
}

function ofCall(task: string, call: CallErrors): Failure[] {
  return Object.entries(call.outcomes)
    .filter(([name, calls]) => name !== "ok" && calls > 0)
    .map(([name, calls]) => ({
      task,
      call: call.call,
      outcome: name,
      calls,
      of: call.finished,
      why: [
        ...Object.entries(call.status[name] ?? {}).map(([code, n]) => `${code} × ${count(n)}`),
        ...Object.entries(call.causes[name] ?? {}).map(
          ([why, n]) => `${spaced(why)} × ${count(n)}`,
        ),
      ],
    }));
}

export function FailureTable({ errors }: { errors: Errors }) {
  const found = rows(errors);
  const raised = errors.tasks.filter((task) => task.raised.length > 0);
  const raises = errors.tasks.filter((task) => task.task_raises);
  if (found.length === 0 && raised.length === 0 && raises.length === 0) {
    return <p class="quiet">No failed requests in the selected part.</p>;
  }
  return (
    <>
      {found.length > 0 && <Table found={found} />}
      {raises.map((task) => (
        <p key={task.task}>
          <code>{task.task}</code>: {raisesText(task.task_raises!)}
        </p>
      ))}
      {raised.map((task) => (
        <div key={task.task} class="raised">
          <p class="quiet">
            errors raised in <code>{task.task}</code>, whole run
          </p>
          <ul>
            {task.raised.map((one, i) => (
              <li key={i}>
                <b>{count(one.count)}×</b> <Cause raised={one} />
                {one.trace && (
                  <details>
                    <summary>traceback</summary>
                    <pre>{one.trace}</pre>
                  </details>
                )}
              </li>
            ))}
          </ul>
          {task.raised_more > 0 && <p class="quiet">and {count(task.raised_more)} other errors</p>}
        </div>
      ))}
    </>
  );
}

/** How many tasks raised an error, and which of them count as failed requests. */
export function raisesText(raises: TaskRaises): string {
  const { after_ok: ok = 0, after_failed: failed = 0, without_call: none = 0 } = raises;
  const parts = [
    ok > 0 ? `${count(ok)} after an ok request, which counts as failed` : "",
    failed > 0 ? `${count(failed)} after a failed request, counted once` : "",
    none > 0 ? `${count(none)} without a request, each counts as one that failed` : "",
  ].filter((part) => part !== "");
  return `${count(ok + failed + none)} tasks raised an error: ${parts.join("; ")}`;
}

function Cause({ raised }: { raised: Raised }) {
  return (
    <>
      <small>{raisedBy(raised.by)}</small> <code>{raised.text}</code>
    </>
  );
}

function Table({ found }: { found: Failure[] }) {
  return (
    <Scroll label="Failed requests">
      <table>
        <thead>
          <tr>
            <th>task, request</th>
            <th>outcome</th>
            <th class="n">requests</th>
            <th class="n">share of finished</th>
            <th>status, cause</th>
          </tr>
        </thead>
        <tbody>
          {found.map((one) => (
            <tr key={`${one.task} ${one.call} ${one.outcome}`}>
              <th scope="row">
                {one.task} <small>{one.call}</small>
              </th>
              <td>
                <Dot colour={`o-${one.outcome}`} />
                {outcome(one.outcome)}
              </td>
              <td class="n strong">{count(one.calls)}</td>
              <td class="n" title={one.of > 0 ? undefined : "No request has finished"}>
                {one.of > 0 ? percent((100 * one.calls) / one.of) : NOT_MEASURED}
              </td>
              <td>{one.why.join(", ")}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}
