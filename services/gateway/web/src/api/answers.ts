// What the gateway answers: the types of proto/schema, and those of its own lists and words.

import type { Series as Told } from "./_generated/series";

export type { AgentOverTime, Attendance } from "./_generated/attendance";
export type { CallErrors, Errors } from "./_generated/errors";
export type { Heat } from "./_generated/heat";
export type { WhatIfAnswer as WhatIf } from "./_generated/what-if-answer";

type Column = (number | null)[];

/** As the gateway tells it; of a run that goes on, what is not told yet is null (`soFar`). */
export type Series = Omit<Told, "started" | "dropped" | "finished" | "errors" | "outcomes"> & {
  started: Column;
  dropped: Column;
  finished: Column;
  errors: Column;
  outcomes: Record<string, Column>;
};

/** What became of a run; figures of its measured time. */
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
  /** Null while it goes on, and while its log is being read. */
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
  /** Agents that this gateway keeps itself; null: those of a fleet. */
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

/** How far the figures of runs are from those of the first; the rest of it is in their reports. */
export interface Comparison {
  differences: { run: string; figure: string; percent: number | null }[];
}
