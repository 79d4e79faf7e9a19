import fc from "fast-check";
import { expect, test } from "vitest";
import type { TrendPoint } from "../src/api/answers";
import { QUALITIES, VERDICTS } from "../src/app/route";
import { trendDots, trendText } from "../src/pages/runs/trend";

const point: fc.Arbitrary<TrendPoint> = fc.record({
  p99_us: fc.nat({ max: 10 ** 9 }),
  verdict: fc.constantFrom(...VERDICTS),
  quality: fc.constantFrom(...QUALITIES),
});
const trend = fc.array(point, { minLength: 2, maxLength: 12 });

test("a trend stays in its box, oldest first, and higher is slower", () => {
  fc.assert(
    fc.property(trend, (one) => {
      const dots = trendDots(one);
      dots.forEach(({ x, y }, at) => {
        expect(x).toBeGreaterThan(at === 0 ? 0 : dots[at - 1]!.x);
        expect(x).toBeLessThanOrEqual(92);
        expect(y).toBeGreaterThanOrEqual(0);
        expect(y).toBeLessThanOrEqual(26);
      });
      const counting = dots
        .map((dot, at) => ({ ...dot, us: one[at]!.p99_us }))
        .filter(({ kind }) => kind !== "invalid");
      for (const a of counting) {
        for (const b of counting) if (a.us < b.us) expect(a.y).toBeGreaterThanOrEqual(b.y);
      }
    }),
  );
});

test("a trend has words", () => {
  const one: TrendPoint[] = [
    { p99_us: 1200, verdict: "PASS", quality: "VALID" },
    { p99_us: 1300, verdict: "FAIL", quality: "DEGRADED" },
    { p99_us: 99, verdict: "FAIL", quality: "INVALID" },
  ];
  expect(trendText(one)).toBe(
    "p99 of the last 3 runs: 1.20 ms, 1.30 ms (Failed), 99.0 µs (INVALID)",
  );
});
