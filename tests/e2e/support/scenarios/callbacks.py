# ruff: noqa: ANN001, ANN201  (scenario files as their authors wrote them)
"""The callback style: `on_start` logs in, `check_TASK` examines the response of a task; with `async
def` tasks that await nothing, and `@task()` with empty parentheses."""

from loadpilot import LoadClient, VUser, scenario, task


@scenario(rps=500, duration="30s", mode="constant")
class LoggedIn(VUser):
    def on_start(self, client: LoadClient):
        answer = client.post("/auth/login", json={})
        self.token = answer.json()["access_token"]

    @task()
    async def who_am_i(self, client: LoadClient):
        client.get("/api/user", headers={"Authorization": f"Bearer {self.token}"})


@scenario(rps=500, duration="30s", mode="constant")
class Checked(VUser):
    def on_start(self, client: LoadClient):
        answer = client.post("/auth/login", json={})
        self.token = answer.json()["access_token"]

    @task()
    def who_am_i(self, client: LoadClient):
        client.get("/api/user", headers={"Authorization": f"Bearer {self.token}"})

    def check_who_am_i(self, response) -> None:
        assert response.status_code == 200
        assert response.json()["id"] == 1


@scenario(rps=100, duration="2m", ramp_up="30s", thresholds={"p99_ms": 5000, "error_rate": 1.0})
class TwoValues(VUser):
    def on_start(self, client: LoadClient):
        """Runs for each user before tasks start."""
        answer = client.post("/auth/login", json={"username": "test", "password": "made-up"})
        self.token = answer.json()["access_token"]

    @task(weight=5)
    def products(self, client: LoadClient):
        client.get("/api/products", headers=self._headers())

    def check_products(self, status_code: int, body) -> None:
        assert status_code == 200
        assert len(body["products"]) == 3

    @task(weight=1)
    def order(self, client: LoadClient):
        client.post("/api/orders", json={"product_id": 2, "qty": 1}, headers=self._headers())

    def check_order(self, status_code: int, body) -> None:
        assert status_code in (200, 201)
        assert "id" in body

    def _headers(self) -> dict:
        return {"Authorization": f"Bearer {self.token}"}
