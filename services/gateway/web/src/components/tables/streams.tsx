// Streamed responses: tokens, time to the first token, gaps between tokens.

import type { Report } from "../../api/_generated/report";
import { count, latency } from "../../format/numbers";
import { FigureCell } from "../layout/figures";
import { Scroll } from "../layout/panel";

const FIRST = ["p50_us", "p95_us", "p99_us"] as const;
const GAP = ["p50_us", "p95_us", "p99_us", "max_us"] as const;
const NO_FIRST = "No response had a token";
const NO_GAP = "No response had two tokens";

export function StreamTable({ report }: { report: Pick<Report, "tasks" | "streams"> }) {
  const all = { name: "all", streams: report.streams, of: "streams" };
  const tasks = report.tasks
    .map((task, at) => ({ name: task.name, streams: task.streams, of: `tasks.${at}.streams` }))
    .filter(({ streams }) => streams);
  // The figures of the only task are those of the run.
  const rows = tasks.length === 1 ? [{ ...all, name: tasks[0]!.name }] : [...tasks, all];
  return (
    <Scroll label="Streamed responses">
      <table class="streams">
        <thead>
          <tr>
            <th>task</th>
            <th class="n">tokens</th>
            {FIRST.map((key) => (
              <th key={key} class="n">
                first token {key.slice(0, -3)}
              </th>
            ))}
            {GAP.map((key) => (
              <th key={key} class="n">
                gap {key.slice(0, -3)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ name, streams, of }) => (
            <tr key={of}>
              <th scope="row">{name}</th>
              <FigureCell of={`${of}.tokens`} text={count(streams?.tokens)} />
              {FIRST.map((key) => (
                <FigureCell
                  key={key}
                  of={`${of}.first_token.${key}`}
                  text={latency(streams?.first_token?.[key])}
                  none={NO_FIRST}
                  strong={key === "p95_us"}
                />
              ))}
              {GAP.map((key) => (
                <FigureCell
                  key={key}
                  of={`${of}.token_gap.${key}`}
                  text={latency(streams?.token_gap?.[key])}
                  none={NO_GAP}
                  strong={key === "p95_us"}
                />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}
