"""Scenarios for the tests of the pages."""

STEADY = """
from loadpilot import LoadClient, VUser, scenario, task

@scenario(rps={rps}, duration="{secs}s", mode="constant", thresholds={{"p95_ms": {p95}}})
class Steady(VUser):
    @task(weight=3)
    def browse(self, client: LoadClient) -> None:
        client.get("/browse")

    @task(weight=1)
    def buy(self, client: LoadClient) -> None:
        client.get("/cart")
        client.post("/buy", json={{"n": 1}})
"""


def steady(rps: int = 40, secs: int = 5, p95: float = 20_000) -> str:
    """Two tasks at a constant rate, and one threshold."""
    return STEADY.format(rps=rps, secs=secs, p95=p95)
