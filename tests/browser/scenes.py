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

CLOSED = """
from loadpilot import LoadClient, VUser, scenario, task

@scenario(users=4, duration="6s", thresholds={"p95_ms": 500})
class Resting(VUser):
    @task
    def look(self, client: LoadClient) -> None:
        client.get("/look")
"""

MEASURED = """
from loadpilot import LoadClient, VUser, metrics, scenario, task

@scenario(rps=20, duration="6s", mode="constant", users=8, thresholds={"p95_ms": 500})
class Measured(VUser):
    def __init__(self) -> None:
        self.turn = 0

    @task(weight=3)
    def order(self, client: LoadClient) -> None:
        self.turn = (self.turn + 1) % 5
        answer = client.post(f"/orders/{self.turn}")
        metrics.counter("revenue").add(0.1)
        metrics.trend("cart_value").add(self.turn * 2.5 + 5)
        metrics.rate("cache_hit").add(self.turn > 1)
        if self.turn == 4:
            raise ValueError("the cart is empty")

    def check_order(self, status_code: int, body: object) -> None:
        assert status_code == 200

    @task
    def browse(self, client: LoadClient) -> None:
        client.get("/browse")
        metrics.counter("views").add()
"""
