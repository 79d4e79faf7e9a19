"""The load of the original LoadPilot; BENCH_RPS and BENCH_SECS set rate and duration.

Written for the original: `loadpilot` is its package here.
"""

import os

from loadpilot import LoadClient, VUser, scenario, task

SETTINGS = {
    "rps": int(os.environ.get("BENCH_RPS", "10")),
    "duration": os.environ.get("BENCH_SECS", "5") + "s",
    "mode": "constant",
    "ramp_up": "0s",  # must be shorter than the run in every mode
}


@scenario(**SETTINGS)
class LookPlain(VUser):
    """The same request as in `checked_request.py`, without a check."""

    @task
    def look(self, client: LoadClient) -> None:
        client.get("/", headers={"X-Token": "1"})


@scenario(**SETTINGS)
class LookChecked(VUser):
    """The task of `checked_request.py`."""

    def on_start(self, client: LoadClient) -> None:
        self.headers = {"X-Token": str(client.get("/").json()["id"])}

    @task
    def look(self, client: LoadClient) -> None:
        # In a task the original returns a placeholder: only a check sees the response.
        client.get("/", headers=self.headers)

    def check_look(self, status_code: int, body: dict[str, int]) -> None:
        assert status_code == 200
        assert body["id"] == 1234


@scenario(**SETTINGS)
class ShopPlain(VUser):
    """The shop's three routes."""

    @task
    def health(self, client: LoadClient) -> None:
        client.get("/health")

    @task
    def user(self, client: LoadClient) -> None:
        client.get("/api/user", headers={"Authorization": "Bearer bench"})

    @task
    def login(self, client: LoadClient) -> None:
        client.post("/auth/login", json={"username": "bench", "password": "bench"})


@scenario(**SETTINGS)
class ShopChecked(VUser):
    """The same with a login for each user and a check of each response."""

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
