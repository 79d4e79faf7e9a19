"""Two tasks, 5 : 1, at a constant rate; rate and duration come from the command line."""

from loadpilot import LoadClient, VUser, scenario, task


@scenario(rps=300, duration="15s", mode="constant")
class Weighted(VUser):
    @task(weight=5)
    def often(self, client: LoadClient) -> None:
        client.get("/often", params={"page": 1})

    @task(weight=1)
    def rarely(self, client: LoadClient) -> None:
        client.post("/rarely", json={"quantity": 1})
