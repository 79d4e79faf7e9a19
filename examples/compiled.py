"""Scenarios that run without Python under load: compiled to data or to code.

Start a shop that checks every request, then load it:

    python examples/stubs/shop_stub.py --port 8602
    ./dev loadpilot run examples/compiled.py --scenario Buyer --target http://127.0.0.1:8602

`./dev loadpilot explain examples/compiled.py` says which.
"""

from collections.abc import Mapping

from loadpilot import LoadClient, Response, VUser, file, scenario, task

LOGIN = {"user": "ada", "password": "demo"}


@scenario(
    rps=40,
    duration="10s",
    mode="constant",
    timeout={"total": "10s", "connect": "1s", "first_byte": "5s"},
    connections={"max": 20, "reuse": 0.9},
    thresholds={"p99_ms": 500, "error_rate": 0, "verbs:p95_ms": 500},
)
class Constant(VUser):
    """Only constant requests: compiled to data, sent on all cores."""

    @task(weight=3)
    def verbs(self, client: LoadClient) -> None:
        """Send each method, also by name."""
        client.head("/health")
        client.options("/health")
        client.put("/api/cart", json={"product": 7, "quantity": 2})
        client.patch("/api/cart/7", content="quantity=3", timeout="2s")
        client.delete("/api/cart/7", auth=("ada", "demo"), name="forget 7")
        client.request("GET", "/api/products", params={"page": 1, "tag": ["new", "sale"]})

    @task
    def bodies(self, client: LoadClient) -> None:
        """Send a form and a file, and read streamed answers."""
        client.post("/auth/login", data=LOGIN)
        client.post("/auth/login", content=file("stubs/login.json"))
        client.get("/api/chat", stream="sse")
        client.stream("POST", "/api/chat", json={"ask": "how"}, tokens_max=2)


@scenario(rps=40, duration="10s", mode="step", steps=4, users=10, thresholds={"checks": 100})
class Buyer(VUser):
    """Reads answers and keeps state: compiled to code. The rate rises in four steps."""

    def on_start(self, client: LoadClient) -> None:
        """Log in, once for each user."""
        answer = client.post("/auth/login", json=LOGIN)
        answer.raise_for_status()
        self.token = answer.json()["token"]

    @task(weight=4)
    def buy(self, client: LoadClient) -> None:
        """Order every cheap product."""
        for product in client.get("/api/products").json()["products"]:
            if product["price"] < 12:
                order = {"product": product["id"]}
                client.post("/api/orders", json=order, headers={"X-Session": self.token})

    def check_buy(self, status_code: int, body: Mapping[str, int]) -> None:
        """Check the answer to the last request of the task."""
        assert status_code == 201
        assert body["id"] > 0

    @task
    def miss(self, client: LoadClient) -> None:
        """Request a missing page; the check expects the 404."""
        client.get("/api/gone")

    def check_miss(self, response: Response) -> None:
        """Check the response object."""
        assert response.status_code == 404
