// The scenario's own metrics, of the run and of each task: counters, trends and rates.

import type { MetricsReport, Report } from "../../api/_generated/report";
import { count, percent, plain } from "../../format/numbers";
import { FigureCell } from "../layout/figures";
import { Scroll } from "../layout/panel";

interface Part {
  /** Name of the task; null: all tasks. */
  task: string | null;
  /** Path of the metrics in the report's JSON. */
  of: string;
  metrics: MetricsReport;
}

type Kind = "counters" | "trends" | "rates";

/** A metric of the run, and below it that of each task if several tasks have it. */
interface Row<T> {
  name: string;
  task: string | null;
  of: string;
  value: T;
}

export function partsOf(report: Pick<Report, "tasks" | "metrics">): Part[] {
  const tasks = report.tasks.flatMap(({ name, metrics }, at): Part[] =>
    metrics ? [{ task: name, of: `tasks.${at}.metrics`, metrics }] : [],
  );
  if (!report.metrics) return tasks;
  return [{ task: null, of: "metrics", metrics: report.metrics }, ...tasks];
}

function rowsOf<K extends Kind>(
  parts: Part[],
  kind: K,
): Row<NonNullable<MetricsReport[K]>[string]>[] {
  const [all, ...tasks] = parts;
  return Object.keys(all?.metrics[kind] ?? {}).flatMap((name) => {
    const having = tasks.filter((part) => part.metrics[kind]?.[name] !== undefined);
    const shown = having.length > 1 ? [all!, ...having] : [all!];
    return shown.map((part) => ({
      name,
      task: part.task,
      of: `${part.of}.${kind}.${name}`,
      value: part.metrics[kind]![name]! as NonNullable<MetricsReport[K]>[string],
    }));
  });
}

function Name({ row }: { row: Row<unknown> }) {
  return <th scope="row">{row.task === null ? row.name : <small>{row.task}</small>}</th>;
}

const nameOfRow = (row: Row<unknown>) => (row.task === null ? "" : "call");

export function CounterTable({ parts }: { parts: Part[] }) {
  return (
    <table class="tasks">
      <thead>
        <tr>
          <th>counter</th>
          <th class="n">sum</th>
          <th class="n">per second</th>
        </tr>
      </thead>
      <tbody>
        {rowsOf(parts, "counters").map((row) => (
          <tr key={row.of} class={nameOfRow(row)}>
            <Name row={row} />
            <FigureCell of={`${row.of}.count`} text={plain(row.value.count)} strong />
            <FigureCell of={`${row.of}.rate`} text={`${plain(row.value.rate)}/s`} />
          </tr>
        ))}
      </tbody>
    </table>
  );
}

export function RateTable({ parts }: { parts: Part[] }) {
  return (
    <table class="tasks">
      <thead>
        <tr>
          <th>rate</th>
          <th class="n">values</th>
          <th class="n">true</th>
          <th class="n">share true</th>
        </tr>
      </thead>
      <tbody>
        {rowsOf(parts, "rates").map((row) => (
          <tr key={row.of} class={nameOfRow(row)}>
            <Name row={row} />
            <FigureCell of={`${row.of}.count`} text={count(row.value.count)} />
            <FigureCell of={`${row.of}.trues`} text={count(row.value.trues)} />
            <FigureCell of={`${row.of}.rate`} text={percent(row.value.rate)} strong />
          </tr>
        ))}
      </tbody>
    </table>
  );
}

const TREND = ["p50", "p90", "p95", "p99", "max", "min", "mean"] as const;

export function TrendTable({ parts }: { parts: Part[] }) {
  return (
    <Scroll label="Trends">
      <table class="tasks">
        <thead>
          <tr>
            <th>trend</th>
            <th class="n">values</th>
            {TREND.map((name) => (
              <th key={name} class="n">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rowsOf(parts, "trends").map((row) => (
            <tr key={row.of} class={nameOfRow(row)}>
              <Name row={row} />
              <FigureCell of={`${row.of}.count`} text={count(row.value.count)} />
              {TREND.map((name) => (
                <FigureCell
                  key={name}
                  of={`${row.of}.${name}`}
                  text={plain(row.value[name])}
                  strong={name === "p95"}
                />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}
