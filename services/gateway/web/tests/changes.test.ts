import fc from "fast-check";
import { expect, test } from "vitest";
import { type Change, withChange } from "../src/api/changes";

test("a change gives the new answer, and the earlier one stays as it was", () => {
  const json = fc.jsonValue({ maxDepth: 4 }).map((value) => JSON.parse(JSON.stringify(value)));
  fc.assert(
    fc.property(json, json, (earlier, next) => {
      const before = JSON.stringify(earlier);
      const change = JSON.parse(JSON.stringify(between(earlier, next))) as Change;
      expect(withChange(earlier, change)).toEqual(next);
      expect(JSON.stringify(earlier)).toBe(before);
    }),
  );
});

test("a part that did not change stays the same object", () => {
  const earlier = { tasks: [{ name: "a" }, { name: "b" }], story: [{ seq: 1 }] };
  const next = withChange(earlier, { story: { "1": [{ seq: 2 }] } }) as typeof earlier;
  expect(next.tasks).toBe(earlier.tasks);
  expect(next.story[0]).toBe(earlier.story[0]);
  expect(next.story).toEqual([{ seq: 1 }, { seq: 2 }]);
});

test("a change of an answer that the page does not have is an error", () => {
  expect(() => withChange(null, { story: [[]] })).toThrow(TypeError);
  expect(() => withChange({ a: 1 }, { a: { b: [2] } })).toThrow(TypeError);
});

/** The change between two values, as the gateway sends it. */
function between(earlier: unknown, next: unknown): Change {
  if (isObject(earlier) && isObject(next)) {
    const names = new Set([...Object.keys(earlier), ...Object.keys(next)]);
    const found = [...names].map((name): [string, Change] => {
      if (!Object.hasOwn(next, name)) return [name, []];
      return [
        name,
        Object.hasOwn(earlier, name) ? between(earlier[name], next[name]) : [next[name]],
      ];
    });
    return Object.fromEntries(found);
  }
  if (Array.isArray(earlier) && Array.isArray(next) && earlier.length <= next.length) {
    const found = next.map((value, at): [string, Change] => [
      String(at),
      at < earlier.length ? between(earlier[at], value) : [value],
    ]);
    return Object.fromEntries(found);
  }
  return [next];
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
