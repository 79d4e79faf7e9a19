// Changes between two answers of the gateway: a live page requests only the differences.
// Pure: an answer is never modified, and unchanged parts of it stay the same objects.

/** `[]`: the member is gone; `[value]`: its new value; an object: a change for each member of an
 * object, or element of a list, that is different. */
export type Change = [] | [unknown] | { [name: string]: Change };

export const CHANGES_TYPE = "application/vnd.loadpilot.changes+json";

/** The new answer. A change that does not fit the earlier answer throws. */
export function withChange(earlier: unknown, change: Change): unknown {
  if (Array.isArray(change)) {
    if (change.length === 0) throw new TypeError("a whole answer cannot be gone");
    return change[0];
  }
  if (typeof earlier !== "object" || earlier === null) throw new TypeError("nothing to change");
  const members = new Map<string, unknown>(Object.entries(earlier));
  for (const [name, one] of Object.entries(change)) {
    if (Array.isArray(one) && one.length === 0) members.delete(name);
    else members.set(name, withChange(members.get(name), one));
  }
  // The elements of a longer list follow in their order.
  return Array.isArray(earlier) ? [...members.values()] : Object.fromEntries(members);
}
