"""A scenario whose tasks examine responses, and that needs no Python under load."""

from __future__ import annotations

from loadpilot import LoadClient, VUser, scenario, task


@scenario(rps=100, duration="4s", mode="constant", users=6, thresholds={"error_rate": 100})
class Compiled(VUser):
    teapot = 418

    def on_start(self, client: LoadClient) -> None:
        answer = client.post("/login", json={"user": "demo"})
        answer.raise_for_status()
        self.token = f"t-{answer.status_code}"

    @task(weight=3)
    def browse(self, client: LoadClient) -> None:
        answer = client.get("/list", headers={"X-Shop-User": self.token})
        if answer.status_code == self.teapot:
            client.get("/tea", params={"for": self.token}, name="tea")

    def check_browse(self, status_code: int, body: object) -> None:  # noqa: ARG002
        assert status_code in (200, 418)
        assert status_code == 200, f"no list for {self.token}: {status_code}"

    @task
    async def pay(self, client: LoadClient) -> None:
        answer = await client.post("/pay", data={"amount": 5})
        assert answer.ok, "no till"
        await client.get("/paid")

    def on_stop(self, client: LoadClient) -> None:
        client.delete("/session")
