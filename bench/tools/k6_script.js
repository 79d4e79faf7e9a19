// One small request, again and again: what k6 runs in the bench. The environment says how.
import http from "k6/http";

const rps = Number(__ENV.BENCH_RPS);
const users = Number(__ENV.BENCH_USERS);
const duration = `${__ENV.BENCH_SECS}s`;

const closed = { executor: "constant-vus", vus: users, duration, gracefulStop: "1s" };
const open = {
  executor: "constant-arrival-rate",
  rate: rps,
  timeUnit: "1s",
  duration,
  preAllocatedVUs: users,
  maxVUs: Math.max(users, 1000),
};

export const options = {
  discardResponseBodies: true,
  scenarios: { steady: rps > 0 ? open : closed },
  summaryTrendStats: ["med", "p(90)", "p(99)", "max"],
};

export default function () {
  http.get(__ENV.BENCH_URL);
}

export function handleSummary(data) {
  return { [__ENV.BENCH_SUMMARY]: JSON.stringify(data.metrics) };
}
