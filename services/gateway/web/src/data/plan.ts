// Reads a plan for the start page. The gateway validates it.

/** Names of the secrets that a plan refers to. */
export function secretNames(plan: unknown): string[] {
  const names = new Set<string>();
  const visit = (node: unknown, depth: number) => {
    if (depth > DEPTH_MAX || node === null || typeof node !== "object") return;
    const { secret, key_secret } = node as { secret?: unknown; key_secret?: unknown };
    for (const name of [secret, key_secret]) if (typeof name === "string") names.add(name);
    for (const child of Object.values(node)) visit(child, depth + 1);
  };
  visit(plan, 0);
  return [...names].sort();
}

/** Names of the tasks, in the order of the plan. */
export function taskNames(plan: unknown): string[] {
  const tasks = (plan as { tasks?: unknown } | null)?.tasks;
  if (!Array.isArray(tasks)) return [];
  return tasks.map((task) => String((task as { name?: unknown } | null)?.name ?? ""));
}

const DEPTH_MAX = 60;

/** Parses JSON; an error names the position. */
export function parsePlan(text: string): { plan: unknown } | { problem: string } {
  try {
    return { plan: JSON.parse(text) as unknown };
  } catch (error) {
    return { problem: error instanceof Error ? error.message : String(error) };
  }
}
