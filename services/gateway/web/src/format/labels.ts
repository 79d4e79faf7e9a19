// Labels and tones for names of the API: states, outcomes, drop reasons, findings.

export type Tone = "good" | "warn" | "bad" | "plain" | "busy";

const STATES: Record<string, [string, Tone]> = {
  requested: ["requested", "busy"],
  refused: ["refused", "bad"],
  gathering: ["waiting for agents", "busy"],
  preparing: ["preparing", "busy"],
  running: ["running", "busy"],
  stopping: ["stopping", "busy"],
  sealed: ["ended", "plain"],
};

const ENDINGS: Record<string, [string, Tone]> = {
  completed: ["completed", "plain"],
  stopped: ["stopped", "plain"],
  abandoned: ["abandoned", "bad"],
  failed: ["failed", "bad"],
  aborted: ["aborted", "bad"],
  log_full: ["log full", "bad"],
};

/** The state of a run, or its ending once it has ended. */
export function runStatus(state: string, ending?: string | null): { text: string; tone: Tone } {
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
  connect: "connection failed",
  tls: "TLS failed",
  timeout: "timeout",
  io: "connection lost",
  local: "generator error",
  cancelled: "cancelled",
  indeterminate: "unknown",
};

export function outcome(name: string): string {
  return OUTCOME_WORDS[name] ?? name;
}

const DROPPED: Record<string, string> = {
  no_slot: "no free slot in time (max_in_flight, max_wait)",
  no_user: "no free user in time",
  late: "the generator was late",
  stopped: "the run was stopped",
  paused: "the run was paused",
  fenced: "the agent lost contact with the coordinator and stopped",
  unowned: "no agent held their shard",
};

export function dropReason(reason: string): string {
  return DROPPED[reason] ?? spaced(reason);
}

const FINDINGS: Record<string, [string, string]> = {
  schedule_lag: ["The generator was late", "Use more agents or cores, or a lower rate."],
  generator_drops: ["The generator dropped arrivals", "Raise max_in_flight, or use more agents."],
  agent_cpu: ["An agent's CPU was saturated", "Use more agents, or give them more cores."],
  lost_interval: [
    "Part of the data is missing",
    "See the lost intervals: which agent, and from when to when.",
  ],
  excess: [
    "Some load was sent twice",
    "A replaced agent continued to send; its calls are excluded.",
  ],
  local_resources: [
    "The generator ran out of ports or file descriptors",
    "Reuse connections, or raise ulimit -n.",
  ],
  clock_bound: [
    "An agent's clock is uncertain",
    "Check the network between the agent and the coordinator.",
  ],
  unfinished: ["The run did not complete", "See the timeline for the reason."],
  quarantined: ["Part of the log was quarantined", "See the gaps for the events and the reasons."],
  coverage: ["Too little was measured", "Calls were cancelled, or their outcome is unknown."],
  feeder_wrap_around: ["Feed rows were used more than once", "Add rows, or let the feed cycle."],
};

/** Title of a certificate finding, and the advice for it. */
export function finding(kind: string): { title: string; advice: string } {
  const [title, advice] = FINDINGS[kind] ?? [spaced(kind), ""];
  return { title, advice };
}

export function grade(name: string): { tone: Tone; text: string } {
  if (name === "VALID") return { tone: "good", text: "The figures describe the target." };
  if (name === "DEGRADED") return { tone: "warn", text: "Usable with the findings below." };
  return { tone: "bad", text: "Do not use these figures." };
}

/** A name of the API with spaces for underscores. */
export function spaced(name: string): string {
  return name.replaceAll("_", " ");
}
