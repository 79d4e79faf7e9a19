// Routes and their addresses. An address holds the whole state of a view.
// Pure: `parse` and `format` are inverses.

import type { Limits } from "../format/thresholds";

export const TABS = [
  "overview",
  "latency",
  "tasks",
  "metrics",
  "agents",
  "timeline",
  "what-if",
] as const;
export type Tab = (typeof TABS)[number];

/** The view of one run. Times in µs after its start. */
export interface View {
  tab: Tab;
  asOf: number | null;
  from: number | null;
  to: number | null;
  task: string | null;
  step: string | null;
  agent: string | null;
  limits: Limits | null;
  warmUp: number | null;
}

export const VERDICTS = ["PASS", "FAIL", "VOID", "STOPPED"] as const;
export const QUALITIES = ["VALID", "DEGRADED", "INVALID"] as const;
export const SORTS = ["created", "rate", "p99", "failed"] as const;
export const ORDERS = ["desc", "asc"] as const;

/** Filter and order of the list of runs; an empty text does not filter. */
export interface Filter {
  q: string;
  verdict: (typeof VERDICTS)[number] | "";
  quality: (typeof QUALITIES)[number] | "";
  state: string;
  ending: string;
  tag: string;
  sort: (typeof SORTS)[number];
  order: (typeof ORDERS)[number];
}

/** A scenario of a file in the directory of `loadpilot ui`; null: the only one. */
export interface FileScenario {
  file: string;
  scenario: string | null;
}

export type Route =
  | { page: "runs"; filter: Filter }
  | { page: "run"; run: string; view: View }
  | { page: "compare"; runs: string[]; percentile: string }
  | { page: "start"; from: string | null; file?: FileScenario }
  | { page: "agents" }
  | { page: "not_found"; path: string };

export const COMPARED_MAX = 8;
export const PERCENTILES = ["p50", "p95", "p99"];

export const NO_FILTER: Filter = {
  q: "",
  verdict: "",
  quality: "",
  state: "",
  ending: "",
  tag: "",
  sort: "created",
  order: "desc",
};

export const DEFAULT_VIEW: View = {
  tab: "overview",
  asOf: null,
  from: null,
  to: null,
  task: null,
  step: null,
  agent: null,
  limits: null,
  warmUp: null,
};

export function runRoute(run: string, view: Partial<View> = {}): Route {
  return { page: "run", run, view: { ...DEFAULT_VIEW, ...view } };
}

export function parse(address: string): Route {
  const url = new URL(`http://ui.invalid${address}`); // `//x` is a path here, no host
  const query = url.searchParams;
  const [first, second, third, ...more] = url.pathname.split("/").slice(1).map(decodeSegment);
  const text = (name: string) => query.get(name) ?? "";
  if (first === "" || (first === "runs" && !second)) {
    return { page: "runs", filter: filterOf(text) };
  }
  if (first === "runs" && second && more.length === 0) {
    const wanted = third === "story" ? "timeline" : third || "overview"; // its name in old links
    const tab = TABS.find((name) => name === wanted);
    if (tab) return { page: "run", run: second, view: viewOf(tab, query) };
  }
  if (first === "compare" && second === undefined) {
    const percentile = PERCENTILES.find((p) => p === text("percentile")) ?? "p99";
    return { page: "compare", runs: query.getAll("run").slice(0, COMPARED_MAX), percentile };
  }
  if (first === "start" && second === undefined) {
    const file = query.get("file");
    if (file === null) return { page: "start", from: query.get("from") };
    return { page: "start", from: null, file: { file, scenario: query.get("scenario") } };
  }
  if (first === "agents" && second === undefined) return { page: "agents" };
  return { page: "not_found", path: url.pathname };
}

function filterOf(text: (name: string) => string): Filter {
  const one = <T extends string>(name: string, known: readonly T[]): T | undefined =>
    known.find((value) => value === text(name));
  return {
    q: text("q"),
    verdict: one("verdict", VERDICTS) ?? "",
    quality: one("quality", QUALITIES) ?? "",
    state: text("state"),
    ending: text("ending"),
    tag: text("tag"),
    sort: one("sort", SORTS) ?? NO_FILTER.sort,
    order: one("order", ORDERS) ?? NO_FILTER.order,
  };
}

function viewOf(tab: Tab, query: URLSearchParams): View {
  const limits = query.getAll("limit").map((text): [string, string] => {
    const found = /^(.*) ((?:<=|>=|<|>) \S+)$/s.exec(text);
    return found ? [found[1]!, found[2]!] : [text, ""];
  });
  return {
    tab,
    asOf: parseMicros(query.get("as_of")),
    from: parseMicros(query.get("from")),
    to: parseMicros(query.get("to")),
    task: query.get("task"),
    step: query.get("step"),
    agent: query.get("agent"),
    // An empty `limit` means no thresholds.
    limits: query.has("limit") ? Object.fromEntries(limits.filter(([key]) => key)) : null,
    warmUp: parseMicros(query.get("warm_up")),
  };
}

function parseMicros(text: string | null): number | null {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : null;
}

function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment; // an invalid escape is kept as it is
  }
}

export function format(route: Route): string {
  const query = new URLSearchParams();
  const put = (name: string, value: string | number | null) => {
    if (value !== null && value !== "") query.append(name, String(value));
  };
  switch (route.page) {
    case "runs":
      for (const [name, value] of Object.entries(route.filter)) {
        put(name, value === NO_FILTER[name as keyof Filter] ? null : value);
      }
      return address("/", query);
    case "run":
      putView(route.view, put, query);
      return address(runPath(route.run, route.view.tab), query);
    case "compare":
      for (const run of route.runs) query.append("run", run);
      put("percentile", route.percentile === "p99" ? null : route.percentile);
      return address("/compare", query);
    case "start":
      if (route.file) {
        query.set("file", route.file.file);
        if (route.file.scenario !== null) query.set("scenario", route.file.scenario);
      } else if (route.from !== null) query.set("from", route.from);
      return address("/start", query);
    case "agents":
      return "/agents";
    case "not_found":
      return route.path;
  }
}

type Put = (name: string, value: string | number | null) => void;

function putView(view: View, put: Put, query: URLSearchParams): void {
  put("as_of", view.asOf);
  put("from", view.from);
  put("to", view.to);
  for (const name of ["task", "step", "agent"] as const) {
    const value = view[name];
    if (value !== null) query.append(name, value);
  }
  if (view.limits) {
    const limits = Object.entries(view.limits);
    if (limits.length === 0) query.append("limit", "");
    for (const [key, text] of limits) query.append("limit", `${key} ${text}`);
  }
  put("warm_up", view.warmUp);
}

function runPath(run: string, tab: Tab): string {
  return `/runs/${encodeURIComponent(run)}${tab === "overview" ? "" : `/${tab}`}`;
}

function address(path: string, query: URLSearchParams): string {
  const text = query.toString();
  return text === "" ? path : `${path}?${text}`;
}
