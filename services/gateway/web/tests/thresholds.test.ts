import fc from "fast-check";
import { expect, test } from "vitest";
import {
  OPERATORS,
  thresholdFlags,
  formatLimit,
  metricOf,
  margin,
  parseLimit,
  unit,
} from "../src/format/thresholds";

const operator = fc.constantFrom(...OPERATORS);
const limit = fc.double({ min: -1e9, max: 1e9, noNaN: true }).map((v) => Number(v.toFixed(3)) + 0);

test("a threshold survives formatting and parsing", () => {
  fc.assert(
    fc.property(operator, limit, (o, l) => {
      expect(parseLimit(formatLimit(o, l))).toEqual({ operator: o, limit: l });
    }),
  );
  expect(parseLimit(formatLimit("<", 1e-7))).toEqual({ operator: "<", limit: 1e-7 });
  expect(parseLimit("nonsense")).toBeNull();
});

test("thresholds become flags of the command", () => {
  expect(thresholdFlags({ p99_ms: "<= 300", "browse:p95_ms": "< 20" }, 5e6)).toBe(
    "--threshold 'p99_ms<=300' --threshold 'browse:p95_ms<20' --warm-up 5s",
  );
  const hostile = thresholdFlags({ "a$(id)`id`'b:p99_ms": "<= 1" }, null);
  expect(hostile).toBe("--threshold 'a$(id)`id`'\\''b:p99_ms<=1'");
});

test("a key names its metric, whatever the task is called", () => {
  expect([
    metricOf("p99_ms"),
    metricOf("a.b:p95_ms"),
    unit("error_rate"),
    unit("orders.count"),
  ]).toEqual(["p99_ms", "p95_ms", " %", ""]);
});

test("the margin is positive on the side that passes", () => {
  const result = { key: "k", metric: "p99_ms" as const, limit: 200, passed: true };
  expect(margin({ ...result, operator: "<=", actual: 150 })).toBe(25);
  expect(margin({ ...result, operator: ">=", actual: 150 })).toBe(-25);
  expect(margin({ ...result, operator: "<=", actual: null })).toBeNull();
});
