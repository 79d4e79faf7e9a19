// Labels and tones for names of the API: states, outcomes, drop reasons, findings.

export type Tone = "good" | "warn" | "bad" | "plain" | "busy";

const STATES: Record<string, [string, Tone]> = {
  requested: ["requested", "busy"],
  refused: ["refused", "bad"],
  waiting: ["waiting for its turn", "busy"],
  gathering: ["waiting for load generators", "busy"],
  preparing: ["preparing", "busy"],
  running: ["running", "busy"],
  stopping: ["stopping", "busy"],
  sealed: ["ended", "plain"],
  killed: ["killed", "bad"],
};

const ENDINGS: Record<string, [string, Tone]> = {
  completed: ["completed", "plain"],
  stopped: ["stopped", "plain"],
  abandoned: ["abandoned", "bad"],
  failed: ["failed", "bad"],
  aborted: ["aborted", "bad"],
  log_full: ["log full", "bad"],
};

/** Latency from the due time of a request, and from its dispatch. */
export const RESPONSE = "Response time (including waiting)";
export const SERVICE = "Service time";
export const RESPONSE_TITLE =
  "From the time at which the request was due: includes the time it waited to be sent";
export const SERVICE_TITLE = "From dispatch: without the time the request waited to be sent";

/** The state of a run, or its ending once it has ended. */
export function runStatus(state: string, ending?: string | null): { text: string; tone: Tone } {
  const found = (ending && ENDINGS[ending]) || STATES[state];
  return found ? { text: found[0], tone: found[1] } : { text: ending ?? state, tone: "plain" };
}

/** Whether nothing follows in a run. The pages give the state `killed` to a run without a process
 * and without a seal. */
export function isOver(state: string): boolean {
  return state === "sealed" || state === "refused" || state === "killed";
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
  local: "load generator error",
  cancelled: "cancelled",
  indeterminate: "unknown",
};

export function outcome(name: string): string {
  return OUTCOME_WORDS[name] ?? name;
}

const DROPPED: Record<string, string> = {
  no_slot: "no free slot in time (max_in_flight, max_wait)",
  no_user: "no free user in time",
  late: "the load generator was late",
  stopped: "called off by the stop",
  paused: "called off by a pause",
  fenced: "the load generator lost contact with the coordinator and stopped",
  unowned: "no load generator held their shard",
};

export function dropReason(reason: string): string {
  return DROPPED[reason] ?? spaced(reason);
}

const LOST: Record<string, string> = {
  silent: "no heartbeat arrived",
  replaced: "its process ended, a new one took over",
  left: "it left",
  failed: "it could not perform its part",
  isolated: "it was cut off from the coordinator",
  not_ready: "it was not ready in time",
};

/** Why a load generator lost its part of a run. */
export function lossReason(reason: string): string {
  return LOST[reason] ?? spaced(reason);
}

const RAISED: Record<string, string> = {
  check: "check failed",
  task: "task failed",
  blocking: "blocked",
};

/** The part of a scenario that raised an error. */
export function raisedBy(part: string): string {
  return RAISED[part] ?? spaced(part);
}

const FINDINGS: Record<string, [string, string]> = {
  schedule_lag: [
    "The load generator was late",
    "Use more load generators or cores, or a lower rate.",
  ],
  generator_drops: [
    "The load generator dropped arrivals",
    "Raise max_in_flight, or use more load generators.",
  ],
  agent_cpu: [
    "The CPU of a load generator was saturated",
    "Use more load generators, or give them more cores.",
  ],
  lost_interval: [
    "Part of the data is missing",
    "See the lost intervals: which load generator, and from when to when.",
  ],
  excess: [
    "Some load was sent twice",
    "A replaced load generator continued to send; its requests are excluded.",
  ],
  local_resources: [
    "The load generator ran out of ports or file descriptors",
    "Reuse connections, or raise ulimit -n.",
  ],
  clock_bound: [
    "The clock of a load generator is uncertain",
    "Check the network between the load generator and the coordinator.",
  ],
  unfinished: ["The run did not complete", "See the timeline for the reason."],
  quarantined: ["Part of the log was set aside", "See the gaps for the events and the reasons."],
  coverage: ["Too little was measured", "Requests were cancelled, or their outcome is unknown."],
  feeder_wrap_around: ["Feed rows were used more than once", "Add rows, or let the feed cycle."],
};

/** Title of a finding on the measurement quality, and the advice for it. */
export function finding(kind: string): { title: string; advice: string } {
  const [title, advice] = FINDINGS[kind] ?? [spaced(kind), ""];
  return { title, advice };
}

const METRICS: Record<string, string> = {
  max_ms: "longest response time",
  mean_ms: "mean response time",
  error_rate: "failed requests (%)",
  task_errors: "task errors",
  dropped_rate: "dropped arrivals (%)",
  shortfall: "shortfall of arrivals (%)",
  achieved_rps: "achieved rate",
  checks: "passed checks (%)",
};
const PERCENTILE = /^p(\d+)(?:_(\d+))?(_first_token|_token_gap)?_ms$/;
const PARTS: Record<string, string> = {
  _first_token: "time to the first token",
  _token_gap: "time between tokens",
};

/** The metric of a threshold in users' words; an own metric keeps its name. */
export function metricLabel(key: string): string {
  const found = PERCENTILE.exec(key);
  if (!found) return METRICS[key] ?? key;
  const [, whole, part, of] = found;
  const percentile = `p${whole}${part === undefined ? "" : `.${part}`}`;
  return `${percentile} ${of === undefined ? "response time" : PARTS[of]}`;
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

const VERDICTS = {
  PASS: { text: "Passed", tone: "good" },
  FAIL: { text: "Failed", tone: "bad" },
  VOID: { text: "Invalid", tone: "warn" },
  STOPPED: { text: "Stopped", tone: "warn" },
} as const;

/** The verdict of a run in users' words. */
export function verdictLabel(word: "PASS" | "FAIL" | "VOID" | "STOPPED"): {
  text: string;
  tone: Tone;
} {
  return VERDICTS[word];
}
