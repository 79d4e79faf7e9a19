// The session: the permissions of the user, and sign-in with a token.

import { signal } from "@preact/signals";
import type { Me } from "../api/answers";
import { type Problem, get, post, signInRequired } from "../api/http";
import { asProblem } from "../api/resource";

/** Null until the gateway has answered. */
export const me = signal<Me | null>(null);

/** Why the last sign-in failed. */
export const signInProblem = signal<Problem | null>(null);

/** The token in a fragment, which the browser sends to no server. */
export function tokenFrom(fragment: string): string | null {
  return new URLSearchParams(fragment.replace(/^#/, "")).get("token");
}

/** Signs in with the token of the address and removes it there. Requests need the session. */
export async function startSession(): Promise<void> {
  const token = tokenFrom(location.hash);
  if (token) {
    history.replaceState(null, "", location.pathname + location.search);
    if (!(await signIn(token))) return;
  }
  void loadMe();
}

/** Exchanges a token for a session cookie that scripts cannot read. */
export async function signIn(token: string): Promise<boolean> {
  try {
    await post("/session", { token });
    return true;
  } catch (error) {
    signInProblem.value = asProblem(error);
    signInRequired.value = signInProblem.value;
    return false;
  }
}

export async function loadMe(): Promise<void> {
  try {
    me.value = await get<Me>("/me");
    signInRequired.value = null;
  } catch (error) {
    // The pages report an unreachable gateway; this only retries.
    if (asProblem(error).status !== 401) setTimeout(() => void loadMe(), 3000);
  }
}
