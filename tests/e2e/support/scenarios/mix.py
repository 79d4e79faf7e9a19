"""Two user types, 7 : 3, at a constant rate."""

from loadpilot import LoadClient, VUser, scenario, task


@scenario(share=70, rps=200, duration="4s", mode="constant")
class Browse(VUser):
    @task(weight=3)
    def list(self, client: LoadClient) -> None:
        client.get("/list")

    @task
    def view(self, client: LoadClient) -> None:
        client.get("/view")


@scenario(share=30, thresholds={"error_rate": 0, "view:p99_ms": 30_000})
class Buy(VUser):
    @task
    def view(self, client: LoadClient) -> None:
        client.get("/cart")
