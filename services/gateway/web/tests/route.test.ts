import fc from "fast-check";
import { expect, test } from "vitest";
import {
  COMPARED_MAX,
  NO_FILTER,
  ORDERS,
  PERCENTILES,
  QUALITIES,
  type Route,
  SORTS,
  TABS,
  VERDICTS,
  format,
  parse,
} from "../src/app/route";
import { OPERATORS, formatLimit } from "../src/format/thresholds";

const name = fc
  .string({ unit: "grapheme", minLength: 1, maxLength: 12 })
  .filter((s) => s.isWellFormed());
const maybe = <T>(one: fc.Arbitrary<T>) => fc.option(one, { nil: null });
const us = maybe(fc.nat({ max: 10 ** 12 }));
const limit = fc
  .tuple(fc.constantFrom(...OPERATORS), fc.nat({ max: 10 ** 6 }))
  .map(([operator, value]) => formatLimit(operator, value));
const limits = maybe(
  fc.dictionary(
    name.filter((s) => s !== "__proto__"),
    limit,
    { maxKeys: 4 },
  ),
);

const view = fc.record({
  tab: fc.constantFrom(...TABS),
  asOf: us,
  from: us,
  to: us,
  task: maybe(name),
  step: maybe(name),
  agent: maybe(name),
  limits,
  warmUp: us,
});
const segment = name.filter((s) => s !== "." && s !== "..");
const route: fc.Arbitrary<Route> = fc.oneof(
  fc.record({
    page: fc.constant("runs" as const),
    filter: fc.record({
      q: fc.oneof(name, fc.constant("")),
      verdict: fc.constantFrom(...VERDICTS, "" as const),
      quality: fc.constantFrom(...QUALITIES, "" as const),
      state: name,
      ending: name,
      tag: name,
      sort: fc.constantFrom(...SORTS),
      order: fc.constantFrom(...ORDERS),
    }),
  }),
  fc.record({ page: fc.constant("run" as const), run: segment, view }),
  fc.record({
    page: fc.constant("compare" as const),
    runs: fc.array(name, { maxLength: COMPARED_MAX }),
    percentile: fc.constantFrom(...PERCENTILES),
  }),
  fc.record({ page: fc.constant("start" as const), from: maybe(name) }),
  fc.record({
    page: fc.constant("start" as const),
    from: fc.constant(null),
    file: fc.record({ file: name, scenario: maybe(name) }),
  }),
  fc.constant({ page: "agents" as const }),
);

test("an address holds the whole view", () => {
  fc.assert(
    fc.property(route, (one) => {
      expect(parse(format(one))).toEqual(withPrototype(one));
    }),
  );
});

test("a link to the story opens the timeline", () => {
  expect(parse("/runs/x/story")).toEqual(parse("/runs/x/timeline"));
});

test("an address without filter or order is short", () => {
  expect(format({ page: "runs", filter: NO_FILTER })).toBe("/");
  expect(parse("/?sort=size&order=up&verdict=pass")).toEqual({ page: "runs", filter: NO_FILTER });
});

test("every address has a page", () => {
  fc.assert(
    fc.property(fc.webPath(), fc.webQueryParameters(), (path, query) => {
      expect(parse(`${path || "/"}?${query}`).page).toBeTruthy();
    }),
  );
  expect(parse("/runs/%E0%A4%A").page).toBe("run");
  expect(parse("/runs/x/nowhere")).toEqual({ page: "not_found", path: "/runs/x/nowhere" });
});

/** Records of fast-check have no prototype; `toEqual` compares it. */
function withPrototype<T>(one: T): T {
  return JSON.parse(JSON.stringify(one)) as T;
}
