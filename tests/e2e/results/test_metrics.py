"""Own metrics of a scenario and pass rates of checks: counted once, and judged as gates."""

from __future__ import annotations

import signal
from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest
from tests.e2e.support.command import SCENARIOS, Finished, Loadpilot

if TYPE_CHECKING:
    from tests.oracle.oracle import Oracle

MEASURED = SCENARIOS / "metrics.py"
RPS = 100
WARM_UP_S, DURATION_S = 2, 6
ASIDE = {"/hello", "/bye"}
HEAD = "from loadpilot import LoadClient, VUser, metrics, scenario, task\n"


def measured(oracle: Oracle) -> Counter[str]:
    """How often each route was requested by arrivals that were due after the warm-up."""
    requests = [request for request in oracle.requests() if request.route not in ASIDE]
    due = {request: int((request.id or "").split("/")[1]) for request in requests}
    first = WARM_UP_S * RPS
    return Counter(request.route for request, arrival in due.items() if arrival >= first)


def rank(values: list[float], percent: int) -> float:
    """Nearest-rank percentile: the least value that at least this percentage of all values do not
    exceed."""
    return sorted(values)[-(-len(values) * percent // 100) - 1]


@pytest.mark.slow
@pytest.mark.parametrize("agents", [1, 3])
def test_what_a_scenario_adds_is_in_the_report_once(
    loadpilot: Loadpilot, oracle: Oracle, agents: int
) -> None:
    """Broken if a value is lost or doubled, or if values of another task, of the warm-up or of a
    hook count."""
    oracle.status(503, path="/orders/0")
    finished = loadpilot.run(MEASURED, oracle.url, "--agents", str(agents))
    assert finished.judged == 0, finished.stdout
    seen = measured(oracle)
    orders = {route: n for route, n in seen.items() if route.startswith("/orders/")}
    bought, browsed = sum(orders.values()), seen["/browse"]
    assert (bought, browsed) == (300, 100)
    refused = orders["/orders/0"]
    seconds = DURATION_S - WARM_UP_S
    values = [2.5 * int(route[-1]) - 5 for route, n in orders.items() for _ in range(n)]
    revenue = float(Fraction(bought, 10))
    trend = {
        "count": bought,
        "min": -5.0,
        "mean": pytest.approx(sum(values) / bought),
        **{f"p{percent}": rank(values, percent) for percent in (50, 90, 95, 99)},
        "max": 5.0,
    }
    counters = {
        "looked": {"count": bought, "rate": bought / seconds},
        "orders": {"count": bought, "rate": bought / seconds},
        "revenue": {"count": revenue, "rate": revenue / seconds},
    }
    buy, browse = finished.report["tasks"]
    assert buy["metrics"] == {
        "counters": counters,
        "trends": {"cart_value": trend},
        "rates": {"cache_hit": {"count": bought, "trues": 0, "rate": 0.0}},
    }
    both = {"count": bought + browsed, "trues": browsed, "rate": 25.0}
    assert finished.report["metrics"]["rates"] == {"cache_hit": both}
    of_all = finished.report["metrics"]["counters"]["orders"]
    assert of_all["count"] == bought + 2 * browsed
    assert browse["metrics"]["counters"] == {
        "orders": {"count": 2 * browsed, "rate": 2 * browsed / seconds}
    }
    assert finished.report["metrics"]["trends"] == {"cart_value": trend}

    assert buy["checks"] == {"passed": bought - refused, "failed": refused}
    assert browse["checks"] == {"passed": browsed, "failed": 0}
    checks = {"passed": bought + browsed - refused, "failed": refused}
    assert finished.report["checks"] == checks
    share = 100 * checks["passed"] / 400
    assert f"checks       {share:.2f} % of 400 passed" in finished.stdout
    assert loadpilot.call("report", finished.run).stdout == finished.stdout


@pytest.mark.slow
def test_what_was_added_before_a_stop_is_counted(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if values that a task had added are lost when a stop ends it."""
    scene = (
        HEAD
        + """
import time
@scenario(rps=20, duration="60s", mode="constant", users=40)
class S(VUser):
    @task
    def t(self, client: LoadClient) -> None:
        client.get("/first")
        metrics.counter("begun").add()
        time.sleep(30)
"""
    )
    with loadpilot.start(scene, oracle.url) as running:
        assert oracle.wait_count(20, 30)
        running.signal(signal.SIGINT)
        finished = running.end(30)
    begun = finished.report["metrics"]["counters"]["begun"]["count"]
    assert begun == len(oracle.requests()) == finished.report["arrivals"]["started"]


OUTSIDE = "outside the warm-up"
GATES = """
@scenario(rps=50, duration="2s", mode="constant", users=5, thresholds={gates})
class Gated(VUser):
    def on_start(self, client: LoadClient) -> None:
        metrics.counter("orders").add(1000)

    @task
    def buy(self, client: LoadClient) -> None:
        metrics.trend("cart").add(12.5)
        metrics.counter("orders").add(0.5)
        metrics.rate("hit").add(client.get("/buy").ok)

    @task
    def look(self, client: LoadClient) -> None:
        client.get("/look")

    def check_buy(self, status_code: int, body: object) -> None:
        assert status_code == 200

    def check_look(self, response: object) -> None:
        pass
"""


def gates(finished: Finished) -> dict[str, dict[str, Any]]:
    return {one["key"]: one for one in finished.report["verdict"]["thresholds"]}


@pytest.mark.slow
def test_gates_of_own_metrics_pass_and_fail_at_their_limits(
    loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if a gate on an own metric measures something else than its key."""
    oracle.status(500, path="/buy", fraction=0.5)
    holding = {
        "orders.count": ">= 25",
        "orders.rate": "<= 12.5",
        "buy:orders.count": "> 24.9",
        "cart.p95": "<= 12.5",
        "cart.min": "> -1",
        "hit.rate": ">= 50",
        "checks": 75,
        "buy:checks": "<= 50",
        "look:checks": ">= 100",
        "p99_ms": "< 60000",
    }
    finished = loadpilot.run(HEAD + GATES.format(gates=holding), oracle.url)
    judged = gates(finished)
    assert list(judged) == list(holding)
    assert all(one["passed"] for one in judged.values()), finished.stdout
    assert finished.judged == 0

    failing = {
        "orders.count": "> 25",
        "cart.max": "< 12.5",
        "hit.rate": ">= 50.1",
        "checks": 75.1,
        "look:cart.p50": ">= 0",
        "cart.rate": ">= 0",
        "refunds.count": "<= 0",
    }
    flags = [part for key, limit in failing.items() for part in ("--threshold", f"{key}={limit}")]
    scene = HEAD + GATES.format(gates={"orders.count": ">= 25"})
    finished = loadpilot.run(scene, oracle.url, *flags)
    assert finished.judged == 1
    judged = gates(finished)
    assert list(judged) == list(failing), "the flag did not replace the gate of the same key"
    assert not any(one["passed"] for one in judged.values()), finished.stdout
    assert {key: one["reason"] for key, one in judged.items() if "reason" in one} == {
        "look:cart.p50": f"task look: nothing was added to cart {OUTSIDE}, nor to any other metric",
        "cart.rate": "cart is a trend: it has count, min, mean, p50 to p99 and max, and no rate",
        "refunds.count": f"nothing was added to refunds {OUTSIDE}, only to cart, hit, orders",
    }
    assert f"nothing was added to refunds {OUTSIDE}, only to cart" in finished.stdout


@pytest.mark.slow
def test_a_gate_on_checks_that_never_looked_fails(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if a run in which no check ran passes a gate on checks."""
    scene = (
        HEAD
        + """
@scenario(rps=20, duration="2s", mode="constant", thresholds={"checks": 0})
class S(VUser):
    @task
    def t(self, client: LoadClient) -> None:
        client.get("/")
        raise LookupError("before its check")

    def check_t(self, status_code: int, body: object) -> None:
        pass
"""
    )
    finished = loadpilot.run(scene, oracle.url)
    assert finished.judged == 1
    (gate,) = finished.report["verdict"]["thresholds"]
    assert (gate["actual"], gate["reason"]) == (None, f"no check looked at an answer {OUTSIDE}")


def test_misuse_is_an_error_of_its_line(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if a name of two kinds, an invalid value or too many names are counted silently."""
    scene = (
        HEAD
        + """TAKEN, TIME = metrics.counter("taken"), metrics.trend("time")
@scenario(rps=50, duration="2s", mode="constant")
class S(VUser):
    @task
    def kinds(self, client: LoadClient) -> None:
        client.get("/")
        TAKEN.add()
        metrics.trend("taken").add(1)

    @task
    def values(self, client: LoadClient) -> None:
        client.get("/")
        TIME.add(float("nan"))

    @task
    def names(self, client: LoadClient) -> None:
        client.get("/")
        for n in range(200):
            metrics.counter(f"m{n}").add()
"""
    )
    finished = loadpilot.run(scene, oracle.url)
    errors = {task["name"]: task["raised"][0]["text"] for task in finished.report["tasks"]}
    assert errors["kinds"] == (
        "ValueError: metrics.trend('taken'): taken is a counter already (scene_1.py:9)"
    )
    assert errors["values"] == (
        "ValueError: metrics.trend('time').add() takes a number that is finite, not nan "
        "(scene_1.py:14)"
    )
    assert errors["names"].startswith("ValueError: a scenario has at most 100 metrics, and 'm")
    counters = finished.report["metrics"]["counters"]
    assert len(counters) <= 100
    assert counters["taken"]["count"] == finished.report["tasks"][0]["arrivals"]["started"]
