"""What the original LoadPilot runs in the bench; the environment says how fast and how long.

Written for the original: `loadpilot` is its package here.
"""

import os

from loadpilot import LoadClient, VUser, scenario, task

ASKED = {
    "rps": int(os.environ.get("BENCH_RPS", "10")),
    "duration": os.environ.get("BENCH_SECS", "5") + "s",
    "mode": "constant",
    "ramp_up": "0s",  # it wants that shorter than the run, whatever the mode
}


@scenario(**ASKED)
class LookPlain(VUser):
    """The same request as in `bench/scenarios/checked_request.py`, without a look."""

    @task
    def look(self, client: LoadClient) -> None:
        """Request."""
        client.get("/", headers={"X-Token": "1"})


@scenario(**ASKED)
class LookChecked(VUser):
    """The task of `bench/scenarios/checked_request.py`."""

    def on_start(self, client: LoadClient) -> None:
        """Make a header as after a login."""
        self.headers = {"X-Token": str(client.get("/").json()["id"])}

    @task
    def look(self, client: LoadClient) -> None:
        """Request; what it returns in a task stands for any answer, so that a check must look."""
        client.get("/", headers=self.headers)

    def check_look(self, status_code: int, body: dict[str, int]) -> None:
        """Check."""
        assert status_code == 200
        assert body["id"] == 1234


@scenario(**ASKED)
class ShopPlain(VUser):
    """The shop's three routes."""

    @task
    def health(self, client: LoadClient) -> None:
        """Ask whether it lives."""
        client.get("/health")

    @task
    def user(self, client: LoadClient) -> None:
        """Ask who one is."""
        client.get("/api/user", headers={"Authorization": "Bearer bench"})

    @task
    def login(self, client: LoadClient) -> None:
        """Log in."""
        client.post("/auth/login", json={"username": "bench", "password": "bench"})


@scenario(**ASKED)
class ShopChecked(VUser):
    """The same with a login for each user and a look at each answer."""

    def on_start(self, client: LoadClient) -> None:
        """Log in."""
        token = client.post("/auth/login", json={"username": "bench"}).json()["token"]
        self.headers = {"Authorization": f"Bearer {token}"}

    @task
    def health(self, client: LoadClient) -> None:
        """Ask whether it lives."""
        client.get("/health")

    def check_health(self, status_code: int, body: dict[str, str]) -> None:
        """It must be well."""
        assert status_code == 200
        assert body["status"] == "ok"

    @task
    def user(self, client: LoadClient) -> None:
        """Ask who one is."""
        client.get("/api/user", headers=self.headers)

    def check_user(self, status_code: int, body: object) -> None:  # noqa: ARG002
        """The token must be good."""
        assert status_code == 200

    @task
    def login(self, client: LoadClient) -> None:
        """Log in again."""
        client.post("/auth/login", json={"username": "bench", "password": "bench"})

    def check_login(self, status_code: int, body: dict[str, str]) -> None:
        """There must be a token."""
        assert status_code == 200
        assert body["token"]
