// Thresholds as people write them: which unit, which side passes, how they look as a flag.

import type { ThresholdResult } from "../api/_generated/report";
import { NONE, digits } from "./numbers";

export type Limits = Record<string, string>;

/** The unit of a metric, as it follows a figure. */
export function unit(metric: string): string {
  if (metric.endsWith("_ms")) return " ms";
  if (metric === "achieved_rps") return "/s";
  if (["error_rate", "dropped_rate", "shortfall", "checks"].includes(metric)) return " %";
  return "";
}

/** The metric in the key of a threshold, `browse:p99_ms` or `p99_ms`. */
export function metricOf(key: string): string {
  return key.slice(key.lastIndexOf(":") + 1);
}

export function figure(value: number | null | undefined, metric: string): string {
  return value === null || value === undefined ? NONE : digits(value) + unit(metric);
}

export const OPERATORS = ["<=", ">=", "<", ">"] as const;

/** For reading; what is sent stays as it is written. */
export function sign(operator: string): string {
  return operator.replace("<=", "≤").replace(">=", "≥");
}

/** `"<= 300"` -> its parts; null when it is none. */
export function split(text: string): { operator: string; limit: number } | null {
  const found = /^\s*(<=|>=|<|>)?\s*(\d+(?:\.\d+)?)\s*$/.exec(text);
  if (!found) return null;
  return { operator: found[1] ?? "<=", limit: Number(found[2]) };
}

export function joined(operator: string, limit: number): string {
  return `${operator} ${limit}`;
}

/** What a run was judged by, in the form that a question takes. */
export function limitsOf(results: ThresholdResult[]): Limits {
  return Object.fromEntries(results.map((r) => [r.key, joined(r.operator, r.limit)]));
}

/** The flags of `loadpilot run` that judge the next run like this. */
export function flags(limits: Limits, warmUpUs: number | null): string {
  const gates = Object.entries(limits).map(([key, text]) => {
    const parts = split(text);
    return `--threshold "${key}${parts ? parts.operator + parts.limit : text}"`;
  });
  if (warmUpUs) gates.push(`--warm-up ${warmUpUs / 1e6}s`);
  return gates.join(" ");
}

/** How much room is left to the limit, in percent of it; below 0 it is crossed. */
export function room(result: ThresholdResult): number | null {
  if (result.actual === null || result.actual === undefined || result.limit === 0) return null;
  const way = result.operator.startsWith("<") ? 1 : -1;
  return ((way * (result.limit - result.actual)) / result.limit) * 100;
}
