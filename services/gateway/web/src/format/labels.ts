// The product's words, and how good or bad each is. Must never hold text that came from a target.

export type Tone = "good" | "warn" | "bad" | "plain" | "busy";

const STATES: Record<string, [string, Tone]> = {
  requested: ["requested", "busy"],
  refused: ["refused", "bad"],
  gathering: ["waiting for agents", "busy"],
  preparing: ["preparing", "busy"],
  running: ["running", "busy"],
  stopping: ["stopping", "busy"],
  sealed: ["over", "plain"],
};

const ENDINGS: Record<string, [string, Tone]> = {
  completed: ["completed", "plain"],
  stopped: ["stopped", "plain"],
  abandoned: ["abandoned", "bad"],
  failed: ["failed", "bad"],
  aborted: ["aborted", "bad"],
  log_full: ["log full", "bad"],
};

/** Where a run stands, and once it is over how it ended. */
export function standing(state: string, ending?: string | null): { text: string; tone: Tone } {
  const found = (ending && ENDINGS[ending]) || STATES[state];
  return found ? { text: found[0], tone: found[1] } : { text: ending ?? state, tone: "plain" };
}

export function isOver(state: string): boolean {
  return state === "sealed" || state === "refused";
}

export const OUTCOMES = [
  "ok",
  "http_4xx",
  "http_5xx",
  "check_failed",
  "connect",
  "tls",
  "timeout",
  "io",
  "local",
  "cancelled",
  "indeterminate",
] as const;

const OUTCOME_WORDS: Record<string, string> = {
  ok: "ok",
  http_4xx: "HTTP 4xx",
  http_5xx: "HTTP 5xx",
  check_failed: "check failed",
  connect: "not connected",
  tls: "TLS failed",
  timeout: "timed out",
  io: "broke off",
  local: "this side's fault",
  cancelled: "cancelled",
  indeterminate: "unknown",
};

export function outcome(name: string): string {
  return OUTCOME_WORDS[name] ?? name;
}

const DROPPED: Record<string, string> = {
  no_slot: "no slot was free in time (max_in_flight, max_wait)",
  no_user: "no user was free in time",
  late: "the generator came too late",
  stopped: "the run was stopped",
  paused: "the run was paused",
  fenced: "an agent cut off from control had stopped itself",
  unowned: "nobody held them",
};

export function dropped(reason: string): string {
  return DROPPED[reason] ?? plain(reason);
}

const FINDINGS: Record<string, [string, string]> = {
  schedule_lag: ["The generator was late", "Use more agents or cores, or a lower rate."],
  generator_drops: ["The generator dropped arrivals", "Raise max_in_flight, or use more agents."],
  agent_cpu: ["An agent's processor was full", "Use more agents, or give them more cores."],
  lost_interval: [
    "Part of the data is missing",
    "See the lost intervals: who, and from when to when.",
  ],
  excess: ["Some load came twice", "An agent went on after it had been replaced; it is left out."],
  local_resources: [
    "The generator ran out of ports or files",
    "Reuse connections; raise ulimit -n.",
  ],
  clock_bound: [
    "An agent's clock is uncertain",
    "Check the network between agent and coordinator.",
  ],
  unfinished: ["The run did not come to its end", "Read in the story what ended it."],
  quarantined: ["Part of the log was set aside", "The gaps name what, and why."],
  coverage: ["Too little was measured", "Calls were cancelled, or what became of them is unknown."],
  feeder_wrap_around: ["Test data was used twice", "Bring more rows, or say that the feed cycles."],
};

/** What a finding of the certificate is about, and what helps. */
export function finding(kind: string): { title: string; advice: string } {
  const [title, advice] = FINDINGS[kind] ?? [plain(kind), ""];
  return { title, advice };
}

export function grade(name: string): { tone: Tone; text: string } {
  if (name === "VALID") return { tone: "good", text: "The figures are the target's." };
  if (name === "DEGRADED") return { tone: "warn", text: "Usable, with the findings in mind." };
  return { tone: "bad", text: "Do not use these figures." };
}

/** A name of the product's, with spaces. */
export function plain(name: string): string {
  return name.replaceAll("_", " ");
}
