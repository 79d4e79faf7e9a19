"""The demo scenario: a small shop under 100 requests a second for ten seconds.

`./dev demo` runs it against the demo target with two agents. By hand:

    ./dev loadpilot run examples/demo.py --target http://127.0.0.1:8000
"""

from loadpilot import LoadClient, VUser, scenario, task

JSON = {"Accept": "application/json"}
TOKEN = "demo-token"


@scenario(
    rps=100,
    duration="8s",
    ramp_up="2s",
    thresholds={"p99_ms": 250, "error_rate": 1, "shortfall": 1},
)
class Shop(VUser):
    """Visitors who mostly read and sometimes buy."""

    @task(weight=6)
    def browse(self, client: LoadClient) -> None:
        """Read the first page of the catalogue."""
        client.get("/api/products", params={"page": 1, "per_page": 20}, headers=JSON)

    @task(weight=3)
    def profile(self, client: LoadClient) -> None:
        """Read the user's data. Only agents get the token; it is stored nowhere else."""
        client.get("/api/user", headers={"Authorization": f"Bearer {TOKEN}"})

    @task(weight=1)
    def buy(self, client: LoadClient) -> None:
        """Log in and order: two requests, each measured separately."""
        client.post("/auth/login", json={"user": "demo", "password": "demo"})
        client.post("/api/orders", json={"product": 7, "quantity": 1}, headers=JSON)
