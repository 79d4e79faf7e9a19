"""Scenarios in Python: rows, random values, metrics, think time, coroutines, a shared login.

Start a shop that checks every request, then load it:

    python examples/stubs/shop_stub.py --port 8602
    ./dev loadpilot run examples/scripted.py --scenario Scripted --target http://127.0.0.1:8602

`./dev loadpilot explain examples/scripted.py` says why each runs in Python.
"""

import asyncio
import threading
from collections.abc import Mapping

from loadpilot import (
    HTTPStatusError,
    LoadClient,
    RedirectError,
    RequestError,
    VUser,
    env,
    feed,
    metrics,
    now,
    rand,
    scenario,
    setup,
    task,
    teardown,
)

API = env("API", "/api")
CAMPAIGN = env("CAMPAIGN", "spring", secret=True)
PIXEL = b"\x89PNG"
LOGIN = {"user": "ada", "password": "demo"}


@scenario(
    rps=40,
    duration="10s",
    mode="constant",
    users=8,
    tags={"team": "shop"},
    secret_headers=["X-Session", "X-Campaign"],
    thresholds={
        "checks": "> 99",
        "orders.count": "> 0",
        "total.p95": "<= 50",
        "seen.rate": ">= 100",
    },
)
class Scripted(VUser):
    """Rows, random values, metrics, concurrent requests, think time."""

    customers = feed("customers.csv", cycle=True, order="shuffled")

    @setup
    def fill(self, client: LoadClient) -> None:
        """Create products, once, before any user is prepared."""
        client.post("/admin/products", json={"count": 5}).raise_for_status()
        self.seeded = True

    def on_start(self, client: LoadClient) -> None:
        """Log in; the user keeps the cookie."""
        assert self.seeded
        client.post("/auth/login", json={"user": next(self.customers)["name"]})

    @task(weight=3)
    def order(self, client: LoadClient) -> None:
        """Order the product of the row, inside a named step."""
        row = next(self.customers)
        with client.step("checkout"):
            order = {
                "product": int(row["product"]),
                "id": rand.uuid(),
                "count": rand.int(1, 5),
                "note": rand.choice(["gift", "urgent"]) + rand.text(6),
                "share": rand.float(),
                "at": now().isoformat(),
            }
            headers = {"X-Campaign": CAMPAIGN}
            answer = client.post(f"{API}/orders", json=order, headers=headers)
        self.wait(0.01, 0.05)
        metrics.counter("orders").add()
        metrics.trend("total").add(answer.json()["total"])
        metrics.rate("seen").add(answer.ok and answer.elapsed_ms > 0)

    def check_order(self, status_code: int, body: Mapping[str, int]) -> None:
        """Check the order's answer."""
        assert status_code == 201
        assert body["id"]

    @task
    def look(self, client: LoadClient) -> None:
        """Send concurrent requests and a form with a picture, and follow a redirect."""
        first, second = client.batch([{"path": "/health"}, {"method": "GET", "path": "/api/old"}])
        assert (first.ok, second.status_code) == (True, 302)
        client.post(
            "/api/pictures",
            files={"photo": ("a.png", PIXEL, "image/png")},
            data={"title": "a dot"},
            cookies={"theme": "dark"},
        )
        landed = client.get("/api/old", follow_redirects=True)
        assert landed.headers["content-type"] == "application/json"
        assert landed.json() == {"moved": True}

    @task
    def fail(self, client: LoadClient) -> None:
        """Catch the errors of a request."""
        try:
            client.get("/api/gone").raise_for_status()
        except HTTPStatusError as error:
            assert "gone" in error.response.text
        except (RequestError, RedirectError) as error:
            raise AssertionError(error) from error

    @task
    def read(self, client: LoadClient) -> None:
        """Read a stream when it has ended, or after a second."""
        answer = client.stream("POST", "/api/chat", json={"ask": "how"}, listen="1s")
        assert [event.data for event in answer.events()] == ["0", "1", "2"]
        assert len(list(answer.iter_lines())) == 6
        assert answer.content.startswith(b"data: 0")

    def on_stop(self, client: LoadClient) -> None:
        """Log out."""
        client.post("/auth/logout")

    @teardown
    def clear(self, client: LoadClient) -> None:
        """Delete the products, once, when the run is over."""
        client.delete("/admin/clear")


class Member(VUser):
    """Users that share one login."""

    lock = threading.Lock()
    token = ""

    def on_start(self, client: LoadClient) -> None:
        """Log in unless another user has."""
        with Member.lock:
            if not Member.token:
                Member.token = client.post("/auth/login", json=LOGIN).json()["token"]


@scenario(
    rps=40,
    duration="10s",
    ramp_up="1s",
    mode="ramp",
    warm_up="1s",
    max_wait="5s",
    users=8,
    prepare="submitter",
    compile=False,
    thresholds={"checks": 100, "error_rate": 0},
)
class Awaited(Member):
    """Tasks as coroutines; the login is inherited."""

    def on_start(self, client: LoadClient) -> None:
        """Log in as the base does, and keep the headers."""
        super().on_start(client)
        self.headers = {"X-Session": self.token}

    @task(weight=5)
    async def buy(self, client: LoadClient) -> None:
        """Await only the client and a sleep, which needs no event loop."""
        answer = await client.get("/api/products")
        product = answer.json()["products"][0]["id"]
        await client.post("/api/orders", json={"product": product}, headers=self.headers)
        await asyncio.sleep(0.01)

    def check_buy(self, status_code: int, body: Mapping[str, int]) -> None:
        """Check the answer to the order."""
        assert status_code == 201
        assert body["id"]

    @task
    async def both(self, client: LoadClient) -> None:
        """Await other parts of asyncio."""
        size = await asyncio.to_thread(len, "xy")
        one, two = await asyncio.gather(client.get("/health"), client.get("/api/products"))
        assert one.ok
        assert two.ok
        answers = await client.batch([{"path": "/health"}, {"path": "/api/products"}])
        assert len(answers) == size
        await self.wait(0.01)

    async def on_stop(self, client: LoadClient) -> None:
        """Log out; hooks may be coroutines too."""
        await client.post("/auth/logout")
