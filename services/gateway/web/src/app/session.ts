// Who looks: what this reader may do, and how a one-time token becomes a session.

import { signal } from "@preact/signals";
import type { Me } from "../api/answers";
import { type Problem, get, post, refused } from "../api/http";
import { asProblem } from "../api/resource";

/** Null until the gateway has said. */
export const me = signal<Me | null>(null);

/** Why the last token opened nothing. */
export const wrong = signal<Problem | null>(null);

/** Takes a token from the fragment, which no server sees, and wipes it from the address bar. */
export function tokenFrom(fragment: string): string | null {
  return new URLSearchParams(fragment.replace(/^#/, "")).get("token");
}

/** Over when pages may ask: before that, they would be asked back who they are. */
export async function begin(): Promise<void> {
  const token = tokenFrom(location.hash);
  if (token) {
    history.replaceState(null, "", location.pathname + location.search);
    if (!(await present(token))) return;
  }
  void meet();
}

/** Trades a token for a cookie that scripts cannot read. */
export async function present(token: string): Promise<boolean> {
  try {
    await post("/session", { token });
    return true;
  } catch (error) {
    wrong.value = asProblem(error);
    refused.value = wrong.value;
    return false;
  }
}

export async function meet(): Promise<void> {
  try {
    me.value = await get<Me>("/me");
    refused.value = null;
  } catch (error) {
    // Pages say themselves that nobody answers; here it is only tried again.
    if (asProblem(error).status !== 401) setTimeout(() => void meet(), 3000);
  }
}
