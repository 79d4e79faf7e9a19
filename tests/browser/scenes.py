"""Scenarios for the tests of the pages."""

STEADY = """
from loadpilot import LoadClient, VUser, scenario, task

@scenario(rps={rps}, duration="{secs}s", mode="constant", thresholds={{"p95_ms": {p95}}})
class Steady(VUser):
    @task(weight=3)
    def browse(self, client: LoadClient) -> None:
        client.get("/browse")

    @task(weight=1)
    def buy(self, client: LoadClient) -> None:
        client.get("/cart")
        client.post("/buy", json={{"n": 1}})
"""


def steady(rps: int = 40, secs: int = 5, p95: float = 20_000) -> str:
    """Two tasks at a constant rate, and one threshold."""
    return STEADY.format(rps=rps, secs=secs, p95=p95)


STEPS = """
from loadpilot import LoadClient, VUser, scenario, task

@scenario(rps=60, duration="6s", mode="step", steps=3)
class Steps(VUser):
    @task
    def browse(self, client: LoadClient) -> None:
        client.get("/browse")
"""
"""Two seconds each at 20, 40 and 60 arrivals per second."""

MEASURED = """
from loadpilot import LoadClient, VUser, metrics, scenario, task

LIMITS = {"orders.rate": ">= 1", "cart.p95": "<= 100", "error_rate": "<= 100", "checks": ">= 1"}

@scenario(rps=40, duration="4s", mode="constant", users=8, warm_up="1s", thresholds=LIMITS)
class Measured(VUser):
    @task(weight=3)
    def buy(self, client: LoadClient) -> None:
        answer = client.post("/orders")
        metrics.counter("orders").add()
        metrics.trend("cart").add(12.5)
        metrics.rate("hit").add(answer.ok)
        if not answer.ok:
            raise ValueError("no order")

    @task
    def browse(self, client: LoadClient) -> None:
        client.get("/browse")
        metrics.counter("orders").add(2)

    def check_browse(self, status_code: int, body: object) -> None:
        assert status_code == 200
"""
"""A task with metrics, a check and errors of its own; its warm-up is the first second."""

CLOSED = """
from loadpilot import LoadClient, VUser, scenario, task

@scenario(users=4, duration="4s", pacing="0.2s")
class Closed(VUser):
    @task
    def browse(self, client: LoadClient) -> None:
        client.get("/browse")
"""
"""A closed loop: 4 users that begin a task every 0.2 s."""

SHOP = """
from loadpilot import LoadClient, VUser, scenario, task

@scenario(
    rps=20,
    duration="6s",
    mode="constant",
    max_wait="500ms",
    thresholds={
        "p95_ms": 500,
        "buy:p99_ms": 900,
        "error_rate": "< 5",
        "achieved_rps": ">= 15",
        "dropped_rate": "<= 2",
    },
)
class Shop(VUser):
    @task(weight=3)
    def browse(self, client: LoadClient) -> None:
        client.get("/browse")

    @task(weight=1)
    def buy(self, client: LoadClient) -> None:
        client.get("/cart")
        client.post("/buy", json={"n": 1})

    def check_buy(self, status_code: int, body: object) -> None:
        assert status_code == 200
"""

CHAT = """
from loadpilot import LoadClient, VUser, scenario, task

@scenario(rps=20, duration="5s", mode="constant", thresholds={"p99_token_gap_ms": 10_000})
class Chat(VUser):
    @task(weight=2)
    def ask(self, client: LoadClient) -> None:
        client.post("/v1/chat", json={"prompt": "hello"}, stream="sse")

    @task(weight=1)
    def follow_up(self, client: LoadClient) -> None:
        client.post("/v1/chat", json={"prompt": "and then?"}, stream="sse")
"""
