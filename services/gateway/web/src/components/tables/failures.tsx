// What went wrong, call by call: how it ended, why, which status, and what the scenario raised.

import type { CallErrors, Errors } from "../../api/answers";
import { count, percent } from "../../format/numbers";
import { outcome, plain } from "../../format/labels";
import { Scroll } from "../layout/panel";

interface Wrong {
  task: string;
  call: string;
  outcome: string;
  calls: number;
  of: number;
  why: string[];
}

/** One row per task, call and outcome, the most frequent first. */
export function rows(errors: Errors): Wrong[] {
  return errors.tasks
    .flatMap((task) => task.calls.flatMap((call) => ofCall(task.task, call)))
    .sort((a, b) => b.calls - a.calls);
}

function ofCall(task: string, call: CallErrors): Wrong[] {
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
        ...Object.entries(call.causes[name] ?? {}).map(([why, n]) => `${plain(why)} × ${count(n)}`),
      ],
    }));
}

export function Wrongs({ errors }: { errors: Errors }) {
  const found = rows(errors);
  const raised = errors.tasks.filter((task) => task.raised.length > 0);
  if (found.length === 0 && raised.length === 0) {
    return <p class="quiet">Nothing: every call of this part was ok.</p>;
  }
  return (
    <>
      {found.length > 0 && <Table found={found} />}
      {raised.map((task) => (
        <div key={task.task} class="raised">
          <p class="quiet">
            raised in <code>{task.task}</code>, in the whole run
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
          {task.raised_more > 0 && <p class="quiet">and {count(task.raised_more)} other texts</p>}
        </div>
      ))}
    </>
  );
}

function Table({ found }: { found: Wrong[] }) {
  return (
    <Scroll label="What went wrong">
      <table>
        <thead>
          <tr>
            <th>task, call</th>
            <th>ended</th>
            <th class="n">calls</th>
            <th class="n">of finished</th>
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
              <td class="n">{one.of > 0 ? percent((100 * one.calls) / one.of) : "–"}</td>
              <td>{one.why.join(", ")}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}
