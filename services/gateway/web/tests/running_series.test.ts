import fc from "fast-check";
import { expect, test } from "vitest";
import type { Series } from "../src/api/answers";
import { soFar } from "../src/data/running_series";

/** A run of so many ticks that has told of so many of them. */
function running(ticks: number, told: number): Series {
  const column = (of: (tick: number) => number | null) =>
    Array.from({ length: ticks }, (_, tick) => of(tick));
  const counted = column((tick) => (tick < told ? 5 + tick : 0));
  const timed = column((tick) => (tick < told ? 100 + tick : null));
  return {
    run: "r",
    tick_us: 1,
    bucket_us: 1,
    from_us: column((tick) => tick) as number[],
    planned: column(() => 9),
    started: counted,
    dropped: column(() => 0),
    finished: counted,
    errors: column(() => 0),
    outcomes: { ok: counted },
    percentiles: [50],
    response: { p50: timed },
    service: { p50: timed },
    total: { started: 0, dropped: 0, finished: 0, errors: 0, outcomes: {} },
  };
}

test("what was told stays as it is, and nothing is said of what was not", () => {
  const ticks = fc.integer({ min: 1, max: 400 });
  fc.assert(
    fc.property(ticks, ticks, (a, b) => {
      const [told, all] = a < b ? [a, b] : [b, a];
      const whole = running(all, told);
      const shown = soFar(whole);
      const length = shown.from_us.length;
      for (const column of [shown.started, shown.outcomes.ok!, shown.response.p50!]) {
        expect(column.length).toBe(length);
        expect(column.slice(told - 1).every((value) => value === null)).toBe(true);
      }
      expect(shown.started.slice(0, told - 1)).toEqual(whole.started.slice(0, told - 1));
      expect(shown.planned).toEqual(whole.planned.slice(0, length));
      expect(length).toBeGreaterThanOrEqual(Math.min(all, told));
    }),
  );
});
