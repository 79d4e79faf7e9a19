// One way to ask the gateway. What fails comes back as a Problem that says what can be done.

import { signal } from "@preact/signals";

export interface FieldProblem {
  field: string;
  rule: string;
  value: string;
}

/** RFC 9457, as the gateway sends it. */
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

/** Set when the gateway wants to know who asks: at first, or since a session is over. */
export const refused = signal<Problem | null>(null);

const UNREACHABLE = "Is it still running? This page tries again by itself.";

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
    const problem = await problemOf(response);
    if (problem.status === 401) refused.value = problem;
    throw problem;
  }
  return (response.status === 204 ? null : await response.json()) as T;
}

async function problemOf(response: Response): Promise<Problem> {
  const said: unknown = await response.json().catch(() => null);
  const text = (name: string): string | null => {
    const value = (said as Record<string, unknown> | null)?.[name];
    return typeof value === "string" && value !== "" ? value : null;
  };
  const listed = (said as { problems?: unknown } | null)?.problems;
  return new Problem(
    response.status,
    text("code") ?? `http_${response.status}`,
    text("title") ?? `The gateway answered ${response.status}`,
    text("detail") ?? response.statusText,
    Array.isArray(listed) ? (listed as FieldProblem[]) : [],
  );
}

/** A query of what is given: nulls are left out, lists repeat. */
export function query(
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
