"""Code that type checkers must report: each line that ends with the word `wrong`, and no other."""

import asyncio

from loadpilot import LoadClient, Response, VUser, env, feed, metrics, rand, scenario, task
from loadpilot.infer import triton_binary


@scenario(rate=5)  # wrong
class NoSuchSetting(VUser):
    @task(wieght=3)  # wrong
    def t(self, client: LoadClient) -> None:
        client.get("/")


@scenario(mode="steps", arrivals="random")  # wrong
class NoSuchChoice(VUser):
    users = feed("users.csv", order="reversed")  # wrong

    def on_start(self, client: str) -> None:  # wrong
        client.upper()

    @task
    def t(self, client: LoadClient) -> None:
        client.get(7)  # wrong
        client.get("/", header={"X": "1"})  # wrong
        client.get("/", headers={"X": 1})  # wrong
        client.post("/", json={1, 2})  # wrong
        client.post("/", content=12)  # wrong
        client.get("/", stream="tokens")  # wrong
        client.get("/", timeout=None)  # wrong
        client.fetch("/")  # wrong
        client.batch([{"url": "/"}])  # wrong
        answer: str = client.get("/")  # wrong
        print(answer)
        self.wait("1s")  # wrong

    @task
    async def awaited(self, client: LoadClient) -> None:
        answer = await client.get("/")
        print(answer.status)  # wrong
        code: str = answer.status_code  # wrong
        print(code)
        await answer.json  # wrong
        await asyncio.sleep("1")  # wrong

    def check_t(self, response: Response) -> None:
        metrics.counter("orders").add("1")  # wrong
        metrics.trend(5)  # wrong
        rand.int("1", 6)  # wrong
        env("SIZE", 7)  # wrong
        print(response.headers["X"] + 1)  # wrong


triton_binary([("INPUT0", 16, "FP32", b"")])  # wrong
