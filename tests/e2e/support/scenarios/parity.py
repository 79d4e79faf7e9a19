"""One user that makes every request of the table, in both ways to write a task."""

from __future__ import annotations

from parity_cases import CASES, described

from loadpilot import LoadClient, VUser, scenario, task


@scenario(rps=1, duration="1s", mode="constant", users=1)
class Parity(VUser):
    @task
    def plain(self, client: LoadClient) -> None:
        for method, path, extras in CASES:
            answer = client.request(method, path, **extras)
            client.post("/seen", json=described(answer))


@scenario(rps=1, duration="1s", mode="constant", users=1)
class Awaited(VUser):
    @task
    async def awaited(self, client: LoadClient) -> None:
        for method, path, extras in CASES:
            answer = await client.request(method, path, **extras)
            await client.post("/seen", json=described(answer))
