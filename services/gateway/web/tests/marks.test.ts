import { expect, test } from "vitest";
import killed from "../../../../tests/e2e/results/stored_logs/killed_agent.report.json";
import type { Report } from "../src/api/_generated/report";
import { markTime, marksOf } from "../src/data/marks";

type Facts = Pick<Report, "run" | "gaps">;

const KILLED = killed as unknown as Report;

/** The facts of a run of 20 s with one load generator, changed. */
function facts(run: Partial<Report["run"]>, gaps: Partial<Report["gaps"]> = {}): Facts {
  const holder = { agent: "a-1", boot_id: "b1" };
  const defaults = {
    ...KILLED.run,
    profile_us: 20_000_000,
    tick_us: 1_000_000,
    holders: [{ holder, shards: 4, started: 0, calls: 0, deltas: 0, finished: true, lost: null }],
    maps: [{ generation: 1, from_tick: 0, holdings: [{ holder, shards: [] }] }],
    steered: [],
  };
  return { run: { ...defaults, ...run }, gaps: { ...KILLED.gaps, lost: [], ...gaps } };
}

function times(report: Facts): string[] {
  return marksOf(report).map((mark) => `${markTime(mark)} ${mark.label}`);
}

test("a killed load generator is marked where its arrivals are missing, and its successor", () => {
  expect(times(KILLED)).toEqual(["0:06 to 0:08 agent-2 lost", "0:08 agent-2 back"]);
  const [lost] = marksOf(KILLED);
  expect(lost!.text).toContain("21 arrivals due in this time were not reported");
  expect(lost!.text).toContain("a new one took over");
});

test("an undisturbed run has no marks", () => {
  expect(marksOf(facts({}))).toEqual([]);
});

test("rates, pauses and the stop are marked when they took effect", () => {
  const by = "me@host";
  const steered: Report["run"]["steered"] = [
    { at: 1, by, from_us: 3e6, change: { type: "rate", was: 40e6, rate: 90e6 } },
    { at: 2, by, from_us: 5e6, change: { type: "paused" } },
    { at: 3, by, from_us: 8e6, change: { type: "resumed" } },
    { at: 4, by, from_us: 9e6, change: { type: "paused" } },
  ];
  expect(times(facts({ steered, stopped_at_us: 12_500_000 }))).toEqual([
    "0:03 rate 90.0/s",
    "0:05 to 0:08 paused",
    "0:09 to 0:12.5 paused",
    "0:12.5 stopped",
  ]);
  const [rate, pause, again] = marksOf(facts({ steered }));
  expect(rate!.text).toBe("Rate changed from 40.0/s to 90.0/s by me@host");
  expect(pause!.text).toContain("resumed by me@host");
  expect(again!.toUs).toBe(20e6);
});

test("a run in progress is paused since a time, and a change after the stop is left out", () => {
  const by = "me@host";
  const steered: Report["run"]["steered"] = [
    { at: 1, by, from_us: 9_500_000, change: { type: "paused" } },
    { at: 2, by, from_us: 14e6, change: { type: "rate", was: 40e6, rate: 90e6 } },
  ];
  const [pause] = marksOf(facts({ steered, state: "running" }));
  expect(markTime(pause!)).toBe("since 0:09.5");
  expect(pause!.text).toBe("Paused by me@host");
  expect(times(facts({ steered, stopped_at_us: 14e6 }))).toEqual([
    "0:09.5 to 0:14 paused",
    "0:14 stopped",
  ]);
});

test("a load generator that left or was lost without a gap is marked at the takeover", () => {
  const [a, b] = ["b1", "b2"].map((boot_id, i) => ({ agent: `a-${i + 1}`, boot_id }));
  const holder = (of: typeof a, lost: "left" | "silent" | null) => ({
    ...facts({}).run.holders[0]!,
    holder: of!,
    lost,
  });
  const maps = [
    { generation: 1, from_tick: 0, holdings: [{ holder: a!, shards: [] }] },
    { generation: 2, from_tick: 7, holdings: [{ holder: b!, shards: [] }] },
  ];
  expect(times(facts({ maps, holders: [holder(a, "left"), holder(b, null)] }))).toEqual([
    "0:07 a-1 left",
    "0:07 a-2 joined",
  ]);
  expect(times(facts({ maps, holders: [holder(a, null), holder(b, "silent")] }))).toEqual([
    "0:07 a-2 joined",
    "time unknown a-2 lost",
  ]);
});
