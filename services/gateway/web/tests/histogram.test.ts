import { expect, test } from "vitest";
import { decode, percentileCurve, quantile } from "../src/data/histogram";
import merged from "./merged.json";

const PERCENTILES_SHOWN: [keyof typeof merged.percentiles, number][] = [
  ["p50_us", 0.5],
  ["p75_us", 0.75],
  ["p90_us", 0.9],
  ["p95_us", 0.95],
  ["p99_us", 0.99],
  ["p99_9_us", 0.999],
  ["p99_99_us", 0.9999],
];

test("a decoded histogram has the percentiles that the engine computed", async () => {
  const buckets = await decode(merged.histogram);
  expect(buckets.total).toBe(merged.percentiles.count);
  for (const [rung, share] of PERCENTILES_SHOWN) {
    // Values of one bucket are equivalent: they agree to three digits.
    const actual = quantile(buckets, share)!;
    expect(Math.abs(actual - merged.percentiles[rung]) / actual, rung).toBeLessThan(0.001);
  }
  expect(
    Math.abs(buckets.upTo.at(-1)! - merged.percentiles.max_us) / merged.percentiles.max_us,
  ).toBeLessThan(0.001);
});

test("the curve rises, and ends before the last call", async () => {
  const { x, us } = percentileCurve(await decode(merged.histogram));
  expect(x.every((one, i) => i === 0 || one >= x[i - 1]!)).toBe(true);
  expect(us.every((one, i) => i === 0 || one > us[i - 1]!)).toBe(true);
  expect(x.at(-1)).toBe(2 * merged.percentiles.count);
});

test("an empty text is an empty histogram; other data is rejected", async () => {
  expect((await decode("")).total).toBe(0);
  await expect(decode(btoa("this is no histogram"))).rejects.toThrow("not an HdrHistogram V2");
});
