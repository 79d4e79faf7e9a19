// The changes of the start form to a plan, and the requests with them. A plan stays the text that
// the gateway sent: parsing it as JSON here would round its numbers.

import type { Threshold } from "../api/answers";

/** Fields as people write them; the gateway reads and checks them. Absent: as in the plan. */
export interface Changes {
  target?: string;
  rate?: string;
  duration?: string;
  users?: string;
  warm_up?: string;
  agents?: string;
  min_agents?: string;
  wait?: string;
  seed?: string;
  thresholds?: Threshold[];
}

/** Where the plan comes from. */
export type Source = { run: string } | { text: string };

/** The body of a request to change a plan; an empty field is as in the plan. */
export function adjustBody(source: Source, changes: Changes): string {
  const { thresholds: changed, ...texts } = changes;
  const written = Object.entries(texts).filter(([, text]) => text.trim() !== "");
  const thresholds = changed?.map(({ key, operator, limit }) => ({
    key,
    limit: `${operator} ${limit}`,
  }));
  const rest = { ...Object.fromEntries(written), ...(thresholds ? { thresholds } : {}) };
  if ("run" in source) return JSON.stringify({ run: source.run, ...rest });
  return withPlan(source.text, rest);
}

interface Startable {
  plan: string;
  agents: object;
  seed: number | null;
}

/** The body of a request for a run. */
export function startBody(
  { plan, agents, seed }: Startable,
  secrets: Record<string, string>,
  bodies: Record<string, string>,
): string {
  return withPlan(plan, {
    agents,
    ...(seed === null ? {} : { seed }),
    ...(Object.keys(secrets).length > 0 ? { secrets } : {}),
    ...(Object.keys(bodies).length > 0 ? { bodies } : {}),
  });
}

function withPlan(plan: string, rest: object): string {
  const more = JSON.stringify(rest).slice(1);
  return `{"plan":${plan}${more === "}" ? "" : ","}${more}`;
}

/** Why a text is no JSON object, with the position; null if it is one. */
export function jsonProblem(text: string): string | null {
  try {
    const found = JSON.parse(text) as unknown;
    const isObject = typeof found === "object" && found !== null && !Array.isArray(found);
    return isObject ? null : "must be a JSON object: a plan";
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** The metric and the task in the key of a threshold; no task: the whole run. */
export function splitKey(key: string): { task: string; metric: string } {
  const at = key.lastIndexOf(":");
  return { task: at < 0 ? "" : key.slice(0, at), metric: key.slice(at + 1) };
}

export function joinKey(task: string, metric: string): string {
  return task === "" ? metric : `${task}:${metric}`;
}

/** The command that starts a scenario which a page cannot start. */
export function runCommand(file: string | null, scenario: string, target: string): string {
  const words = ["loadpilot", "run", file ?? "FILE", "--scenario", scenario, "--target", target];
  return words.map(quoted).join(" ");
}

/** A word of a shell's command: in single quotes, unless it needs none. */
export function quoted(word: string): string {
  if (/^[\w@%+=:,./-]+$/.test(word)) return word;
  return `'${word.replaceAll("'", `'\\''`)}'`;
}
