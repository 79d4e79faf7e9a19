"""A task that only Python can play."""

import math

from loadpilot import LoadClient, VUser, scenario, task


@scenario(rps=50, duration="4s", mode="constant", users=5, compile=False)
class Scripted(VUser):
    def on_start(self, client: LoadClient) -> None:
        self.expected = client.get("/health").status_code

    @task
    def browse(self, client: LoadClient) -> None:
        answer = client.get("/api/products", params={"page": math.isqrt(9)})
        assert answer.status_code == self.expected
