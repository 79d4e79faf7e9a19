"""Scenarios in Python: rows, draws, metrics, think time, coroutines, users who share a login.

Start a shop that checks every request, then load it:

    python examples/stubs/shop_stub.py --port 8602
    ./dev loadpilot run examples/scripted.py --scenario Scripted --target http://127.0.0.1:8602

`./dev loadpilot explain examples/scripted.py` says what keeps each in Python.
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
    """What needs Python: rows, draws, metrics, several requests at a time, think time."""

    customers = feed("customers.csv", cycle=True, order="shuffled")

    @setup
    def fill(self, client: LoadClient) -> None:
        """Happens once, before everybody."""
        client.post("/admin/products", json={"count": 5}).raise_for_status()
        self.seeded = True

    def on_start(self, client: LoadClient) -> None:
        """Log in; the cookie is kept for this user."""
        assert self.seeded
        client.post("/auth/login", json={"user": next(self.customers)["name"]})

    @task(weight=3)
    def order(self, client: LoadClient) -> None:
        """Order what the row says, as a step with a name."""
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
        """Look at it as the user does."""
        assert status_code == 201
        assert body["id"]

    @task
    def look(self, client: LoadClient) -> None:
        """Several at a time; a form with a picture; where a redirect leads."""
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
        """What can go wrong with a request."""
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
        """Happens once, when all is over."""
        client.delete("/admin/clear")


class Member(VUser):
    """Users who share one login."""

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
    """Coroutines, which inherit how users log in."""

    def on_start(self, client: LoadClient) -> None:
        """Do what the base does, and more."""
        super().on_start(client)
        self.headers = {"X-Session": self.token}

    @task(weight=5)
    async def buy(self, client: LoadClient) -> None:
        """Await nothing but the client: no event loop is needed for that."""
        answer = await client.get("/api/products")
        product = answer.json()["products"][0]["id"]
        await client.post("/api/orders", json={"product": product}, headers=self.headers)
        await asyncio.sleep(0.01)

    def check_buy(self, status_code: int, body: Mapping[str, int]) -> None:
        """Look at the answer to the order."""
        assert status_code == 201
        assert body["id"]

    @task
    async def both(self, client: LoadClient) -> None:
        """Await whatever asyncio has."""
        size = await asyncio.to_thread(len, "xy")
        one, two = await asyncio.gather(client.get("/health"), client.get("/api/products"))
        assert one.ok
        assert two.ok
        answers = await client.batch([{"path": "/health"}, {"path": "/api/products"}])
        assert len(answers) == size
        await self.wait(0.01)

    async def on_stop(self, client: LoadClient) -> None:
        """Hooks may be coroutines, too."""
        await client.post("/auth/logout")
