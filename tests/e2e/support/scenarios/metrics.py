"""Own metrics of a scenario, recorded in every place where Python runs."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

from loadpilot import LoadClient, VUser, metrics, scenario, task

if TYPE_CHECKING:
    from loadpilot._native import Response

ORDERS = metrics.counter("orders")
ORDERS.add(1_000_000)


@scenario(rps=100, duration="6s", mode="constant", users=8, warm_up="2s")
class Measured(VUser):
    def __init__(self) -> None:
        self.turn = 0
        ORDERS.add(1_000_000)

    def on_start(self, client: LoadClient) -> None:
        client.get("/hello")
        ORDERS.add(1_000_000)

    @task(weight=3)
    def buy(self, client: LoadClient) -> None:
        self.turn = (self.turn + 1) % 5
        ORDERS.add()
        if self.turn == 1:
            aside = threading.Thread(target=ORDERS.add, args=(1_000_000,))
            aside.start()
            aside.join()
        answer = client.post(f"/orders/{self.turn}")
        metrics.counter("revenue").add(0.1)
        metrics.trend("cart_value").add(self.turn * 2.5 - 5)
        metrics.rate("cache_hit").add(answer.headers.get("x-cache") == "hit")

    def check_buy(self, status_code: int, body: object) -> None:  # noqa: ARG002
        metrics.counter("looked").add()
        assert status_code == 200

    @task
    async def browse(self, client: LoadClient) -> None:
        answer = await client.get("/browse")
        await asyncio.sleep(0.05)
        metrics.rate("cache_hit").add(answer.ok)
        ORDERS.add(2)

    def check_browse(self, response: Response) -> None:
        assert response.ok

    def on_stop(self, client: LoadClient) -> None:
        client.get("/bye")
        ORDERS.add(1_000_000)
