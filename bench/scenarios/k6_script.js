// One small request, again and again, with or without a look at its answer, or the shop's three
// routes in turn: what k6 runs in the bench.
// The environment says how.
import { check } from "k6";
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
  discardResponseBodies: !__ENV.BENCH_CHECKED,
  scenarios: { steady: rps > 0 ? open : closed },
  summaryTrendStats: ["med", "p(90)", "p(99)", "max"],
};

const url = __ENV.BENCH_URL;
const login = JSON.stringify({ username: "bench", password: "bench" });
const json = { headers: { "Content-Type": "application/json" } };
const bearer = { headers: { Authorization: "Bearer bench" } };
const routes = [
  () => http.get(`${url}health`),
  () => http.get(`${url}api/user`, bearer),
  () => http.post(`${url}auth/login`, login, json),
];
let turn = __VU;

// The same with a login for each user and a look at each answer.
let token = null;
const looks = [
  () => check(http.get(`${url}health`), { well: (a) => a.status === 200 && a.json().status === "ok" }),
  () => check(http.get(`${url}api/user`, { headers: { Authorization: `Bearer ${token}` } }), {
    known: (a) => a.status === 200,
  }),
  () => check(http.post(`${url}auth/login`, login, json), {
    "logged in": (a) => a.status === 200 && a.json().token !== "",
  }),
];

export default function () {
  if (__ENV.BENCH_SHOP && __ENV.BENCH_CHECKED) {
    token ??= http.post(`${url}auth/login`, login, json).json().token;
    looks[turn++ % looks.length]();
  } else if (__ENV.BENCH_SHOP) {
    routes[turn++ % routes.length]();
  } else if (__ENV.BENCH_CHECKED) {
    check(http.get(url, { headers: { "X-Token": "1" } }), {
      "status is 200": (answer) => answer.status === 200,
      "id is 1234": (answer) => answer.json().id === 1234,
    });
  } else {
    http.get(url);
  }
}

export function handleSummary(data) {
  return { [__ENV.BENCH_SUMMARY]: JSON.stringify(data.metrics) };
}
