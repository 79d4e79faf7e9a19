import { expect, test } from "vitest";
import { at, curve, decode } from "../src/data/histogram";
import merged from "./merged.json";

const RUNGS: [keyof typeof merged.ladder, number][] = [
  ["p50_us", 0.5],
  ["p75_us", 0.75],
  ["p90_us", 0.9],
  ["p95_us", 0.95],
  ["p99_us", 0.99],
  ["p99_9_us", 0.999],
  ["p99_99_us", 0.9999],
];

test("a merged histogram of a real run reads here as it read in Rust", async () => {
  const buckets = await decode(merged.histogram);
  expect(buckets.total).toBe(merged.ladder.count);
  for (const [rung, share] of RUNGS) {
    // Both may say any value that counts as the same: they are told apart to three digits.
    const said = at(buckets, share)!;
    expect(Math.abs(said - merged.ladder[rung]) / said, rung).toBeLessThan(0.001);
  }
  expect(Math.abs(buckets.upTo.at(-1)! - merged.ladder.max_us) / merged.ladder.max_us).toBeLessThan(
    0.001,
  );
});

test("the curve rises, and ends before the last call", async () => {
  const { x, us } = curve(await decode(merged.histogram));
  expect(x.every((one, i) => i === 0 || one >= x[i - 1]!)).toBe(true);
  expect(us.every((one, i) => i === 0 || one > us[i - 1]!)).toBe(true);
  expect(x.at(-1)).toBe(2 * merged.ladder.count);
});

test("nothing measured is an empty curve; what is no histogram is said to be none", async () => {
  expect((await decode("")).total).toBe(0);
  await expect(decode(btoa("this is no histogram"))).rejects.toThrow("not a V2 histogram");
});
