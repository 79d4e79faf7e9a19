import fc from "fast-check";
import { expect, test, vi } from "vitest";
import {
  NOT_MEASURED,
  bytes,
  clock,
  count,
  digits,
  latency,
  percent,
  compact,
  duration,
  dateTime,
  isoTime,
} from "../src/format/numbers";

const UNITS: Record<string, number> = { µs: 1, ms: 1e3, s: 1e6 };

test("a formatted latency is the latency, to three digits", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 59_000_000 }), (us) => {
      const [figure, unit] = latency(us).split(" ");
      const formatted = Number(figure!.replaceAll(",", "")) * UNITS[unit!]!;
      expect(Math.abs(formatted - us) / us).toBeLessThanOrEqual(0.0051);
      expect(figure!.replace(/\D/g, "").replace(/^0+/, "").length).toBeLessThanOrEqual(3);
    }),
  );
});

test("a greater latency never reads as a smaller one", () => {
  const value = (us: number) => {
    const [figure, unit] = latency(us).split(" ");
    return Number(figure) * UNITS[unit!]!;
  };
  const us = fc.integer({ min: 0, max: 59_000_000 });
  fc.assert(
    fc.property(us, us, (a, b) => {
      const [low, high] = a < b ? [a, b] : [b, a];
      expect(value(low)).toBeLessThanOrEqual(value(high));
    }),
  );
});

test("a missing value is not a number", () => {
  for (const format of [count, latency, percent, compact, bytes, duration, clock]) {
    for (const nothing of [null, undefined, NaN, Infinity])
      expect(format(nothing)).toBe(NOT_MEASURED);
  }
});

test("formats of figures", () => {
  expect([count(1234567), compact(1234567), compact(15_400), compact(9_999)]).toEqual([
    "1,234,567",
    "1.23 M",
    "15.4 k",
    "9,999",
  ]);
  expect([latency(283), latency(2679), latency(999_600), latency(125e6)]).toEqual([
    "283 µs",
    "2.68 ms",
    "1.00 s",
    "2 m 05 s",
  ]);
  expect([clock(34), clock(725), clock(3723), clock(1.5)]).toEqual([
    "0:34",
    "12:05",
    "1:02:03",
    "0:01.5",
  ]);
  expect([clock(4.977), clock(59.97), clock(1.04), clock(3599.96)]).toEqual([
    "0:05",
    "1:00",
    "0:01",
    "1:00:00",
  ]);
  expect([duration(10e6), duration(90e6), duration(7500e6), duration(500_000)]).toEqual([
    "10 s",
    "1 m 30 s",
    "2 h 05 m",
    "0.5 s",
  ]);
  expect([digits(99.96), digits(9.996), digits(0.5)]).toEqual(["100", "10.0", "0.500"]);
});

test("a clock time names its time zone", () => {
  for (const [zone, text] of [
    ["America/New_York", "2026-11-29 18:35:14 UTC−5"],
    ["Asia/Kolkata", "2026-11-30 05:05:14 UTC+5:30"],
    ["UTC", "2026-11-29 23:35:14 UTC"],
  ] as const) {
    vi.stubEnv("TZ", zone);
    expect(dateTime(1_795_995_314_000_000)).toBe(text);
  }
  vi.unstubAllEnvs();
  expect(isoTime(1_795_995_314_000_000)).toBe("2026-11-29T23:35:14.000Z");
});
