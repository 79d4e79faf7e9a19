"""Five tasks of one request each, at a constant rate."""

from loadpilot import LoadClient, VUser, scenario, task


@scenario(rps=100, duration="20s", mode="constant")
class FiveTasks(VUser):
    """A visitor who browses and sometimes buys."""

    @task(weight=4)
    def home(self, client: LoadClient) -> None:
        client.get("/")

    @task(weight=3)
    def browse(self, client: LoadClient) -> None:
        client.get("/items")

    @task(weight=1)
    def look(self, client: LoadClient) -> None:
        client.get("/items/7")

    @task(weight=1)
    def add(self, client: LoadClient) -> None:
        client.post("/cart", json={"item": 7})

    @task(weight=1)
    def buy(self, client: LoadClient) -> None:
        client.post("/orders", json={"cart": 1})
