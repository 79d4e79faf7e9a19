"""The shop's three routes, each with a third of the arrivals: the load of *seeds*."""

from loadpilot import LoadClient, VUser, scenario, task

TOKEN = {"Authorization": "Bearer bench"}  # the target takes any


@scenario(rps=500, duration="30s", mode="constant")
class Shop(VUser):
    """One request an arrival."""

    @task
    def health(self, client: LoadClient) -> None:
        client.get("/health")

    @task
    def user(self, client: LoadClient) -> None:
        client.get("/api/user", headers=TOKEN)

    @task
    def login(self, client: LoadClient) -> None:
        client.post("/auth/login", json={"username": "bench", "password": "bench"})
