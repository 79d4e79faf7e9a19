// The data of a run in the file of its report: answers of the log, as the command wrote them.

import type { Report } from "../api/_generated/report";
import type { AgentsOverTime, Errors, Heat, Series } from "../api/answers";

export interface RunData {
  /** Without its ticks: `series` has them. */
  report: Report;
  /** Null: the run never started, or the command had no access to its log. */
  answers: Answers | null;
  /** When the file was written, in µs since 1970. */
  written_at: number;
  /** Version of the command. */
  version: string;
}

export interface Answers {
  series: Series;
  heat: Heat;
  errors: Errors;
  agents: AgentsOverTime;
  /** For each threshold when it first failed for good, in µs after the start. */
  first_breach_us: (number | null)[] | null;
}

/** Reads the data of this page. */
export function readRunData(): RunData {
  return JSON.parse(document.getElementById("run-data")!.textContent!) as RunData;
}
