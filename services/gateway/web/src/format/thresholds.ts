// Thresholds as text: units, operators, limits and flags of the command.

import type { MetricsReport, ThresholdResult } from "../api/_generated/report";
import { quoted } from "../data/plan_changes";
import { NOT_MEASURED, digits } from "./numbers";

export type Limits = Record<string, string>;

/** The unit of a metric, as a suffix of its value. */
export function unit(metric: string): string {
  if (metric.endsWith("_ms")) return " ms";
  if (metric === "achieved_rps") return "/s";
  if (PERCENTAGES.includes(metric)) return " %";
  return "";
}

const PERCENTAGES = ["error_rate", "dropped_rate", "shortfall", "checks"];

/** The unit of a metric that may be one of the scenario's own, such as `orders.rate`. */
export function unitIn(metric: string, own: MetricsReport | null | undefined): string {
  const dot = metric.lastIndexOf(".");
  if (dot < 0 || metric.slice(dot) !== ".rate") return unit(metric);
  const name = metric.slice(0, dot);
  if (own?.rates?.[name]) return " %";
  return own?.counters?.[name] ? "/s" : "";
}

/** The metric in the key of a threshold, `browse:p99_ms` or `p99_ms`. */
export function metricOf(key: string): string {
  return key.slice(key.lastIndexOf(":") + 1);
}

export function formatValue(value: number | null | undefined, metric: string): string {
  return value === null || value === undefined ? NOT_MEASURED : digits(value) + unit(metric);
}

/** The measured value and the limit; unequal ones never look equal. */
export function formatResult(
  result: ThresholdResult,
  own?: MetricsReport | null,
): { actual: string; limit: string } {
  const suffix = unitIn(metricOf(result.key), own);
  const { actual, limit } = result;
  if (actual === null || actual === undefined) {
    return { actual: NOT_MEASURED, limit: digits(limit) + suffix };
  }
  const same = digits(actual) === digits(limit) && actual !== limit;
  const text = same ? String : digits;
  return { actual: text(actual) + suffix, limit: text(limit) + suffix };
}

export const OPERATORS = ["<=", ">=", "<", ">"] as const;

/** An operator for display; requests keep the ASCII form. */
export function operatorSign(operator: string): string {
  return operator.replace("<=", "≤").replace(">=", "≥");
}

/** `"<= 300"` -> operator and limit; null when invalid. */
export function parseLimit(text: string): { operator: string; limit: number } | null {
  const found = /^\s*(<=|>=|<|>)?\s*(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)\s*$/i.exec(text);
  if (!found) return null;
  return { operator: found[1] ?? "<=", limit: Number(found[2]) };
}

export function formatLimit(operator: string, limit: number): string {
  return `${operator} ${limit}`;
}

/** The thresholds of a run in the form that a what-if request takes. */
export function limitsOfResults(results: ThresholdResult[]): Limits {
  return Object.fromEntries(results.map((r) => [r.key, formatLimit(r.operator, r.limit)]));
}

/** Flags of `loadpilot run` for these thresholds and this warm-up. */
export function thresholdFlags(limits: Limits, warmUpUs: number | null): string {
  const gates = Object.entries(limits).map(([key, text]) => {
    const parts = parseLimit(text);
    return `--threshold ${quoted(key + (parts ? parts.operator + parts.limit : text))}`;
  });
  if (warmUpUs) gates.push(`--warm-up ${warmUpUs / 1e6}s`);
  return gates.join(" ");
}

/** Distance to the limit in percent of the limit; negative when it is missed. */
export function margin(result: ThresholdResult): number | null {
  if (result.actual === null || result.actual === undefined || result.limit === 0) return null;
  const way = result.operator.startsWith("<") ? 1 : -1;
  return ((way * (result.limit - result.actual)) / result.limit) * 100;
}
