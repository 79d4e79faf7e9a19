"""The scenario of the stress tests: each way to play a task, and each way that it can end."""

import asyncio
import time

from loadpilot import LoadClient, RequestError, VUser, metrics, rand, scenario, task


@scenario(rps=10, duration="1s", mode="constant", users=20, compile=False)
class Stressed(VUser):
    async def on_start(self, client: LoadClient) -> None:
        first = await client.get("/first")
        self.seen = [first.text]
        await client.batch([{"path": f"/{n}", "json": {"n": n}} for n in range(5)])
        await asyncio.gather(client.get("/a"), asyncio.to_thread(len, "xy"), client.get("/b"))

    @task
    def plain(self, client: LoadClient) -> None:
        answer = client.get("/plain", params={"page": rand.int(1, 9)})
        self.seen = [answer.json(), answer.headers["content-type"]]
        with client.step("checkout"):
            client.post("/orders", json={"id": rand.uuid()}, cookies={"a": "b"})

    @task
    async def awaited(self, client: LoadClient) -> None:
        answer = await client.get("/awaited")
        self.seen = [answer.json() for _ in range(3)]
        metrics.counter("awaited").add()
        await self.wait(0.1)

    @task
    async def classic(self, client: LoadClient) -> None:
        answer = client.get("/classic", headers={"X-One": "1"})
        answer.raise_for_status()

    @task
    def checked(self, client: LoadClient) -> None:
        client.post("/form", files={"f": ("a.txt", b"content")}, data={"k": "v"})

    def check_checked(self, status_code: int, body: object) -> None:
        raise AssertionError([status_code, body])

    @task
    def raises(self, client: LoadClient) -> None:
        try:
            client.get("/raises")
        except RequestError as error:
            raise LookupError(str(error)) from error
        time.sleep(0.1)
        raise LookupError(self.seen)

    def on_stop(self, client: LoadClient) -> None:
        client.delete("/bye")
