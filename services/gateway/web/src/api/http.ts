// Requests to the gateway. A failed request throws a Problem.

import { signal } from "@preact/signals";

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
  ) {
    super(`${title}: ${detail}`);
  }
}

/** Set when a request needs a sign-in: there is no session, or it has expired. */
export const signInRequired = signal<Problem | null>(null);

const UNREACHABLE = "Is it still running? This page retries by itself.";

export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return ask<T>(path, { signal: signal ?? null });
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
    headers: { "content-type": "application/json", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body ?? {}),
  });
}

async function ask<T>(path: string, init: RequestInit): Promise<T> {
  let response: Response;
  try {
    response = await fetch(`/api/v1${path}`, {
      ...init,
      credentials: "same-origin",
      headers: { accept: "application/json", ...init.headers },
    });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new Problem(0, "unreachable", "The gateway does not answer", UNREACHABLE);
  }
  if (!response.ok) {
    const problem = await readProblem(response);
    if (problem.status === 401) signInRequired.value = problem;
    throw problem;
  }
  return (response.status === 204 ? null : await response.json()) as T;
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
  );
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
