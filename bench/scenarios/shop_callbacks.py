"""The shop's three routes, with a login and checks: the load of *seeds* with callbacks."""

from loadpilot import LoadClient, VUser, scenario, task


class Shop(VUser):
    """One request an arrival."""

    def on_start(self, client: LoadClient) -> None:
        token = client.post("/auth/login", json={"username": "bench"}).json()["token"]
        self.headers = {"Authorization": f"Bearer {token}"}

    @task
    def health(self, client: LoadClient) -> None:
        client.get("/health")

    def check_health(self, status_code: int, body: dict[str, str]) -> None:
        assert status_code == 200
        assert body["status"] == "ok"

    @task
    def user(self, client: LoadClient) -> None:
        client.get("/api/user", headers=self.headers)

    def check_user(self, status_code: int, body: object) -> None:  # noqa: ARG002
        assert status_code == 200

    @task
    def login(self, client: LoadClient) -> None:
        client.post("/auth/login", json={"username": "bench", "password": "bench"})

    def check_login(self, status_code: int, body: dict[str, str]) -> None:
        assert status_code == 200
        assert body["token"]


@scenario(rps=500, duration="30s", mode="constant", users=64)
class Compiled(Shop):
    """Played without Python."""


@scenario(rps=500, duration="30s", mode="constant", users=64, compile=False)
class Python(Shop):
    """Played in Python, as the original does."""
