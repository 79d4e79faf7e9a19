"""One request and a check of its response, in each way to write a task: the load of *python*.

nginx answers `{"status":"ok","id":1234}`. Flags set rate, users and duration.
"""

from loadpilot import LoadClient, VUser, scenario, task
from loadpilot.client import InBatch

BATCH: list[InBatch] = [{"path": "/"}] * 5
REST_SECS = 5


@scenario(rps=500, duration="10s", mode="constant", users=64, compile=False)
class Awaited(VUser):
    """A coroutine."""

    def on_start(self, client: LoadClient) -> None:
        self.headers = {"X-Token": str(client.get("/").json()["id"])}

    @task
    async def look(self, client: LoadClient) -> None:
        answer = await client.get("/", headers=self.headers)
        assert answer.status_code == 200
        assert answer.json()["id"] == 1234


@scenario(rps=500, duration="10s", mode="constant", users=64, compile=False)
class Plain(VUser):
    """A plain function."""

    def on_start(self, client: LoadClient) -> None:
        self.headers = {"X-Token": str(client.get("/").json()["id"])}

    @task
    def look(self, client: LoadClient) -> None:
        answer = client.get("/", headers=self.headers)
        assert answer.status_code == 200
        assert answer.json()["id"] == 1234


@scenario(rps=100, duration="10s", mode="constant", users=64)
class Batched(VUser):
    """Five requests at a time."""

    @task
    def look(self, client: LoadClient) -> None:
        for answer in client.batch(BATCH):
            assert answer.status_code == 200


@scenario(rps=100, duration="10s", mode="constant", users=64, compile=False)
class BatchedInPython(Batched):
    """The same, in Python."""


@scenario(rps=500, duration="10s", mode="constant", users=64)
class Compiled(Plain):
    """The plain function, played without Python."""


@scenario(rps=500, duration="10s", mode="constant")
class Constant(VUser):
    """No check."""

    @task
    def look(self, client: LoadClient) -> None:
        client.get("/", headers={"X-Token": "1"})


@scenario(users=10_000, duration="10s", compile=False)
class RestingPlain(Plain):
    """Users that mostly pause, each on a stack of its own."""

    @task
    def look(self, client: LoadClient) -> None:
        super().look(client)
        self.wait(REST_SECS)


@scenario(users=10_000, duration="10s", compile=False)
class RestingAwaited(Awaited):
    """The same as coroutines."""

    @task
    async def look(self, client: LoadClient) -> None:
        await super().look(client)
        await self.wait(REST_SECS)
