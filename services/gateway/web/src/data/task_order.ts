// Order and search of tasks and their calls. Pure.

import type { CallReport, TaskReport } from "../api/_generated/report";
import type { Percentiles } from "../api/answers";
import { OUTCOMES, SERVICE_TITLE } from "../format/labels";

type Maybe = number | null | undefined;

export interface Column {
  label: string;
  title?: string;
  of: (one: TaskReport | CallReport) => Maybe;
}

export interface Order {
  column: Column;
  isAscending: boolean;
}

export interface ListedCall {
  call: CallReport;
  /** Its place in the report. */
  place: number;
}

const isTask = (one: TaskReport | CallReport): one is TaskReport => "calls" in one;

const percentile = (label: string, key: keyof Percentiles): Column => ({
  label,
  of: (one) => one.response?.[key],
});

export const COLUMNS: Column[] = [
  {
    label: "arrivals",
    title: "Arrivals that started this task, warm-up included",
    of: (one) => (isTask(one) ? one.arrivals.started : null),
  },
  {
    label: "requests",
    title: "Requests that ended in the measured time",
    of: (one) => (isTask(one) ? one.finished : one.response?.count),
  },
  {
    label: "failed",
    title: "In the measured time; with the last request of a task that raised an error",
    of: (one) => (isTask(one) ? one.errors : failedCalls(one)),
  },
  percentile("p50", "p50_us"),
  percentile("p95", "p95_us"),
  percentile("p99", "p99_us"),
  percentile("max", "max_us"),
  percentile("min", "min_us"),
  percentile("mean", "mean_us"),
  { label: "service p99", title: SERVICE_TITLE, of: (one) => one.service?.p99_us },
];

/** Outcomes of finished requests that failed. */
const FAILED = OUTCOMES.filter((name) => !["ok", "cancelled", "indeterminate"].includes(name));

/** Failed requests of a call in the whole run. */
export function failedCalls(call: CallReport): number {
  return FAILED.reduce((sum, name) => sum + (call.counts.outcomes[name] ?? 0), 0);
}

/** Tasks with a name or a call that has the text, in an order; null: that of the plan. */
export function listedTasks(tasks: TaskReport[], order: Order | null, text: string) {
  const has = (name: string) => name.toLowerCase().includes(text.toLowerCase());
  const found = tasks.map((task, at) => {
    const calls = task.calls.map((call, place) => ({ call, place }));
    const shown = has(task.name) ? calls : calls.filter(({ call }) => has(call.name));
    return { task, at, calls: sorted(shown, order, ({ call }) => call) };
  });
  const listed = found.filter(({ task, calls }) => has(task.name) || calls.length > 0);
  return sorted(listed, order, ({ task }) => task);
}

/** Values that were not measured come last in both directions. */
function sorted<T>(all: T[], order: Order | null, of: (one: T) => TaskReport | CallReport): T[] {
  if (!order) return all;
  const { column, isAscending } = order;
  const value = (one: T) => column.of(of(one)) ?? null;
  return all.toSorted((a, b) => {
    const [left, right] = [value(a), value(b)];
    if (left === null || right === null) return Number(left === null) - Number(right === null);
    return isAscending ? left - right : right - left;
  });
}
