import { expect, test } from "vitest";
import {
  adjustBody,
  joinKey,
  jsonProblem,
  runCommand,
  splitKey,
  startBody,
} from "../src/data/plan_changes";
import { planWithUnits } from "../src/format/plan_units";

/** Numbers that a double does not hold, or that lose their point. */
const PLAN = '{"seed":9007199254740993,"limit":1.0}';

test("a plan travels as the text that it is", () => {
  const body = adjustBody({ text: PLAN }, { rate: "50%", target: " " });
  expect(body).toBe(`{"plan":${PLAN},"rate":"50%"}`);
  expect(adjustBody({ text: PLAN }, {})).toBe(`{"plan":${PLAN}}`);
  expect(adjustBody({ run: "r" }, { duration: "5s" })).toBe('{"run":"r","duration":"5s"}');
  const threshold = { key: "browse:p99_ms", operator: "<=", limit: "5" };
  expect(JSON.parse(adjustBody({ text: PLAN }, { thresholds: [threshold] }))).toMatchObject({
    thresholds: [{ key: "browse:p99_ms", limit: "<= 5" }],
  });
  const started = startBody({ plan: PLAN, agents: { want: 2 }, seed: null }, { key: "x" }, {});
  expect(started).toBe(`{"plan":${PLAN},"agents":{"want":2},"secrets":{"key":"x"}}`);
});

test("a text that is no object has a reason", () => {
  expect(jsonProblem(PLAN)).toBeNull();
  for (const text of ["{", "[]", "1", "{},", '{},"run":"x"'])
    expect(jsonProblem(text)).toBeTruthy();
});

test("the key of a threshold is task and metric", () => {
  for (const key of ["p99_ms", "browse:p99_ms", "a:b:p99_ms", "cart_value.p95"]) {
    const { task, metric } = splitKey(key);
    expect(joinKey(task, metric)).toBe(key);
  }
});

test("a command can be pasted into a shell", () => {
  expect(runCommand("scenarios/shop.py", "Shop", "http://h:1")).toBe(
    "loadpilot run scenarios/shop.py --scenario Shop --target http://h:1",
  );
  expect(runCommand("my shop's.py", "Shop", "http://h")).toContain("'my shop'\\''s.py'");
});

test("durations and rates of a plan have units", () => {
  const plan = {
    profile: { pieces: [{ duration_us: 150_000_000, from: 0, to: 50_500_000 }] },
    timeout_us: 30_000,
    samples_ppm: 10_000,
    from: 7,
  };
  const lines = planWithUnits(JSON.stringify(plan, null, 2));
  expect(lines.map(({ text }) => text).join("\n")).toBe(JSON.stringify(plan, null, 2));
  const notes = lines.filter(({ note }) => note).map(({ text, note }) => [text.trim(), note]);
  expect(notes).toEqual([
    ['"duration_us": 150000000,', "2 m 30 s"],
    ['"from": 0,', "0/s"],
    ['"to": 50500000', "50.5/s"],
    ['"timeout_us": 30000,', "30.0 ms"],
    ['"samples_ppm": 10000,', "1 %"],
  ]);
});
