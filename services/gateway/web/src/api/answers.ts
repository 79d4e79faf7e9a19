// What the gateway answers beside the generated types: lists, slices, and words to a steered run.

import type { Certificate, Ladder, Latency, Rates, Verdict } from "./_generated/report";
import type { ArrivalCounts, HolderFacts, Raised, StoryLine } from "./_generated/report";

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
}

export interface RunList {
  runs: RunListed[];
  next: string | null;
}

type Column = (number | null)[];

export interface Series {
  run: string;
  tick_us: number;
  bucket_us: number;
  from_us: number[];
  planned: Column;
  started: Column;
  dropped: Column;
  finished: Column;
  errors: Column;
  outcomes: Record<string, Column>;
  percentiles: number[];
  response: Record<string, Column>;
  service: Record<string, Column>;
  total: SeriesTotal;
}

export interface SeriesTotal {
  started: number;
  finished: number;
  errors: number;
  response?: Ladder | null;
  service?: Ladder | null;
  co_factor?: number | null;
}

export interface Heat {
  from_us: number[];
  bounds_us: number[];
  counts: number[][];
}

export interface Told {
  lines: StoryLine[];
  next: number | null;
}

export interface WhatIf {
  verdict: Verdict;
  certificate: Certificate;
  latency: Latency;
  rates: Rates;
  arrivals: ArrivalCounts;
  requests_total: number;
  errors_total: number;
  /** For each threshold, in order, from when on it did not hold any more. */
  broke_at_us: (number | null)[];
}

/** A gate as a plan has it. */
export interface Threshold {
  metric: string;
  operator: string;
  limit: number;
  task?: string | null;
  own?: unknown;
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

/** The agents of a run, each with lists of one value a bucket. */
export interface Attendance {
  run: string;
  bucket_us: number;
  from_us: number[];
  agents: AgentOverTime[];
}

export interface AgentOverTime {
  agent: string;
  cores: number | null;
  version: string | null;
  holders: HolderFacts[];
  started: Column;
  finished: Column;
  cpu_millicores: Column;
  busiest_core_permille: Column;
  stall_us: Column;
  in_flight: Column;
  lag_p99_us: Column;
}

export interface CallErrors {
  call: string;
  finished: number;
  errors: number;
  outcomes: Record<string, number>;
  causes: Record<string, Record<string, number>>;
  status: Record<string, Record<string, number>>;
}

export interface Errors {
  run: string;
  tasks: {
    task: string;
    finished: number;
    errors: number;
    calls: CallErrors[];
    raised: Raised[];
    raised_more: number;
  }[];
}

/** How far the figures of runs are from those of the first; the rest of it is in their reports. */
export interface Comparison {
  differences: { run: string; figure: string; percent: number | null }[];
}
