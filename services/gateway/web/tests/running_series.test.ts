import fc from "fast-check";
import { expect, test } from "vitest";
import type { Series } from "../src/api/answers";
import {
  rangeWithin,
  reportedUntilUs,
  seriesBetween,
  shownSeries,
  stepColumns,
  upToPresent,
  upToStop,
} from "../src/data/running_series";
import { wholeTime } from "../src/data/time_range";

/** Series of a run of `ticks` ticks, of which `reported` are reported. */
function running(ticks: number, reported: number): Series {
  const column = (of: (tick: number) => number | null) =>
    Array.from({ length: ticks }, (_, tick) => of(tick));
  const counted = column((tick) => (tick < reported ? 5 + tick : 0));
  const timed = column((tick) => (tick < reported ? 100 + tick : null));
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

test("reported values stay, and the newest and later buckets are null", () => {
  const ticks = fc.integer({ min: 1, max: 400 });
  fc.assert(
    fc.property(ticks, ticks, (a, b) => {
      const [reported, all] = a < b ? [a, b] : [b, a];
      const complete = running(all, reported);
      const shown = upToPresent(complete);
      const length = shown.from_us.length;
      for (const column of [shown.started, shown.outcomes.ok!, shown.response.p50!]) {
        expect(column.length).toBe(length);
        expect(column.slice(reported - 1).every((value) => value === null)).toBe(true);
      }
      expect(shown.started.slice(0, reported - 1)).toEqual(complete.started.slice(0, reported - 1));
      expect(shown.planned).toEqual(complete.planned.slice(0, length));
      expect(length).toBeGreaterThanOrEqual(Math.min(all, reported));
    }),
  );
});

test("a stopped run shows nothing after its stop, and all before", () => {
  const complete = running(10, 4);
  const shown = upToStop(complete, 4);
  expect(shown.from_us).toEqual([0, 1, 2, 3]);
  expect(shown.started).toEqual([5, 6, 7, 8]);
  expect(shown.response.p50).toEqual([100, 101, 102, 103]);
});

test("a killed run shows what was reported", () => {
  const complete = running(40, 4);
  expect(shownSeries(complete, "killed", null)).toEqual(upToPresent(complete));
  expect(reportedUntilUs(complete)).toBe(4);
  expect(reportedUntilUs(running(40, 0))).toBe(null);
});

test("charts over time reach from the start to the end of the last bucket", () => {
  const fromUs = [0, 1e6, 2e6];
  const [times, started] = stepColumns({ from_us: fromUs, bucket_us: 1e6 }, [[5, null, 7]]);
  expect(times).toEqual([0, 1, 2, 3]);
  expect(started).toEqual([5, null, 7, 7]);
  expect(wholeTime(0, 2, 1e6)).toEqual([0, 3]);
  expect(wholeTime(times[0]!, times.at(-1)!)).toEqual([0, 3]);
  expect(wholeTime(null, null, 1e6)).toEqual([null, null]);
  expect(stepColumns({ from_us: [], bucket_us: 1e6 }, [[]])).toEqual([[], []]);
});

test("other buckets are shown from where the series begins to its end", () => {
  const zoomed = seriesBetween(running(10, 10), 3, 6);
  expect(rangeWithin([0, 1, 2, 3, 4, 5, 6, 7], zoomed)).toEqual([3, 6]);
  expect(rangeWithin([0, 1, 2, 3], running(10, 10))).toEqual([0, 4]);
  expect(rangeWithin([0, 1, 2, 3], null)).toEqual([0, 4]);
});
