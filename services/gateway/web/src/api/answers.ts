// Types of the gateway's answers: those of proto/schema, and those that only the gateway has.

import type { Comparison } from "./_generated/comparison";
import type { Series as CompleteSeries } from "./_generated/series";
import type { FieldProblem } from "./http";

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

export type VerdictWord = "PASS" | "FAIL" | "VOID" | "STOPPED";
export type Quality = "VALID" | "DEGRADED" | "INVALID";

/** The scenario's own metrics over time, by name; one value a bucket. */
export interface SeriesMetrics {
  counters?: Record<string, Column>;
  rates?: Record<string, Column>;
  trends?: Record<string, Record<"p50" | "p95" | "max", Column>>;
}

/** Verdict of a run and figures of its measured time. */
export interface Outcome {
  verdict: VerdictWord;
  p99_us: number | null;
  requests_per_sec: number | null;
  errors_total: number;
  error_rate_pct: number | null;
  /** Grade of the certificate. */
  quality: Quality;
  /** Evidence for the grade; null when it is VALID. */
  quality_reason: string | null;
}

/** One run of a trend. */
export interface TrendPoint {
  p99_us: number;
  verdict: VerdictWord;
  quality: Quality;
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
  /** Number of notes. */
  notes?: number;
  /** Whether it is marked as a baseline. */
  is_baseline?: boolean;
  /** Whether it has no ending and no process is left that could end it. */
  is_killed?: boolean;
  log?: string;
  /** Null during the run, and while its log is being read. */
  outcome: Outcome | null;
  /** The last ended runs of its scenario, oldest first. */
  trend: TrendPoint[];
}

export interface RunList {
  runs: RunListed[];
  next: string | null;
  /** Number of ended runs without an outcome yet. */
  unread: number;
  /** Number of runs whose log could not be read. */
  unreadable: number;
}

export interface Me {
  can_start?: boolean;
  can_steer?: boolean;
  can_halt?: boolean;
  user?: string;
  /** Empty where there is one tenant without a name. */
  tenant?: string;
  role?: "viewer" | "runner" | "admin";
  /** Id of the caller's key; null without one. */
  key?: string | null;
  /** Number of agents that this gateway starts itself; null: a fleet provides them. */
  agents?: number | null;
}

/** A scenario with its newest run. */
export interface PastScenario {
  scenario: string;
  run: string;
  created_at: number;
  verdict: VerdictWord | null;
}

/** A scenario file of the directory of `loadpilot ui`. */
export interface ScenarioFile {
  file: string;
  scenarios: string[];
  /** Those that run together when none is chosen. */
  types: string[];
}

/** Scenarios that can be started. */
export interface Scenarios {
  past: PastScenario[];
  /** Files of the directory of `loadpilot ui`; null on a fleet. */
  files: ScenarioFile[] | null;
}

export interface CompiledFile {
  plan: string;
  /** Base64, by the SHA-256 in the plan. */
  bodies: Record<string, string>;
  /** Hooks that only the command can play. */
  hooks: string[];
}

/** A threshold as the form shows it. */
export interface Threshold {
  key: string;
  operator: string;
  limit: string;
}

/** The settings of a plan as people write them. */
export interface Form {
  scenario: string;
  target: string;
  /** Null in a closed loop. */
  rate: string | null;
  users: number | null;
  duration: string;
  warm_up: string;
  thresholds: Threshold[];
  metrics: { key: string; operator: string }[];
  tasks: string[];
  secrets: string[];
  /** Files and bodies that are stored beside the plan. */
  objects: { sha256: string; bytes: number }[];
  /** Whether its users were prepared before the run, each for one use. */
  prepared: boolean;
}

/** A changed plan and its problems. */
export interface Adjusted {
  plan: string | null;
  agents: { want: number; min: number; wait_us: number } | null;
  seed: number | null;
  problems: FieldProblem[];
  facts: PlanFacts | null;
  form: Form | null;
  played_by_command: boolean;
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

/** Runs beside their baseline, the first one. */
export interface Comparisons {
  baseline: string;
  comparisons: Comparison[];
}
