// Requests to the gateway. A failed request throws a Problem.

import { signal } from "@preact/signals";
import { CHANGES_TYPE, type Change, withChange } from "./changes";

export interface FieldProblem {
  field: string;
  rule: string;
  value: string;
}

/** A problem by RFC 9457, as the gateway sends it. */
export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    readonly title: string,
    readonly detail: string,
    readonly problems: FieldProblem[] = [],
    /** When a request above a limit may be sent again, in ms; else null. */
    readonly retryMs: number | null = null,
  ) {
    super(`${title}: ${detail}`);
  }
}

/** Set when a request needs a sign-in: there is no session, or it has expired. */
export const signInRequired = signal<Problem | null>(null);

/** Set while the gateway does not answer; the frame of the pages shows it once for all requests. */
export const unreachable = signal<Problem | null>(null);

const JSON_ONLY = { accept: "application/json" };
const UNREACHABLE = "Is it still running? This page retries by itself.";

export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return ask<T>(path, { signal: signal ?? null, headers: JSON_ONLY });
}

export async function post<T>(
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
  signal?: AbortSignal,
): Promise<T> {
  return ask<T>(path, {
    method: "POST",
    signal: signal ?? null,
    headers: { ...JSON_ONLY, "content-type": "application/json", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body ?? {}),
  });
}

/** An answer of the gateway that is requested again. */
export interface Known<T> {
  data: T;
  etag: string | null;
}

/** Requests an answer, or the changes since an earlier one of the same path. */
export async function getAgain<T>(
  path: string,
  earlier: Known<T> | null,
  signal: AbortSignal,
): Promise<Known<T>> {
  const accept = `${CHANGES_TYPE}, application/json`;
  const headers = new Headers({ accept });
  if (earlier?.etag) headers.set("if-none-match", earlier.etag);
  // The browser's cache must not name an answer that this page does not have.
  const response = await send(path, { signal, headers, cache: "no-store" });
  if (response.status === 304) return earlier!;
  const body: unknown = await response.json();
  const isChange = response.headers.get("content-type")?.startsWith(CHANGES_TYPE) ?? false;
  const data = isChange ? withChange(earlier!.data, body as Change) : body;
  return { data: data as T, etag: response.headers.get("etag") };
}

async function ask<T>(path: string, init: RequestInit): Promise<T> {
  const response = await send(path, init);
  return (response.status === 204 ? null : await response.json()) as T;
}

async function send(path: string, init: RequestInit): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(`/api/v1${path}`, {
      ...init,
      credentials: "same-origin",
    });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    const problem = new Problem(0, "unreachable", "The gateway does not answer", UNREACHABLE);
    unreachable.value = problem;
    throw problem;
  }
  unreachable.value = null;
  if (!response.ok && response.status !== 304) {
    const problem = await readProblem(response);
    if (problem.status === 401) signInRequired.value = problem;
    throw problem;
  }
  return response;
}

async function readProblem(response: Response): Promise<Problem> {
  const body: unknown = await response.json().catch(() => null);
  const text = (name: string): string | null => {
    const value = (body as Record<string, unknown> | null)?.[name];
    return typeof value === "string" && value !== "" ? value : null;
  };
  const problems = (body as { problems?: unknown } | null)?.problems;
  return new Problem(
    response.status,
    text("code") ?? `http_${response.status}`,
    text("title") ?? `The gateway answered ${response.status}`,
    text("detail") ?? response.statusText,
    Array.isArray(problems) ? (problems as FieldProblem[]) : [],
    retryMs(response),
  );
}

/** The delay in Retry-After of a 429, in ms. */
function retryMs(response: Response): number | null {
  const secs = Number.parseInt(response.headers.get("retry-after") ?? "", 10);
  return response.status === 429 && secs > 0 ? secs * 1000 : null;
}

/** A query string: null and empty values are left out, lists repeat their name. */
export function queryString(
  values: Record<string, string | number | (string | number)[] | null | undefined>,
): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== null && one !== undefined && one !== "") search.append(name, String(one));
    }
  }
  const text = search.toString();
  return text === "" ? "" : `?${text}`;
}
