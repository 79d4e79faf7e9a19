// Failed calls by task, call and outcome with status and cause, and errors raised by the scenario.

import type { CallErrors, Errors } from "../../api/answers";
import { NOT_MEASURED, count, percent } from "../../format/numbers";
import { outcome, spaced } from "../../format/labels";
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
  if (found.length === 0 && raised.length === 0) {
    return <p class="quiet">No failed calls in the selected part.</p>;
  }
  return (
    <>
      {found.length > 0 && <Table found={found} />}
      {raised.map((task) => (
        <div key={task.task} class="raised">
          <p class="quiet">
            errors raised in <code>{task.task}</code>, whole run
          </p>
          <ul>
            {task.raised.map((one, i) => (
              <li key={i}>
                <b>{count(one.count)}×</b> <small>{one.by}</small> <code>{one.text}</code>
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

function Table({ found }: { found: Failure[] }) {
  return (
    <Scroll label="Failed calls">
      <table>
        <thead>
          <tr>
            <th>task, call</th>
            <th>outcome</th>
            <th class="n">calls</th>
            <th class="n">% of finished</th>
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
                <i class={`dot o-${one.outcome}`} aria-hidden="true" />
                {outcome(one.outcome)}
              </td>
              <td class="n strong">{count(one.calls)}</td>
              <td class="n">{one.of > 0 ? percent((100 * one.calls) / one.of) : NOT_MEASURED}</td>
              <td>{one.why.join(", ")}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}
