import { expect, test } from "vitest";
import type { TaskReport } from "../src/api/_generated/report";
import { COLUMNS, listedTasks } from "../src/data/task_order";

function call(name: string, p99: number | null) {
  const response = p99 === null ? null : { p99_us: p99, count: 1 };
  return { name, response, counts: { outcomes: {} } };
}

const TASKS = [
  { name: "browse", response: { p99_us: 5 }, calls: [call("GET /a", 5), call("GET /b", 9)] },
  { name: "buy", response: null, calls: [call("POST /buy", null)] },
  { name: "search", response: { p99_us: 7 }, calls: [call("GET /search", 7)] },
] as unknown as TaskReport[];
const P99 = COLUMNS.find(({ label }) => label === "p99")!;

const names = (...wanted: Parameters<typeof listedTasks>) =>
  listedTasks(...wanted).map(({ task, at, calls }) => [
    task.name,
    at,
    ...calls.map((one) => one.place),
  ]);

test("tasks and their calls are sorted, and know their places in the report", () => {
  expect(names(TASKS, null, "")).toEqual([
    ["browse", 0, 0, 1],
    ["buy", 1, 0],
    ["search", 2, 0],
  ]);
  expect(names(TASKS, { column: P99, isAscending: false }, "")).toEqual([
    ["search", 2, 0],
    ["browse", 0, 1, 0],
    ["buy", 1, 0],
  ]);
});

test("what was not measured comes last in both directions", () => {
  const [, , last] = names(TASKS, { column: P99, isAscending: true }, "");
  expect(last).toEqual(["buy", 1, 0]);
});

test("a search finds tasks by their name and by their calls", () => {
  expect(names(TASKS, null, "BUY")).toEqual([["buy", 1, 0]]);
  expect(names(TASKS, null, "/b")).toEqual([
    ["browse", 0, 1],
    ["buy", 1, 0],
  ]);
  expect(names(TASKS, null, "browse")).toEqual([["browse", 0, 0, 1]]);
});
