// Types of the gateway's answers: those of proto/schema, and those that only the gateway has.

import type { Series as CompleteSeries } from "./_generated/series";

export type { AgentOverTime, Attendance as AgentsOverTime } from "./_generated/attendance";
export type { CallErrors, Errors } from "./_generated/errors";
export type { Ladder as Percentiles } from "./_generated/report";
export type { Heat } from "./_generated/heat";
export type { WhatIfAnswer as WhatIf } from "./_generated/what-if-answer";

type Column = (number | null)[];

/** As the gateway sends it. `upToPresent` replaces values not reported yet by null. */
export type Series = Omit<
  CompleteSeries,
  "started" | "dropped" | "finished" | "errors" | "outcomes" | "metrics"
> & {
  started: Column;
  dropped: Column;
  finished: Column;
  errors: Column;
  outcomes: Record<string, Column>;
  metrics?: SeriesMetrics | null;
};

/** The scenario's own metrics over time, by name; one value a bucket. */
export interface SeriesMetrics {
  counters?: Record<string, Column>;
  rates?: Record<string, Column>;
  trends?: Record<string, Record<"p50" | "p95" | "max", Column>>;
}

/** Verdict of a run and figures of its measured time. */
export interface Outcome {
  verdict: "PASS" | "FAIL" | "VOID" | "STOPPED";
  p99_us: number | null;
  requests_per_sec: number | null;
  errors_total: number;
  error_rate_pct: number | null;
}

export interface RunListed {
  run: string;
  scenario: string;
  target: string;
  state: string;
  ending: string | null;
  created_at: number;
  profile_us: number;
  tags: Record<string, string>;
  log?: string;
  /** Null during the run, and while its log is being read. */
  outcome: Outcome | null;
}

export interface RunList {
  runs: RunListed[];
  next: string | null;
}

export interface Me {
  can_start?: boolean;
  can_steer?: boolean;
  user?: string;
  /** Number of agents that this gateway starts itself; null: a fleet provides them. */
  agents?: number | null;
}

export interface Checked {
  problems: { field: string; rule: string; value: string }[];
  facts: PlanFacts | null;
}

export interface PlanFacts {
  hash: string;
  users: number | null;
  planned: number;
  duration_us: number;
  peak_rps: number;
  /** In the order of the plan's tasks. */
  planned_per_task: number[];
}

/** Differences of figures to the first run. Part of the answer: the reports hold the rest. */
export interface Comparison {
  differences: { run: string; figure: string; percent: number | null }[];
}
