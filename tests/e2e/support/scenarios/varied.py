"""Requests that differ in method, path, query and body, so that a test detects exchanged ones."""

from loadpilot import LoadClient, VUser, scenario, task


@scenario(rps=100, duration="3s", mode="constant")
class Varied(VUser):
    @task(weight=4)
    def look(self, client: LoadClient) -> None:
        client.get("/items", params={"page": 2, "sort": "name"})

    @task(weight=2)
    def change(self, client: LoadClient) -> None:
        client.put("/items/7", json={"name": "seven", "tags": ["a", "b"]})

    @task(weight=1)
    def buy(self, client: LoadClient) -> None:
        client.post("/login", data={"user": "ada", "password": "made-up"})
        client.post("/orders", content=b"\x00\x01\x02")
        client.delete("/session")
