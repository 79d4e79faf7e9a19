"""Five tasks of one request each, at a constant rate."""

from loadpilot import LoadClient, VUser, scenario, task


@scenario(rps=100, duration="20s", mode="constant")
class FiveTasks(VUser):
    """Somebody who looks around and sometimes buys."""

    @task(weight=4)
    def home(self, client: LoadClient) -> None:
        """Open the first page."""
        client.get("/")

    @task(weight=3)
    def browse(self, client: LoadClient) -> None:
        """Look at what there is."""
        client.get("/items")

    @task(weight=1)
    def look(self, client: LoadClient) -> None:
        """Look at one thing."""
        client.get("/items/7")

    @task(weight=1)
    def add(self, client: LoadClient) -> None:
        """Want it."""
        client.post("/cart", json={"item": 7})

    @task(weight=1)
    def buy(self, client: LoadClient) -> None:
        """Get it."""
        client.post("/orders", json={"cart": 1})
