"""Two types of users at once: those who look around, and those who order.

    python examples/stubs/shop_stub.py &
    ./dev loadpilot run examples/mix_of_users.py --target http://127.0.0.1:8602

Of twenty users fourteen look around and six order, each with the think time of its type; each type
is reported and gated on its own. A user of `Browsing` leaves after some seconds, and a new one
takes its place. With `rps` in place of `users`, and without `wait`, seven of ten arrivals would be
of `Browsing`.
"""

from loadpilot import LoadClient, VUser, lognormal, scenario, task


@scenario(
    share=70,
    users=20,
    duration="30s",
    wait=lognormal(median="3s", p99="20s"),
    session=lognormal(median="12s", p99="45s"),
    thresholds={"p95_ms": 500},
)
class Browsing(VUser):
    """Reads the catalogue, and now and then one product."""

    @task(weight=3)
    def browse(self, client: LoadClient) -> None:
        """Read the first page of the catalogue."""
        client.get("/api/products", params={"page": 1, "per_page": 20})

    @task
    def view(self, client: LoadClient) -> None:
        """Look at one product."""
        client.get("/api/products/1", name="GET /api/products/{id}")


@scenario(
    share=30,
    users=20,
    duration="30s",
    wait="1s",
    thresholds={"error_rate": 1, "order:p99_ms": 800},
)
class Ordering(VUser):
    """Orders what it came for."""

    @task
    def order(self, client: LoadClient) -> None:
        """Order one product."""
        client.post("/api/orders", json={"product": 1, "quantity": 1})
