"""A scenario in Python with hooks, checks, state and both kinds of tasks."""

from __future__ import annotations

from shop_parts import item_path

from loadpilot import LoadClient, VUser, scenario, task


@scenario(rps=100, duration="6s", mode="constant", users=6, thresholds={"error_rate": 100})
class Shop(VUser):
    def __init__(self) -> None:
        self.seen = 0

    def on_start(self, client: LoadClient) -> None:
        client.post("/login", json={"user": "demo"}).raise_for_status()
        self.token = "t-1"  # noqa: S105  (made up)

    @task(weight=3)
    def browse(self, client: LoadClient) -> None:
        self.seen += 1
        client.get("/list", headers={"X-Session": self.token})
        client.get(item_path(self.seen), name="item", params={"n": 1})

    def check_browse(self, status_code: int, body: object) -> None:
        assert isinstance(body, dict | None)
        assert status_code == 404, "an item that is there"

    @task(weight=2)
    async def pay(self, client: LoadClient) -> None:
        answer = await client.post("/pay", data={"amount": 5})
        if answer.status_code == 503:
            raise LookupError("no till")
        answer = await client.get("/paid")

    @task
    async def classic(self, client: LoadClient) -> None:
        client.get("/classic")

    def on_stop(self, client: LoadClient) -> None:
        client.delete("/session")
