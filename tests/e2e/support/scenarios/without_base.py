# ruff: noqa: ANN201, S311  (scenario files as their authors wrote them)
"""A shop visit in the style of scenario files that name no base class: `@scenario` on plain
classes, `on_start` without `on_stop`, values drawn with Python's own `random`."""

import random

from loadpilot import LoadClient, scenario, task


@scenario(rps=50, duration="2m", ramp_up="30s")
class CheckoutFlow:
    def on_start(self, client: LoadClient):
        who = {"username": f"visitor_{random.randint(1, 50)}", "password": "made-up"}
        answer = client.post("/auth/login", json=who)
        self.token = answer.json().get("token", "no-token")

    @task(weight=3)
    def look_around(self, client: LoadClient):
        client.get("/api/products", headers={"Authorization": f"Bearer {self.token}"})

    @task(weight=2)
    def look_closer(self, client: LoadClient):
        number = random.randint(1, 9)
        client.get(f"/api/products/{number}", headers={"Authorization": f"Bearer {self.token}"})

    @task(weight=1)
    def put_aside(self, client: LoadClient):
        client.post(
            "/api/cart",
            json={"product_id": random.randint(1, 9), "qty": 1},
            headers={"Authorization": f"Bearer {self.token}"},
        )


@scenario(rps=20, duration="1m", ramp_up="10s")
class HealthCheckFlow:
    @task(weight=1)
    def health(self, client: LoadClient):
        client.get("/health")
